import type { FailureDetails } from '../../core/errors.ts';
import type { QuoteJson } from '../../core/price/quote-json.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';
import { progressShare, requestColumns, tokenCounts, type RequestRow } from './requests.ts';

/** The money of a request that only the operator may see, and the numbers of its call. */
const marginColumns = columns('i', {
  /** The part of the charge that was given back. */
  refunded_usd_micro: of<bigint>(`coalesce((select sum(t.amount_usd_micro)::bigint
    from transfers t where t.refunded_id = r.id), 0)`),
  /** Includes starts that were left for the next route, if their cost is known. Null: unknown. */
  cost_usd_micro: of<bigint | null>(`s.cost_usd_micro + coalesce((
    select sum(a.cost_usd_micro)::bigint from attempts a
    where a.request_id = r.id and a.left_at is not null), 0)`),
  numbered: of<boolean | null>(),
  caller_id: of<string | null>(),
  /** The address of its account. */
  email: of<string>('c.email'),
  account_name: of<string | null>('c.name'),
});
export type MarginRow = RequestRow & RowOf<typeof marginColumns>;

/** Newest first. */
export function withMargins(db: Connection, ids: string[]): Promise<MarginRow[]> {
  return db.run(sql`
    select ${requestColumns}, ${marginColumns}
    from requests r join accounts c on c.id = r.account_id
    join request_inputs i on i.request_id = r.id
    left join request_results s on s.request_id = r.id
    where r.id = any(${ids}::uuid[]) order by r.id desc`);
}

/** One request in detail, for the operator; without its input, metadata, attempts and output. */
const fullColumns = columns('r', {
  key_name: of<string>('k.name'),
  key_prefix: of<string>('k.prefix'),
  key_last4: of<string>('k.last4'),
  /** The upstream's own name of the model; null: not known. */
  upstream_model: of<string | null>(),
  deadline_at: of<Date | null>(),
  /** When input and output were deleted. */
  cleared_at: of<Date | null>(),
  quote: of<QuoteJson>('i.quote'),
  /** Units delivered. */
  quantity: of<number | null>('s.quantity'),
  /** Null unless a chat was completed. */
  tokens: tokenCounts,
  error_message: of<string | null>('s.error_message'),
  error_details: of<FailureDetails | null>('s.error_details'),
  /** The failure's cause for the operator; null if it is what the caller sees. */
  error_cause: of<string | null>('s.error_cause'),
  webhook_url: of<string | null>('i.webhook_url'),
  progress: progressShare,
  outputs_made: of<number>('(select count(*)::int from outputs o where o.request_id = r.id)'),
});
export type FullRow = MarginRow & RowOf<typeof fullColumns>;

export async function findFull(db: Connection, id: string): Promise<FullRow | null> {
  const [row] = await db.run(sql`
    select ${requestColumns}, ${marginColumns}, ${fullColumns}
    from requests r join accounts c on c.id = r.account_id join keys k on k.id = r.key_id
    join request_inputs i on i.request_id = r.id
    left join request_results s on s.request_id = r.id
    where r.id = ${id}`);
  return row ?? null;
}

/** The input; null if it was deleted. */
export async function findInput(
  db: Connection,
  id: string,
): Promise<{ input: Record<string, unknown> | null } | null> {
  const [row] = await db.run<{ input: Record<string, unknown> | null }>(sql`
    select case when r.cleared_at is null then i.input end as input
    from requests r join request_inputs i on i.request_id = r.id where r.id = ${id}`);
  return row ?? null;
}
