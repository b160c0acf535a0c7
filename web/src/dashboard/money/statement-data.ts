import { withQuery } from '../../api.ts';
import type { StatementLine } from '../../api-types.ts';
import { useAccountPath } from '../../session.tsx';
import { midnight, type StatementSearch } from './money-search.ts';
import { useAccountPages, useAccountQuery } from '../../queries.ts';

/** Queries of the statement. */

/** The query in the service's form: from the first day's midnight to the last day's end. */
export function queryOf({ kind, from, to }: StatementSearch): Record<string, string | undefined> {
  return { kind, from: from && midnight(from), to: to && midnight(to, 1) };
}

export function useStatement(search: StatementSearch) {
  return useAccountPages('GET /statement', { query: { ...queryOf(search), limit: 50 } });
}

export function useLines(search: StatementSearch) {
  const { kind: _kind, ...query } = queryOf(search);
  return useAccountPages('GET /statement/lines', { query: { ...query, limit: 50 } });
}

export interface Day {
  /** In the user's local calendar. */
  date: string;
  lines: StatementLine[];
  /** Null while part of the day is not loaded. */
  sums: { in: bigint; out: bigint } | null;
}

/**
 * Lines grouped by day, with the totals of each day. If there are more pages, the last day may be
 * incomplete.
 */
export function daysOf(lines: StatementLine[], more: boolean): Day[] {
  const byDate = Map.groupBy(lines, ({ created_at }) =>
    new Date(created_at).toLocaleDateString('sv'),
  );
  return [...byDate].map(([date, inDay], i) => {
    const effects = inDay.map(({ effect_usd_micro }) => BigInt(effect_usd_micro));
    const sum = (sign: bigint) =>
      effects.reduce((all, each) => (each * sign > 0n ? all + each * sign : all), 0n);
    const isWhole = !more || i < byDate.size - 1;
    return { date, lines: inDay, sums: isWhole ? { in: sum(1n), out: sum(-1n) } : null };
  });
}

export function useTotals(search: StatementSearch) {
  return useAccountQuery('GET /statement/totals', { query: queryOf(search) }).data;
}

/** The URL that exports the shown statement. */
export function useExportPath(search: StatementSearch): (format: 'csv' | 'json') => string {
  const path = useAccountPath()('/statement/export');
  return (format) => withQuery(path, { format, ...queryOf(search) });
}

/** Preset periods in the user's local calendar. */
export function periodsAt(now: Date): Record<string, Pick<StatementSearch, 'from' | 'to'>> {
  const [year, month, date] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const text = (day: Date) =>
    [day.getFullYear(), day.getMonth() + 1, day.getDate()]
      .map((part) => String(part).padStart(2, '0'))
      .join('-');
  const today = text(now);
  return {
    all: {},
    d7: { from: text(new Date(year, month, date - 6)), to: today },
    d30: { from: text(new Date(year, month, date - 29)), to: today },
    month: { from: text(new Date(year, month, 1)), to: text(new Date(year, month + 1, 0)) },
    before: { from: text(new Date(year, month - 1, 1)), to: text(new Date(year, month, 0)) },
  };
}
