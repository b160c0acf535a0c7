import type { Metadata } from '../../core/request/metadata.ts';
import { rawSql, type Connection } from '../../lib/sql/sql.ts';
import { hasPairs } from '../requests/metadata.ts';
import { boundary, entries, sums } from './revenue.ts';
import { counts, storedUntil, usageSums, usageTotals, type Period } from './usage-days.ts';
import { dayMs } from '../../lib/calendar-day.ts';

/**
 * Sums by day, model, account, key, person or metadata: over all accounts for the operator, or over
 * one account. Requests count on the day they ended.
 */

export const groups = ['day', 'model', 'account', 'key'] as const;
export type Group = (typeof groups)[number];

/** A field is null if the sums are not grouped by it. */
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

/** The column of each group, and its value as text, by which the rows are sorted. */
const columns: Record<Group | 'person', Column> = {
  day: ['day', `to_char(day, 'YYYY-MM-DD')`],
  model: ['model_id', 'model_id'],
  account: ['account_id', 'account_id::text'],
  key: ['key_id', 'key_id::text'],
  person: ['person_id', 'person_id::text'],
};
type Column = [name: string, text: string];

const totals = ['completed', 'failed', 'charged_usd_micro', 'cost_usd_micro'];

/** Whether stored sums of past days have these groups; otherwise all requests are read. */
export function isStored(by: readonly Group[]): boolean {
  return !by.includes('key') && !(by.includes('model') && by.includes('account'));
}

interface Page extends Period {
  /** The values of the last row of the page before, in the order of `by`. */
  above: (string | null)[] | null;
  limit: number;
}

export interface UsageQuery extends Page {
  /** At least one group, and no group twice. */
  by: readonly Group[];
}

/** Sorted by the values of the groups, in the order of `by`. */
export function readUsageBy(db: Connection, query: UsageQuery): Promise<UsageRow[]> {
  const { by, from, to, limit } = query;
  const values: unknown[] = [from, to, limit];
  const of = { parts: partsOf(by), by: by.map((group) => columns[group][0]), totals };
  const all = groups.map((group) => columns[group]);
  const page = pageSql(of, all, query.above, values);
  return db.run<UsageRow>(
    rawSql(
      `select day, model_id, account_id, key_id, completed, failed, charged_usd_micro,
        cost_usd_micro from (${page}) page`,
      values,
    ),
  );
}

/** The SQL of partial sums. Its columns are `by`, followed by `totals`. */
interface Parts {
  parts: string;
  by: string[];
  totals: readonly string[];
}

/** The SQL of one page of the summed parts. $3 is the limit; appends `above` to `values`. */
function pageSql(
  { parts, by, totals: added }: Parts,
  all: Column[],
  above: Page['above'],
  values: unknown[],
): string {
  const made = all.map(([name, text]) => `${by.includes(name) ? text : 'null::text'} as ${name}`);
  const names = all.map(([name]) => name).join(', ');
  const summed = added.map((name) => `sum(${name})::bigint as ${name}`).join(', ');
  // Null, a request without this metadata, comes first.
  const sortable = (text: string) => `coalesce('=' || ${text}, '') collate "C"`;
  const sorted = by.map(sortable).join(', ');
  const last = above?.map((value) => sortable(`$${values.push(value)}::text`)).join(', ');
  return `select ${names}, ${summed}
    from (select ${made.join(', ')}, ${added.join(', ')}
      from (${parts}) parts (${[...by, ...added].join(', ')})) u
    ${last === undefined ? '' : `where (${sorted}) > (${last})`}
    group by ${names} order by ${sorted} limit $3`;
}

const inPeriod = (from: string) => (at: string) =>
  `${at} >= ${from} at time zone 'utc' and ${at} < $2::date::timestamp at time zone 'utc'`;
const firstDay = '$1::date::timestamp';

function partsOf(by: readonly Group[]): string {
  const plain = by.map((group) => columns[group][0]).join(', ');
  const live = (from: string) => `
    select ${plain}, ${sums} from (${entries(inPeriod(from))}) e group by ${plain}`;
  if (!isStored(by)) return live(firstDay);
  const table = by.includes('account') ? 'spending' : 'revenue';
  return `
    select ${plain}, ${totals.join(', ')}
    from ${table} where day >= $1::date and day < least($2::date, ${boundary})
    union all ${live(`greatest(${boundary}, ${firstDay})`)}`;
}

