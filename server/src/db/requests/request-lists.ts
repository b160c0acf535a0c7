import type { Metadata } from '../../core/request/metadata.ts';
import type { AttemptOutcome, Status } from '../../core/request/request.ts';
import { idsWritten } from '../../lib/id.ts';
import { rawSql, sql, type Connection } from '../../lib/sql/sql.ts';
import { hasPairs } from './metadata.ts';
import type { RequestRow } from './requests.ts';

export interface ListFilter {
  account_id: string;
  status: Status | null;
  model_id: string | null;
  key_id: string | null;
  /** Only requests that have all these pairs. */
  metadata: Metadata | null;
  /** Bounds of `created_at` in ms since 1970, inclusive and exclusive. */
  from_ms: number | null;
  to_ms: number | null;
  /** Only requests older than this one. */
  below_id: string | null;
  limit: number;
}

export type ListedRow = RequestRow & { metadata: Metadata | null };

/** One account's requests, newest first. */
export function list(db: Connection, filter: ListFilter): Promise<ListedRow[]> {
  const { account_id, status, model_id, key_id, from_ms, to_ms, limit } = filter;
  // No index contains `created_at`; bounds on the ids limit the search to a narrow period.
  const { first, last } = idsWritten(from_ms, to_ms);
  // A partial index holds the few requests that are not COMPLETED. PostgreSQL uses it only if the
  // SQL text itself contains that condition.
  const inState =
    status === null || status === 'COMPLETED'
      ? '($9::text is null or status = $9)'
      : `status = $9 and status <> 'COMPLETED'`;
  const period = [first, last, filter.below_id, from_ms, to_ms];
  const values: unknown[] = [account_id, ...period, model_id, key_id, status, limit];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const wanted = filter.metadata;
  const paired = wanted === null ? 'true' : hasPairs(wanted, { id: 'id', account: '$1' }, bind);
  return db.run<ListedRow>(
    rawSql(
      `select id, account_id, key_id, model_id, kind, upstream, status, slot, attempt,
        quoted_usd_micro, charged_usd_micro, error_code, webhook_state, expires_at, created_at,
        started_at, completed_at,
        (select i.metadata from request_inputs i where i.request_id = id) as metadata
      from requests
      where account_id = $1
        and id >= $2::uuid and id < least($3::uuid, $4::uuid)
        and created_at >= coalesce('epoch'::timestamptz + $5::float8 * interval '1 ms',
          '-infinity')
        and created_at < coalesce('epoch'::timestamptz + $6::float8 * interval '1 ms', 'infinity')
        and ($7::text is null or model_id = $7)
        and ($8::uuid is null or key_id = $8)
        and ${inState}
        and ${paired}
      order by id desc limit $10`,
      values,
    ),
  );
}

export interface AnyFilter {
  account_id: string | null;
  status: Status | null;
  model_id: string | null;
  limit: number;
}

export type AnyRow = RequestRow & { email: string };

/** Requests of all accounts, newest first, for the operator. */
export function listAll(db: Connection, filter: AnyFilter): Promise<AnyRow[]> {
  return db.run<AnyRow>(sql`
    select r.id, r.account_id, r.key_id, r.model_id, r.kind, r.upstream, r.status, r.slot,
      r.attempt, r.quoted_usd_micro, r.charged_usd_micro, r.error_code, r.webhook_state,
      r.expires_at, r.created_at, r.started_at, r.completed_at, a.email
    from requests r join accounts a on a.id = r.account_id
    where (${filter.account_id}::uuid is null or r.account_id = ${filter.account_id})
      and (${filter.status}::text is null or r.status = ${filter.status})
      and (${filter.model_id}::text is null or r.model_id = ${filter.model_id})
    order by r.id desc limit ${filter.limit}`);
}

/** One attempt to start a request at an upstream, with fields that only the operator may see. */
export interface AttemptRow {
  attempt: number;
  upstream: string;
  /** The name of the key that was used, if the upstream has several. */
  key: string | null;
  class: string;
  outcome: AttemptOutcome;
  message: string | null;
  handle: Record<string, unknown> | null;
  created_at: Date;
  /**
   * When the next route was called because this start's answer was lost. The start may have cost
   * money.
   */
  left_at: Date | null;
  /** The cost of a left start, once its outcome was resolved. */
  cost_usd_micro: bigint | null;
  /** When the outcome became known; null if it is unknown, or if the answer ended the request. */
  answered_at: Date | null;
}

export function attemptsOf(db: Connection, requestId: string): Promise<AttemptRow[]> {
  return db.run<AttemptRow>(sql`
    select attempt, upstream, key, class, outcome, message, handle, created_at, left_at,
      cost_usd_micro, answered_at
    from attempts where request_id = ${requestId} order by attempt`);
}

/** The name of the key that this attempt used; null if its upstream has one key only. */
export async function keyOfAttempt(
  db: Connection,
  requestId: string,
  attempt: number,
): Promise<string | null> {
  const [row] = await db.run<{ key: string | null }>(sql`
    select key from attempts where request_id = ${requestId} and attempt = ${attempt}`);
  return row?.key ?? null;
}
