import { Chart } from '../../components/chart/Chart.tsx';
import { useLocale } from '../../components/text.tsx';
import { briefUsd } from '../../money.ts';
import type { SpendBreakdown, Series } from './overview-data.ts';
import { useTranslation } from '../../i18n.ts';

/** Spend per day, as bars or as a table. */
export function SpendChart(props: SpendBreakdown & { asTable: boolean }) {
  const { t } = useTranslation('overview');
  const locale = useLocale();
  const { days, series, total, before, asTable } = props;
  const dayOf = (day: string, how: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...how }).format(
      new Date(`${day}T00:00:00Z`),
    );
  const most = days.reduce((best, each) => (each.total > best.total ? each : best));
  return (
    <Chart
      label={t('chart_label', {
        days: days.length,
        total: briefUsd(total),
        day: dayOf(most.day, { dateStyle: 'medium' }),
        most: briefUsd(most.total),
      })}
      columnsName={t('day')}
      columns={days.map(({ day }) => ({
        short: dayOf(day, { day: 'numeric', month: 'short' }),
        long: dayOf(day, { dateStyle: 'medium' }),
      }))}
      series={series.map((each, i) => ({
        name: each.kind ? t(`common:kind.${each.kind}`) : (each.model_id ?? t('others')),
        color: colorOf(each, i),
        values: days.map(({ parts }) => Number(parts[i])),
      }))}
      counts={[{ name: t('common:nav.requests'), values: days.map(({ requests }) => requests) }]}
      {...(before.some((sum) => sum > 0n) && {
        before: { name: t('period_before', { days: days.length }), values: before.map(Number) },
      })}
      isOpen
      asTable={asTable}
    />
  );
}

const kindColors = { image: 'var(--c1)', video: 'var(--c2)', text: 'var(--c3)' } as const;

function colorOf({ kind, name }: Series, i: number): string {
  if (kind) return kindColors[kind];
  return name === '' ? 'var(--c8)' : `var(--c${(i % 7) + 1})`;
}
