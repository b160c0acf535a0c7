import type { UnknownInput } from '../../core/catalog/model-input.ts';
import type { TokenCounts } from '../../core/chat/chat-bill.ts';
import type { FailureCode, FailureDetails } from '../../core/errors.ts';
import type { QuoteJson } from '../../core/price/quote-json.ts';
import type { ReplicateDoor } from '../../core/request/views.ts';
import type { Metadata } from '../../core/request/metadata.ts';
import type { Output, Progress, Status } from '../../core/request/request.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { fragment, sql, type Connection, type Transaction } from '../../lib/sql/sql.ts';
import type { Ids } from './request-steps.ts';
import type { Kind } from '../../core/catalog/catalog.ts';

/** A field of a failed request's result. */
export const ofFailed = (name: string) =>
  `case when r.status = 'FAILED' then (
    select s.${name} from request_results s where s.request_id = r.id) end`;

/** A value that the newest attempt of a running request reported. */
const newestProgress = (value: string) =>
  `case when r.status = 'IN_PROGRESS' then (
    select ${value} from attempts a where a.request_id = r.id order by a.attempt desc limit 1) end`;

/** The reported share of the work, from 0 to 1. */
export const progressShare = of<number | null>(
  newestProgress(`case when json_typeof(a.progress -> 'progress') = 'number'
    then (a.progress ->> 'progress')::float8 end`),
);

/** The narrow row of a request, which most queries read. */
export const requestColumns = columns('r', {
  id: of<string>(),
  account_id: of<string>(),
  key_id: of<string>(),
  person_id: of<string | null>(),
  model_id: of<string>(),
  kind: of<Kind>(),
  upstream: of<string>(),
  status: of<Status>(),
  slot: of<boolean>(),
  attempt: of<number>(),
  quoted_usd_micro: of<bigint>(),
  charged_usd_micro: of<bigint | null>(),
  error_code: of<FailureCode | null>(),
  webhook_state: of<'pending' | 'delivered' | 'failed' | null>(),
  expires_at: of<Date | null>(),
  created_at: of<Date>(),
  started_at: of<Date | null>(),
  completed_at: of<Date | null>(),
  /** When its caller asked to stop it while it ran. */
  cancel_requested_at: of<Date | null>(),
});
export type RequestRow = RowOf<typeof requestColumns>;

export interface NewRequest {
  id: string;
  account_id: string;
  key_id: string;
  /** The person who was signed in; null: a program with a key. */
  person_id: string | null;
  model_id: string;
  kind: Kind;
  upstream: string;
  /** The upstream's own name of the model; null for chat calls. */
  upstream_model: string | null;
  quoted_usd_micro: bigint;
  idempotency_key: string | null;
  fingerprint: Buffer | null;
  /** JSON as strings. */
  input: string;
  /** The input in one line; null for chats. */
  prompt: string | null;
  quote: string;
  queue_position: number;
  webhook_url: string | null;
  /** JSON as a string; null: none. */
  metadata: string | null;
  /** The caller's own number of the call; null: none. */
  caller_id: string | null;
  /** The place in a trace from which a job goes on; null: none is recorded, or a chat. */
  traceparent: string | null;
  /** JSON as a string: the API of another service that the caller used; null: our own. */
  door: string | null;
  /**
   * For chat calls, which begin at once: the time after which an unsettled call is released. Null
   * for jobs.
   */
  call_seconds: number | null;
  /** As in `quote`; undefined if there are none. */
  unknown_inputs?: UnknownInput[];
}

