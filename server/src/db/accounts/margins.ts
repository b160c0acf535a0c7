import type { QuoteJson } from '../../core/price/quote-json.ts';
import type { Status } from '../../core/request/request.ts';
import type { TokenCounts } from '../../core/chat/chat-bill.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';
import type { FailureCode } from '../../core/errors.ts';
import type { Kind } from '../../core/catalog/catalog.ts';
import type { CallNumbers } from '../requests/call-numbers.ts';
import { tokenCounts } from '../requests/requests.ts';

/** A request with its charge and its cost, which only the operator may see. */
export interface MarginRow extends CallNumbers {
  id: string;
  account_id: string;
  key_id: string;
  model_id: string;
  kind: Kind;
  upstream: string;
  status: Status;
  quoted_usd_micro: bigint;
  charged_usd_micro: bigint | null;
  /** The part of the charge that was given back. */
  refunded_usd_micro: bigint;
  /** Includes starts that were left for the next route, if their cost is known. Null: unknown. */
  cost_usd_micro: bigint | null;
  error_code: FailureCode | null;
  created_at: Date;
  completed_at: Date | null;
}

/** Newest first. */
export function withMargins(db: Connection, ids: string[]): Promise<MarginRow[]> {
  return db.run<MarginRow>(sql`
    select r.id, r.account_id, r.key_id, r.model_id, r.kind, r.upstream, r.status,
      r.quoted_usd_micro, r.charged_usd_micro, coalesce(f.refunded, 0) as refunded_usd_micro,
      s.cost_usd_micro + coalesce(l.cost, 0) as cost_usd_micro, r.error_code,
      r.created_at, r.completed_at, i.numbered, i.caller_id
    from requests r join request_inputs i on i.request_id = r.id
    left join request_results s on s.request_id = r.id
    left join lateral (
      select sum(a.cost_usd_micro)::bigint as cost from attempts a
      where a.request_id = r.id and a.left_at is not null
    ) l on true
    left join lateral (
      select sum(t.amount_usd_micro)::bigint as refunded from transfers t
      where t.refunded_id = r.id
    ) f on true
    where r.id = any(${ids}::uuid[]) order by r.id desc`);
}

/** One request in detail, for the operator; without its input, metadata, attempts and output. */
export interface FullRow extends MarginRow {
  email: string;
  key_name: string;
  key_prefix: string;
  key_last4: string;
  /** The upstream's own name of the model; null: not known. */
  upstream_model: string | null;
  started_at: Date | null;
  deadline_at: Date | null;
  expires_at: Date | null;
  /** When input and output were deleted. */
  cleared_at: Date | null;
  quote: QuoteJson;
  /** Units delivered. */
  quantity: number | null;
  /** Null unless a chat was completed. */
  tokens: TokenCounts | null;
  error_message: string | null;
  /** The failure's cause for the operator; null if it is what the caller sees. */
  error_cause: string | null;
  webhook_url: string | null;
  webhook_state: 'pending' | 'delivered' | 'failed' | null;
  /** The newest value that its upstream reported, from 0 to 1. */
  progress: number | null;
  outputs: number;
}

export async function findFull(db: Connection, id: string): Promise<FullRow | null> {
  const [row] = await db.run<FullRow>(sql`
    select r.id, r.account_id, c.email, r.key_id, k.name as key_name, k.prefix as key_prefix,
      k.last4 as key_last4, r.model_id, r.kind, r.upstream, r.upstream_model, r.status,
      r.quoted_usd_micro, r.charged_usd_micro, coalesce(f.refunded, 0) as refunded_usd_micro,
      s.cost_usd_micro + coalesce(l.cost, 0) as cost_usd_micro, s.quantity,
      ${tokenCounts} as tokens, r.error_code, s.error_message, s.error_cause, r.webhook_state,
      i.webhook_url, i.quote, i.numbered, i.caller_id, r.created_at, r.started_at, r.completed_at,
      r.deadline_at, r.expires_at, r.cleared_at,
      case when r.status = 'IN_PROGRESS' then (
        select case when json_typeof(a.progress -> 'progress') = 'number'
          then (a.progress ->> 'progress')::float8 end
        from attempts a where a.request_id = r.id order by a.attempt desc limit 1) end as progress,
      (select count(*)::int from outputs o where o.request_id = r.id) as outputs
    from requests r join accounts c on c.id = r.account_id join keys k on k.id = r.key_id
    join request_inputs i on i.request_id = r.id
    left join request_results s on s.request_id = r.id
    left join lateral (
      select sum(a.cost_usd_micro)::bigint as cost from attempts a
      where a.request_id = r.id and a.left_at is not null
    ) l on true
    left join lateral (
      select sum(t.amount_usd_micro)::bigint as refunded from transfers t
      where t.refunded_id = r.id
    ) f on true
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