/** `names`: names of metadata. */
export interface AccountGroups {
  by: readonly ('day' | 'model' | 'key' | 'person')[];
  names: readonly string[];
}

/** At least one group. `above` has the values of `by`, followed by the values of `names`. */
export interface AccountUsageQuery extends AccountGroups, Page {
  account_id: string;
  model_id: string | null;
  key_id: string | null;
  /** Only requests that have all these pairs. */
  metadata: Metadata | null;
  /** Reads stored days as far as they reach; otherwise all requests of the period. */
  isStored: boolean;
}

/** Days are stored this long, so that a caller cannot have any number of them stored. */
const storedDays = 190;

/** Whether these sums can be read from stored days. */
export function canBeStored(
  { names, metadata, from }: Pick<AccountUsageQuery, 'names' | 'metadata' | 'from'>,
  now: number,
): boolean {
  return names.length === 0 && metadata === null && Date.parse(from) >= now - storedDays * dayMs;
}

export interface AccountUsageRow {
  day: string | null;
  model_id: string | null;
  key_id: string | null;
  person_id: string | null;
  /** Value by name; null: requests without a value. */
  metadata: Record<string, string | null>;
  completed: bigint;
  failed: bigint;
  charged_usd_micro: bigint;
  input_tokens: bigint;
  output_tokens: bigint;
  cached_tokens: bigint;
  reasoning_tokens: bigint;
}

/** One account's usage, sorted by its groups. */
export function readUsageOf(db: Connection, query: AccountUsageQuery): Promise<AccountUsageRow[]> {
  const { by, names, from, to, limit } = query;
  const values: unknown[] = [from, to, limit];
  const inMetadata = names.map((_, i): Column => [`metadata_${i}`, `metadata_${i}`]);
  const grouped = [...by.map((group) => columns[group]), ...inMetadata].map(([name]) => name);
  const parts = accountParts(query, grouped, values);
  const of = { parts, by: grouped, totals: usageTotals };
  const all = [columns.day, columns.model, columns.key, columns.person, ...inMetadata];
  const page = pageSql(of, all, query.above, values);
  const pairs = names.map((name, i) => `$${values.push(name)}::text, metadata_${i}`).join(', ');
  return db.run<AccountUsageRow>(
    rawSql(
      `select day, model_id, key_id, person_id, json_build_object(${pairs}) as metadata, completed,
        failed, charged_usd_micro, input_tokens, output_tokens, cached_tokens, reasoning_tokens
      from (${page}) page`,
      values,
    ),
  );
}

function accountParts(query: AccountUsageQuery, grouped: string[], values: unknown[]): string {
  const bind = (value: unknown) => `$${values.push(value)}`;
  const account = `${bind(query.account_id)}::uuid`;
  const { model_id, key_id, metadata, names } = query;
  const filters = [
    ...(model_id === null ? [] : [`r.model_id = ${bind(model_id)}`]),
    ...(key_id === null ? [] : [`r.key_id = ${bind(key_id)}`]),
    ...(metadata === null ? [] : [hasPairs(metadata, { id: 'r.id', account }, bind)]),
  ];
  const more = filters.map((filter) => `and ${filter}`).join(' ');
  const read = names.map((name, i) => `, i.metadata ->> ${bind(name)}::text as metadata_${i}`);
  const joined = names.length === 0 ? '' : 'left join request_inputs i using (request_id)';
  const plain = grouped.join(', ');
  const stored = `usage_days r where account_id = ${account} and day >= $1::date and day < $2::date`;
  // In the same statement as the sums, so that another call cannot store more in between.
  const reach = `(select max(${storedUntil}) at time zone 'utc' from usage_rollups
    where account_id = ${account} and day >= $1::date and day < $2::date)`;
  const live = query.isStored ? `coalesce(${reach}, ${firstDay})` : firstDay;
  const requests = `select ${plain}, ${usageSums}
    from (select e.*${read.join('')}
      from (${entries(inPeriod(live), more, account)}) e ${joined}
      where ${counts}) e
    group by ${plain}`;
  if (!query.isStored) return requests;
  return `select ${plain}, ${usageTotals.join(', ')} from ${stored} ${more}
    union all ${requests}`;
}
