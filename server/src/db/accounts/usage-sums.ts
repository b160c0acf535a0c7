import { entriesOf } from '../../lib/records.ts';
import { rawSql, type Connection } from '../../lib/sql/sql.ts';
import { boundary, entries, sums } from './revenue.ts';

/** Sums over all accounts by day, model, account or key, for the operator. */

export const groups = ['day', 'model', 'account', 'key'] as const;
export type Group = (typeof groups)[number];

/** A field is null if the sums are not by it. */
export interface UsageRow {
  day: string | null;
  model_id: string | null;
  account_id: string | null;
  key_id: string | null;
  completed: bigint;
  failed: bigint;
  charged_usd_micro: bigint;
  cost_usd_micro: bigint;
}

/** Each as text, by which the rows are sorted. */
const columns: Record<Group, [name: keyof UsageRow, text: string]> = {
  day: ['day', `to_char(day, 'YYYY-MM-DD')`],
  model: ['model_id', 'model_id'],
  account: ['account_id', 'account_id::text'],
  key: ['key_id', 'key_id::text'],
};

const totals = ['completed', 'failed', 'charged_usd_micro', 'cost_usd_micro'] as const;

/** Whether stored sums of past days have these groups; otherwise all requests are read. */
export function isStored(by: readonly Group[]): boolean {
  return !by.includes('key') && !(by.includes('model') && by.includes('account'));
}

export interface UsageQuery {
  /** At least one, each once. */
  by: readonly Group[];
  /** Days (UTC), such as 2027-01-31: `from` is included, `to` is not. */
  from: string;
  to: string;
  /** The values of the last row of the page before, in the order of `by`. */
  above: string[] | null;
  limit: number;
}

/** Sorted by the values of the groups, in their order. Requests count on the day they ended. */
export function usageBy(db: Connection, query: UsageQuery): Promise<UsageRow[]> {
  const { by, from, to, above, limit } = query;
  const made = entriesOf(columns).map(
    ([group, [name, text]]) => `${by.includes(group) ? text : 'null::text'} as ${name}`,
  );
  const names = by.map((group) => columns[group][0]);
  const sorted = names.map((name) => `${name} collate "C"`).join(', ');
  const after = above && `where (${sorted}) > (${above.map((_, i) => `$${i + 4}`).join(', ')})`;
  return db.run<UsageRow>(
    rawSql(
      `select day, model_id, account_id, key_id, sum(completed)::bigint as completed,
        sum(failed)::bigint as failed, sum(charged_usd_micro)::bigint as charged_usd_micro,
        sum(cost_usd_micro)::bigint as cost_usd_micro
      from (select ${made.join(', ')}, ${totals.join(', ')}
        from (${partsOf(by)}) parts (${names.join(', ')}, ${totals.join(', ')})) u
      ${after ?? ''} group by day, model_id, account_id, key_id order by ${sorted} limit $3`,
      [from, to, limit, ...(above ?? [])],
    ),
  );
}

function partsOf(by: readonly Group[]): string {
  const plain = by.map((group) => columns[group][0]).join(', ');
  const live = (from: string) => `
    select ${plain}, ${sums}
    from (${entries(
      (at) => `${at} >= ${from} at time zone 'utc'
      and ${at} < $2::date::timestamp at time zone 'utc'`,
    )}) e group by ${plain}`;
  if (!isStored(by)) return live('$1::date::timestamp');
  const table = by.includes('account') ? 'spending' : 'revenue';
  return `
    select ${plain}, ${totals.join(', ')}
    from ${table} where day >= $1::date and day < least($2::date, ${boundary})
    union all ${live(`greatest(${boundary}, $1::date::timestamp)`)}`;
}