/** Inserts queued requests and running chat calls. */
export function insertMany(tx: Transaction, rows: NewRequest[]): void {
  tx.send(sql`
    with d as materialized (
      select * from ${rowsOf(rows, {
        id: 'uuid',
        account_id: 'uuid',
        key_id: 'uuid',
        person_id: 'uuid',
        model_id: 'text',
        kind: 'text',
        upstream: 'text',
        upstream_model: 'text',
        quoted_usd_micro: 'bigint',
        webhook_url: 'text',
        call_seconds: 'float8',
        idempotency_key: 'text',
        fingerprint: 'bytea',
        input: 'json',
        prompt: 'text',
        quote: 'json',
        queue_position: 'int',
        metadata: 'json',
        caller_id: 'text',
        traceparent: 'text',
        door: 'json',
      })} as d
    ), clock as (
      insert into requests (id, account_id, key_id, person_id, model_id, kind, upstream,
        upstream_model, quoted_usd_micro, webhook_state, status, attempt, wake_at, started_at,
        deadline_at)
      select id, account_id, key_id, person_id, model_id, kind, upstream, upstream_model,
        quoted_usd_micro,
        case when webhook_url is not null then 'pending' end,
        case when call_seconds is null then 'IN_QUEUE' else 'IN_PROGRESS' end,
        case when call_seconds is null then 0 else 1 end,
        now() + coalesce(call_seconds, 0) * interval '1 s',
        case when call_seconds is not null then now() end,
        now() + call_seconds * interval '1 s'
      from d
    )
    insert into request_inputs (request_id, account_id, idempotency_key, fingerprint, input, prompt,
      quote, queue_position, webhook_url, metadata, numbered, caller_id, traceparent, door)
    select id, account_id, idempotency_key, fingerprint, input, prompt, quote, queue_position,
      webhook_url, metadata, true, caller_id, traceparent, door
    from d`);
}

/** A request that was made by an earlier submit with the same Idempotency-Key. */
const earlierRequestColumns = columns('i', {
  request_id: of<string>(),
  account_id: of<string>(),
  idempotency_key: of<string>(),
  fingerprint: of<Buffer>(),
  model_id: of<string>('r.model_id'),
  kind: of<Kind>('r.kind'),
  quoted_usd_micro: of<bigint>('r.quoted_usd_micro'),
  queue_position: of<number>(),
  unknown_inputs: of<UnknownInput[] | null>(`i.quote->'unknown_inputs'`),
});
export type EarlierRequest = RowOf<typeof earlierRequestColumns>;

/** Requests of these (account, Idempotency-Key) pairs. */
export function findEarlier(
  db: Connection,
  submits: Pick<NewRequest, 'account_id' | 'idempotency_key'>[],
): Promise<EarlierRequest[]> {
  return db.run(sql`
    select ${earlierRequestColumns}
    from ${rowsOf(submits, { account_id: 'uuid', idempotency_key: 'text' })} as d
    join request_inputs i on i.account_id = d.account_id and i.idempotency_key = d.idempotency_key
    join requests r on r.id = i.request_id`);
}

/** Deletes Idempotency-Keys that are older than their retention. Returns how many. */
export async function forgetKeys(
  db: Connection,
  olderThanDays: number,
  limit: number,
): Promise<number> {
  const rows = await db.run(sql`
    update request_inputs set idempotency_key = null, fingerprint = null
    where request_id = any(array(
      select request_id from request_inputs
      where idempotency_key is not null
        and created_at < now() - ${olderThanDays} * interval '1 day' limit ${limit}))
    returning request_id`);
  return rows.length;
}

/** Deletes the payloads of the requests in `due`. */
export const cleared = fragment(`asked as (
      update request_inputs i set input = '{}', prompt = null, webhook_url = null,
        idempotency_key = null, fingerprint = null
      from due where i.request_id = due.id
    ), answered as (
      update request_results s set output = null, error_cause = null from due
      where s.request_id = due.id and (s.output is not null or s.error_cause is not null)
    ), tried as (
      delete from attempts a using due where a.request_id = due.id and a.left_at is null
    ), made as (delete from outputs o using due where o.request_id = due.id
    ), told as (delete from webhook_deliveries w using due where w.request_id = due.id
    ), liked as (delete from favorites f using due
      where f.account_id = due.account_id and f.request_id = due.id)`);

/**
 * Deletes the payloads of requests that ended more than `olderThanDays` ago: input, output,
 * deliveries and attempts. Kept for the books: the row, its quote, its metadata, the measures of
 * its result, and attempts whose answer was lost before the next route was tried. Requests that are
 * still due for a step keep everything.
 */
export async function clearPayloads(
  db: Connection,
  olderThanDays: number,
  limit: number,
): Promise<number> {
  const rows = await db.run(sql`
    with due as (
      update requests set cleared_at = now() where id = any(array(
        select id from requests
        where cleared_at is null and completed_at is not null and wake_at is null
          and completed_at < now() - ${olderThanDays} * interval '1 day'
        order by completed_at limit ${limit} for update skip locked))
      returning id, account_id
    ), ${cleared}
    select id from due`);
  return rows.length;
}

