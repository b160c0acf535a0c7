import type { Kind, Overview, Spend, SpendDay } from '../../api-types.ts';
import type { SpendSearch } from '../money/money-search.ts';
import { previous, useAccountQuery } from '../../queries.ts';
import { paceOf, type Pace } from './pace.ts';

/** Queries of the overview. */

/** How often the overview is loaded again, because jobs and money change. */
const lookMs = 5_000;

export function useOverview() {
  return useAccountQuery('GET /overview', {}, { refetchInterval: lookMs });
}

export function useSpend(days: SpendSearch['days']) {
  const options = { ...previous, refetchInterval: 60_000 };
  return useAccountQuery('GET /spend', { query: { days } }, options);
}

/** How long the balance lasts; undefined while loading. */
export function usePace(overview: Overview | undefined): Pace | null | undefined {
  const { data } = useSpend(30);
  if (!data || !overview) return undefined;
  const days = breakDown(data, 'kind').days.map(({ total }) => total);
  return paceOf(days, BigInt(overview.available_usd_micro));
}

/** A segment of each bar: a kind or a model. */
export interface Series {
  name: string;
  kind: Kind | null;
  model_id: string | null;
  total: bigint;
}

export interface Day {
  day: string;
  /** In the order of `series`. */
  parts: bigint[];
  total: bigint;
  requests: number;
}

export interface SpendBreakdown {
  series: Series[];
  days: Day[];
  total: bigint;
  /** The sum of each day of the period before. */
  before: bigint[];
}

/** Days with their segments. Series are sorted by cost, highest first, other models last. */
export function breakDown({ days, data, before }: Spend, by: 'kind' | 'model'): SpendBreakdown {
  const keyOf = (row: SpendDay) => (by === 'kind' ? row.kind : (row.model_id ?? ''));
  const found = new Map<string, Series>();
  for (const row of data) {
    const key = keyOf(row);
    const series = found.get(key) ?? {
      name: key,
      kind: by === 'kind' ? row.kind : null,
      model_id: by === 'model' ? row.model_id : null,
      total: 0n,
    };
    series.total += BigInt(row.charged_usd_micro);
    found.set(key, series);
  }
  const series = [...found.values()]
    .filter(({ total }) => total > 0n)
    .sort((a, b) => Number(a.name === '') - Number(b.name === '') || (a.total < b.total ? 1 : -1));
  const place = new Map(series.map(({ name }, i) => [name, i]));
  const shown = new Map<string, Day>(
    days.map((day) => [day, { day, parts: series.map(() => 0n), total: 0n, requests: 0 }]),
  );
  for (const row of data) {
    const day = shown.get(row.day);
    if (!day) continue;
    const amount = BigInt(row.charged_usd_micro);
    const i = place.get(keyOf(row));
    if (i !== undefined) day.parts[i]! += amount;
    day.total += amount;
    day.requests += row.requests;
  }
  const total = series.reduce((sum, each) => sum + each.total, 0n);
  return { series, days: [...shown.values()], total, before: before.map(BigInt) };
}
