import { type Column, column } from '../components/list/DataList.tsx';
import type { Revenue, RevenueSum } from '../api-types.ts';
import { RequestsLink } from './links.tsx';
import type { RequestSearch } from './requests/request-search.ts';

export function firstMoment(figures: Revenue | undefined): string | undefined {
  const first = figures?.by_day[0]?.name;
  return first && new Date(first).toISOString();
}

/** The name of a UTC day, or of an hour in the user's time, in a chart and elsewhere. */
export function nameOfDay(locale: string): (name: string) => { short: string; long: string } {
  return (name) => {
    const isHour = name.includes('T');
    const as = (how: Intl.DateTimeFormatOptions) =>
      new Intl.DateTimeFormat(locale, isHour ? how : { timeZone: 'UTC', ...how }).format(
        new Date(name),
      );
    return isHour
      ? { short: as({ timeStyle: 'short' }), long: as({ dateStyle: 'medium', timeStyle: 'short' }) }
      : { short: as({ day: 'numeric', month: 'short' }), long: as({ dateStyle: 'medium' }) };
  };
}

/**
 * The figure columns shared by all revenue tables. `searchOf`: the filter that finds the requests
 * of a row, to which its counts lead.
 */
export function sumColumns<Row extends RevenueSum>(
  t: (name: string) => string,
  searchOf: (row: Row) => RequestSearch,
): Column<Row>[] {
  const count = (row: Row, status: 'COMPLETED' | 'FAILED', of: number) => (
    <RequestsLink search={{ ...searchOf(row), status }}>
      <span className="number">{of}</span>
    </RequestsLink>
  );
  return [
    column.usd(t('revenue'), (row) => row.charged_usd_micro),
    column.usd(t('cost'), (row) => row.cost_usd_micro),
    column.usd(t('common:margin'), (row) => row.margin_usd_micro),
    column.figure(t('completed'), (row) => count(row, 'COMPLETED', row.completed)),
    column.figure(t('failed_count'), (row) => count(row, 'FAILED', row.failed)),
  ];
}