/** Only the fields that a status response needs, because no row is read as often. */
const statusColumns = columns('r', {
  id: of<string>(),
  account_id: of<string>(),
  key_id: of<string>(),
  kind: of<Kind>(),
  model_id: of<string>(),
  upstream: of<string>(),
  /** The upstream's own name of the model. */
  upstream_model: of<string | null>(),
  status: of<Status>(),
  error_code: of<FailureCode | null>(),
  created_at: of<Date>(),
  started_at: of<Date | null>(),
  completed_at: of<Date | null>(),
  cancel_requested_at: of<Date | null>(),
  expires_at: of<Date | null>(),
  /** When its payloads were deleted at the end of their retention. */
  cleared_at: of<Date | null>(),
  error_message: of<string | null>(ofFailed('error_message')),
  error_details: of<FailureDetails | null>(ofFailed('error_details')),
  progress: of<Progress | null>(newestProgress('a.progress')),
});
export type StatusRow = RowOf<typeof statusColumns>;

/** The given requests that have not ended. */
export function findStillOpen(db: Connection, ids: string[]): Promise<Ids> {
  return db.run<{ id: string }>(sql`
    select id from requests
    where id = any(${ids}::uuid[]) and status in ('IN_QUEUE', 'IN_PROGRESS')`);
}

/** Status of requests of any account: the caller compares `account_id`. */
export function findMany(db: Connection, ids: string[]): Promise<StatusRow[]> {
  return db.run(sql`select ${statusColumns} from requests r where r.id = any(${ids}::uuid[])`);
}

/** The tokens of a completed chat; null for others. `s`: its result. */
export const tokenCounts = of<TokenCounts | null>(`case when s.input_tokens is not null
  then json_build_object('input_tokens', s.input_tokens, 'output_tokens', s.output_tokens,
    'cached_tokens', s.cached_tokens, 'reasoning_tokens', s.reasoning_tokens) end`);

const cardColumns = columns('i', {
  cleared_at: of<Date | null>('r.cleared_at'),
  input: of<Record<string, unknown>>(),
  quote: of<QuoteJson>(),
  webhook_url: of<string | null>(),
  metadata: of<Metadata | null>(),
  numbered: of<boolean | null>(),
  caller_id: of<string | null>(),
  door: of<ReplicateDoor | null>(),
  output: of<Record<string, unknown> | null>('s.output'),
  error_message: of<string | null>('s.error_message'),
  error_details: of<FailureDetails | null>('s.error_details'),
  quantity: of<number | null>('s.quantity'),
  tokens: tokenCounts,
  // A repeated delivery is newer than each attempt of the request, whose notes may come late.
  webhook_status: of<number | null>(`(select w.status from (
    (select d.status, 1 as place from webhook_deliveries d
      where d.request_id = r.id and d.cause <> 'final' order by d.id desc limit 1)
    union all
    (select d.status, 2 from webhook_deliveries d
      where d.request_id = r.id and d.cause = 'final' order by d.attempt desc limit 1)
  ) w order by w.place limit 1)`),
});
export type CardRow = RequestRow & RowOf<typeof cardColumns>;

/** Requests with their input, output and messages, for the request view, responses and webhooks. */
export function findCards(db: Connection, ids: string[]): Promise<CardRow[]> {
  return db.run(sql`
    select ${requestColumns}, ${cardColumns}
    from requests r join request_inputs i on i.request_id = r.id
    left join request_results s on s.request_id = r.id
    where r.id = any(${ids}::uuid[])`);
}

export interface OutputRow extends Output {
  request_id: string;
}

export async function findOutputs(db: Connection, requestIds: string[]): Promise<OutputRow[]> {
  const rows = await db.run<OutputRow & { size: bigint | number }>(sql`
    select request_id, index, field, storage_key, content_type, size, sha256, width, height,
      duration_seconds, file_name
    from outputs where request_id = any(${requestIds}::uuid[]) order by request_id, index`);
  return rows.map((row) => ({ ...row, size: Number(row.size) }));
}
