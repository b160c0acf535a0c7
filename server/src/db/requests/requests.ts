import type { UnknownInput } from '../../core/catalog/model-input.ts';
import type { FailureCode } from '../../core/errors.ts';
import type { QuoteJson } from '../../core/price/quote-json.ts';
import type { AttemptOutcome, Move, Output, Route, Status } from '../../core/request/request.ts';
import { leastIdAt, newId } from '../../lib/id.ts';
import { storableJson, storableText } from '../../lib/json.ts';
import { rawSql, rowsOf, sql, type Connection, type Transaction } from '../../lib/sql/sql.ts';

/** What a cancelled request may keep of its input. */
const cancelledInputMaxBytes = 16 * 1024;

/** The narrow row of a request, which everything reads. */
export interface RequestRow {
  id: string;
  account_id: string;
  key_id: string;
  model_id: string;
  kind: 'video' | 'image' | 'text';
  upstream: string;
  status: Status;
  slot: boolean;
  attempt: number;
  quoted_usd_micro: bigint;
  charged_usd_micro: bigint | null;
  error_code: FailureCode | null;
  webhook_state: 'pending' | 'delivered' | 'failed' | null;
  expires_at: Date | null;
  created_at: Date;
  started_at: Date | null;
  completed_at: Date | null;
}

export interface NewRequest {
  id: string;
  account_id: string;
  key_id: string;
  model_id: string;
  kind: string;
  upstream: string;
  /** The upstream's own name of the model; null for chat calls. */
  upstream_model: string | null;
  quoted_usd_micro: bigint;
  idempotency_key: string | null;
  fingerprint: Buffer | null;
  /** JSON texts. */
  input: string;
  quote: string;
  queue_position: number;
  webhook_url: string | null;
  /**
   * Chat calls only: they begin at once, and their row is due for release if nobody settles them.
   */
  call_seconds: number | null;
  /** As in `quote`; left out: none. */
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
        quote: 'json',
        queue_position: 'int',
      })} as d
    ), clock as (
      insert into requests (id, account_id, key_id, model_id, kind, upstream, upstream_model,
        quoted_usd_micro, webhook_state, status, attempt, wake_at, started_at, deadline_at)
      select id, account_id, key_id, model_id, kind, upstream, upstream_model, quoted_usd_micro,
        case when webhook_url is not null then 'pending' end,
        case when call_seconds is null then 'IN_QUEUE' else 'IN_PROGRESS' end,
        case when call_seconds is null then 0 else 1 end,
        now() + coalesce(call_seconds, 0) * interval '1 s',
        case when call_seconds is not null then now() end,
        now() + call_seconds * interval '1 s'
      from d
    )
    insert into request_inputs (request_id, account_id, idempotency_key, fingerprint, input, quote,
      queue_position, webhook_url)
    select id, account_id, idempotency_key, fingerprint, input, quote, queue_position, webhook_url
    from d`);
}

/** A request that an earlier submit with the same Idempotency-Key made. */
export interface EarlierRequest {
  request_id: string;
  account_id: string;
  idempotency_key: string;
  fingerprint: Buffer;
  model_id: string;
  kind: string;
  quoted_usd_micro: bigint;
  queue_position: number;
  unknown_inputs: UnknownInput[] | null;
}

/** Requests of these (account, Idempotency-Key) pairs. */
export function findEarlier(
  db: Connection,
  submits: Pick<NewRequest, 'account_id' | 'idempotency_key'>[],
): Promise<EarlierRequest[]> {
  return db.run<EarlierRequest>(sql`
    select i.request_id, i.account_id, i.idempotency_key, i.fingerprint, r.model_id, r.kind,
      r.quoted_usd_micro,
      i.queue_position,
      i.quote->'unknown_inputs' as unknown_inputs
    from ${rowsOf(submits, { account_id: 'uuid', idempotency_key: 'text' })} as d
    join request_inputs i on i.account_id = d.account_id and i.idempotency_key = d.idempotency_key
    join requests r on r.id = i.request_id`);
}

/**
 * Deletes Idempotency-Keys that are older than their retention, and that of a failed chat call, so
 * that it may run again.
 */
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

/**
 * Deletes the payloads of requests that ended so long ago: input, output and attempts. The books'
 * part stays: the row, its quote, the figures of its result. Requests that are still due for
 * something keep everything.
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
      returning id
    ), asked as (
      update request_inputs i set input = '{}', webhook_url = null, idempotency_key = null,
        fingerprint = null
      from due where i.request_id = due.id
    ), answered as (
      update request_results s set output = null, error_cause = null from due
      where s.request_id = due.id and (s.output is not null or s.error_cause is not null)
    ), tried as (
      delete from attempts a using due where a.request_id = due.id and a.left_at is null
    ), made as (delete from outputs o using due where o.request_id = due.id
    ), told as (delete from webhook_deliveries w using due where w.request_id = due.id)
    select id from due`);
  return rows.length;
}

export interface LockedRequest {
  id: string;
  status: Status;
  attempt: number;
  quoted_usd_micro: bigint;
  /** First day of the month (UTC) in which it was reserved. */
  month: string;
}

/** Locks rows for their end, always after balances and key usage. */
export function lockMany(tx: Transaction, ids: string[]): Promise<LockedRequest[]> {
  return tx.run<LockedRequest>(sql`
    select id, status, attempt, quoted_usd_micro, to_char(created_at at time zone 'utc',
      'YYYY-MM-01') as month
    from requests where id = any(${ids}::uuid[]) order by id for update`);
}

export interface EndedRequest {
  id: string;
  account_id: string;
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED';
  /** The upstream at which it ended; null: the one it had. */
  upstream: string | null;
  charged_usd_micro: bigint;
  error_code: string | null;
  error_message: string | null;
  error_cause: string | null;
  /** Null: it leaves no outputs. */
  ttl_seconds: number | null;
  /** JSON text, or null. */
  output: string | null;
  quantity: number | null;
  cost_usd_micro: bigint | null;
  outputs: Output[];
  /** A call that failed may be made again under the same Idempotency-Key. */
  frees_key: boolean;
}

/** Writes the end of locked, open requests. */
export function endMany(tx: Transaction, rows: EndedRequest[]): void {
  tx.send(sql`
    update requests r set status = d.status, slot = false, leased = false, waits = false,
      upstream = coalesce(d.upstream, r.upstream), charged_usd_micro = d.charged_usd_micro,
      error_code = d.error_code,
      completed_at = now(), expires_at = now() + d.ttl_seconds * interval '1 s',
      wake_at = case when r.webhook_state = 'pending' then now()
        else now() + d.ttl_seconds * interval '1 s' end
    from ${rowsOf(rows, {
      id: 'uuid',
      status: 'text',
      charged_usd_micro: 'bigint',
      error_code: 'text',
      ttl_seconds: 'float8',
      upstream: 'text',
    })} as d
    where r.id = d.id`);
  const results = rows.filter((row) => row.status !== 'CANCELLED');
  if (results.length > 0) insertResults(tx, results);
  const outputs = rows.flatMap(({ id: request_id, account_id, outputs: made }) =>
    made.map((output) => ({ request_id, account_id, ...output })),
  );
  if (outputs.length > 0) insertOutputs(tx, outputs);
  const freed = rows.filter((row) => row.frees_key).map((row) => row.id);
  if (freed.length > 0) freeKeys(tx, freed);
  const cancelled = rows.filter((row) => row.status === 'CANCELLED').map((row) => row.id);
  if (cancelled.length > 0) dropLargeInputs(tx, cancelled);
}

/**
 * A cancel costs nothing; keeping large inputs of cancelled requests would fill the disk for free.
 */
function dropLargeInputs(tx: Transaction, requestIds: string[]): void {
  tx.send(sql`
    update request_inputs set input = '{}'
    where request_id = any(${requestIds}::uuid[])
      and octet_length(input::text) > ${cancelledInputMaxBytes}`);
}

function freeKeys(tx: Transaction, requestIds: string[]): void {
  tx.send(sql`
    update request_inputs set idempotency_key = null, fingerprint = null
    where request_id = any(${requestIds}::uuid[]) and idempotency_key is not null`);
}

function insertResults(tx: Transaction, rows: EndedRequest[]): void {
  tx.send(sql`
    insert into request_results (request_id, account_id, output, error_message, error_cause,
      quantity, cost_usd_micro, loss_usd_micro, doubt_upstream)
    select id, account_id, output, error_message, error_cause, quantity, cost_usd_micro,
      case when status = 'COMPLETED' and cost_usd_micro > charged_usd_micro
        then cost_usd_micro - charged_usd_micro end,
      case when error_code in ('outcome_unknown', 'timeout') and cost_usd_micro is null
        then (select r.upstream from requests r where r.id = d.id) end
    from ${rowsOf(rows, {
      id: 'uuid',
      account_id: 'uuid',
      output: 'json',
      error_message: 'text',
      error_cause: 'text',
      quantity: 'float8',
      cost_usd_micro: 'bigint',
      error_code: 'text',
      status: 'text',
      charged_usd_micro: 'bigint',
    })} as d`);
}

function insertOutputs(tx: Transaction, rows: (OutputRow & { account_id: string })[]): void {
  tx.send(sql`
    insert into outputs (request_id, account_id, index, field, storage_key, content_type, size,
      sha256, width, height, duration_seconds, file_name)
    select * from ${rowsOf(rows, {
      request_id: 'uuid',
      account_id: 'uuid',
      index: 'int',
      field: 'text',
      storage_key: 'text',
      content_type: 'text',
      size: 'bigint',
      sha256: 'text',
      width: 'int',
      height: 'int',
      duration_seconds: 'float8',
      file_name: 'text',
    })} as d`);
}

type To<Name extends Move['to']> = { id: string; attempt: number } & Extract<Move, { to: Name }>;
type Ids = { id: string }[];

/**
 * Commits the intents and returns those that may call. A request that was cancelled or claimed
 * again is not among them.
 */
export function beginMany(db: Connection, moves: To<'begin'>[], isRepeat = false): Promise<Ids> {
  return db.run<{ id: string }>(sql`
    with begun as (
      update requests r set status = 'IN_PROGRESS', upstream = d.upstream,
        upstream_model = d.model, slot = true, waits = false,
        started_at = coalesce(r.started_at, now()),
        deadline_at = coalesce(r.deadline_at, now() + d.deadline_seconds * interval '1 s'),
        wake_at = now() + d.lease_seconds * interval '1 s'
      from ${rowsOf(moves, {
        id: 'uuid',
        attempt: 'int',
        upstream: 'text',
        class: 'text',
        request_hash: 'bytea',
        deadline_seconds: 'float8',
        lease_seconds: 'float8',
        model: 'text',
        key: 'text',
      })} as d
      where r.id = d.id
        and r.attempt = d.attempt -- guard: own-attempt-begins
        and r.status in ('IN_QUEUE', 'IN_PROGRESS') -- guard: cancelled-not-begun
      returning r.id, d.attempt, d.upstream, d.model, d.class, d.request_hash, d.key
    )
    insert into attempts (request_id, attempt, upstream, upstream_model, class, request_hash, key)
    select id, attempt, upstream, model, class, request_hash, key from begun
    on conflict (request_id, attempt) do update set request_hash = excluded.request_hash
      where ${isRepeat} -- guard: lost-commit-begin (off: false)
    returning request_id as id`);
}

/** Stores the handles before anything else is done with the answer. */
export function acceptMany(
  db: Connection,
  moves: To<'accepted'>[],
  isRepeat = false,
): Promise<Ids> {
  const rows = moves.map((move) => ({
    ...move,
    handle: JSON.stringify(move.handle),
    held: move.held ?? false,
  }));
  return db.run<{ id: string }>(sql`
    with d as (
      select * from ${rowsOf(rows, {
        id: 'uuid',
        attempt: 'int',
        started_in: 'int',
        handle: 'json',
        wake_seconds: 'float8',
        held: 'bool',
      })} as d
    ), kept as (
      -- A handle is worth keeping even from a claim that was overtaken: it names a job that is paid
      -- for.
      update attempts a set handle = coalesce(
        a.handle, -- guard: first-handle-stays
        d.handle), outcome = 'accepted',
        answered_at = coalesce(a.answered_at, now()), called_back = false
      from d where a.request_id = d.id and a.attempt = d.started_in
      returning a.request_id as id, (select b.called_back from attempts b
        where b.request_id = d.id and b.attempt = d.started_in) as called_back
    )
    update requests r set leased = false, slot = r.slot and not d.held,
      deadline_at = case when d.held
        then greatest(r.deadline_at, now() + d.wake_seconds * interval '1 s')
        else r.deadline_at end,
      wake_at = now() + case when k.called_back and not d.held then 0 else d.wake_seconds end
        * interval '1 s'
    from d left join kept k using (id) where r.id = d.id
      and r.attempt = d.attempt -- guard: own-attempt-accepts
      and r.status = 'IN_PROGRESS' and (r.leased or not ${isRepeat}) returning r.id`);
}

/** An upstream called back about the start of an attempt. */
export interface CalledBack {
  request_id: string;
  attempt: number;
  /** The upstream's name of the job, if the call states it. */
  handle: Record<string, unknown> | null;
}

/**
 * Makes the next poll of a running request due at once: now, or when its worker hands it back.
 * Stores the handle of a start whose answer was lost. Repeated or late calls change nothing; if the
 * next route was called meanwhile, the handle is for the operator only. Returns those that are due
 * now.
 */
export function calledBackMany(db: Connection, calls: CalledBack[]): Promise<Ids> {
  const rows = calls.map(({ request_id, attempt, handle }) => ({
    request_id,
    attempt,
    handle: handle === null ? null : storableJson(handle),
  }));
  return db.run<{ id: string }>(sql`
    with d as (
      select distinct on (request_id, attempt) *
      from ${rowsOf(rows, { request_id: 'uuid', attempt: 'int', handle: 'json' })} as d
    ), told as (
      update attempts a set called_back = r.leased and a.left_at is null,
        outcome = case when a.handle is null and a.left_at is null and d.handle is not null
          then 'accepted' else a.outcome end,
        handle = coalesce(a.handle, d.handle)
      from d join requests r on r.id = d.request_id
      where a.request_id = d.request_id and a.attempt = d.attempt and r.status = 'IN_PROGRESS'
      returning a.request_id, a.left_at
    )
    update requests r set wake_at = now() from told
    where r.id = told.request_id and told.left_at is null
      and r.status = 'IN_PROGRESS'
      and not r.leased -- guard: callback-keeps-lease
    returning r.id`);
}

export function waitMany(db: Connection, moves: To<'wait'>[], isRepeat = false): Promise<Ids> {
  const rows = moves.map((move) => ({
    ...move,
    message: storableMessage(move.message),
    progress: move.progress === null ? null : storableJson(move.progress),
    missing: move.missing ?? false,
    next_upstream: move.next?.upstream,
    next_model: move.next?.model,
    frees_slot: move.frees_slot ?? false,
    waits: move.waits ?? false,
    is_left: move.left ?? false,
  }));
  return db.run<{ id: string }>(sql`
    with d as (
      select * from ${rowsOf(rows, {
        id: 'uuid',
        attempt: 'int',
        wake_seconds: 'float8',
        started_in: 'int',
        outcome: 'text',
        message: 'text',
        progress: 'json',
        missing: 'bool',
        next_upstream: 'text',
        next_model: 'text',
        frees_slot: 'bool',
        waits: 'bool',
        is_left: 'bool',
      })} as d
    ), moved as (
      update requests r set leased = false, upstream = coalesce(d.next_upstream, r.upstream),
        upstream_model = coalesce(d.next_model, r.upstream_model),
        slot = r.slot and not d.frees_slot, waits = d.waits,
        wake_at = now() + case when a.called_back then 0 else d.wake_seconds end * interval '1 s'
      from d left join attempts a on a.request_id = d.id and a.attempt = d.started_in
      where r.id = d.id
        and r.attempt = d.attempt -- guard: own-attempt-waits
        and r.status = 'IN_PROGRESS'
        and (r.leased or not ${isRepeat}) returning r.id
    ), told as (
      update attempts a set outcome = coalesce(d.outcome, a.outcome), message = coalesce(d.message,
        a.message),
        answered_at = coalesce(a.answered_at, case when d.outcome is not null then now() end),
        left_at = case when d.is_left then now() else a.left_at end,
        progress = coalesce(d.progress, a.progress), called_back = false,
        missing = case when d.missing then least(a.missing + 1, 100) else 0 end
      from d join moved using (id)
      where a.request_id = d.id and a.attempt = d.started_in
        and (d.outcome is not null or d.message is not null or d.progress is not null
          or d.missing or a.missing > 0 or a.called_back)
    )
    select id from moved`);
}

/** Hands claims back: due at once. A queued one also frees its slot. */
export function requeueMany(db: Connection, moves: To<'requeue'>[]): Promise<Ids> {
  return db.run<{ id: string }>(sql`
    update requests r set wake_at = now(), leased = false,
      slot = r.slot and r.status <> 'IN_QUEUE'
    from ${rowsOf(moves, { id: 'uuid', attempt: 'int' })} as d
    where r.id = d.id
      and r.attempt = d.attempt -- guard: own-attempt-requeues
      and r.wake_at is not null returning r.id`);
}

export function notifiedMany(db: Connection, moves: To<'notified'>[]): Promise<Ids> {
  const rows = moves.map((move) => ({
    ...move,
    delivery_id: newId(),
    error: move.error?.slice(0, 500),
  }));
  return db.run<{ id: string }>(sql`
    with d as (
      select * from ${rowsOf(rows, {
        id: 'uuid',
        attempt: 'int',
        delivery_id: 'uuid',
        account_id: 'uuid',
        url: 'text',
        status: 'int',
        error: 'text',
        duration_ms: 'int',
        delivered: 'bool',
      })} as d
    ), sent as (
      insert into webhook_deliveries (id, request_id, attempt, account_id, url, status, error,
        duration_ms)
      select delivery_id, id, attempt, account_id, url, status, error, duration_ms from d
      on conflict do nothing
    )
    update requests r set
      webhook_state = case when d.delivered then 'delivered' else 'failed' end, -- guard: one-notice
      wake_at = r.expires_at, leased = false
    from d where r.id = d.id
      and r.attempt = d.attempt -- guard: own-attempt-notifies
      and r.webhook_state = 'pending' returning r.id`);
}

/** The bytes of its outputs are deleted. */
export function expiredMany(db: Connection, moves: To<'expired'>[]): Promise<Ids> {
  return db.run<{ id: string }>(sql`
    update requests r set expires_at = null, wake_at = null, leased = false
    from ${rowsOf(moves, { id: 'uuid', attempt: 'int' })} as d
    where r.id = d.id
      and r.attempt = d.attempt -- guard: own-attempt-clears
    returning r.id`);
}

/** Final with nothing left to do: due when its outputs expire, if it has any. */
export function idleMany(db: Connection, moves: To<'idle'>[]): Promise<Ids> {
  return db.run<{ id: string }>(sql`
    update requests r set wake_at = r.expires_at, leased = false
    from ${rowsOf(moves, { id: 'uuid', attempt: 'int' })} as d
    where r.id = d.id
      and r.attempt = d.attempt -- guard: own-attempt-rests
      and r.completed_at is not null returning r.id`);
}

/** Only what a status shows, because no row is read as often. */
export interface StatusRow extends Pick<
  RequestRow,
  | 'id'
  | 'account_id'
  | 'key_id'
  | 'kind'
  | 'expires_at'
  | 'model_id'
  | 'upstream'
  | 'status'
  | 'error_code'
  | 'created_at'
  | 'started_at'
  | 'completed_at'
> {
  /** The upstream's own name of the model. */
  upstream_model: string | null;
  error_message: string | null;
  progress: { progress: number | null; logs: string[] } | null;
  /** When its payloads were deleted, after their retention. */
  cleared_at: Date | null;
}

/** Those of these requests that have not ended. */
export function stillOpen(db: Connection, ids: string[]): Promise<Ids> {
  return db.run<{ id: string }>(sql`
    select id from requests
    where id = any(${ids}::uuid[]) and status in ('IN_QUEUE', 'IN_PROGRESS')`);
}

/** Status of requests of any account: the caller compares `account_id`. */
export function findMany(db: Connection, ids: string[]): Promise<StatusRow[]> {
  return db.run<StatusRow>(sql`
    select r.id, r.account_id, r.key_id, r.kind, r.model_id, r.upstream, r.upstream_model, r.status,
      r.error_code,
      r.created_at, r.started_at, r.completed_at, r.expires_at, r.cleared_at,
      case when r.status = 'FAILED' then (
        select s.error_message from request_results s
          where s.request_id = r.id) end as error_message,
      case when r.status = 'IN_PROGRESS' then (
        select a.progress from attempts a
          where a.request_id = r.id order by a.attempt desc limit 1) end as progress
    from requests r where r.id = any(${ids}::uuid[])`);
}

export interface CardRow extends RequestRow {
  input: Record<string, unknown>;
  quote: QuoteJson;
  webhook_url: string | null;
  output: Record<string, unknown> | null;
  error_message: string | null;
  quantity: number | null;
  webhook_status: number | null;
  cleared_at: Date | null;
}

/** Whole requests, for cards, responses and webhooks. */
export function findCards(db: Connection, ids: string[]): Promise<CardRow[]> {
  return db.run<CardRow>(sql`
    select r.id, r.account_id, r.key_id, r.model_id, r.kind, r.upstream, r.status, r.slot,
      r.attempt,
      r.quoted_usd_micro, r.charged_usd_micro, r.error_code, r.webhook_state, r.expires_at,
        r.created_at,
      r.started_at, r.completed_at, r.cleared_at, i.input, i.quote, i.webhook_url, s.output,
        s.error_message, s.quantity,
      (select w.status from webhook_deliveries w
        where w.request_id = r.id order by w.attempt desc nulls first, w.created_at desc limit 1)
        as webhook_status
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
      duration_seconds,
      file_name
    from outputs where request_id = any(${requestIds}::uuid[]) order by request_id, index`);
  return rows.map((row) => ({ ...row, size: Number(row.size) }));
}

export interface ListFilter {
  account_id: string;
  status: Status | null;
  model_id: string | null;
  key_id: string | null;
  /** Bounds of `created_at` in ms since 1970, inclusive and exclusive. */
  from_ms: number | null;
  to_ms: number | null;
  /** Only older ones than this. */
  below_id: string | null;
  limit: number;
}

/** An id is made a moment before its row is written, and by another machine's clock. */
const idSlackMs = 60_000;

/** One account's requests, newest first. */
export function list(db: Connection, filter: ListFilter): Promise<RequestRow[]> {
  const { account_id, status, model_id, key_id, from_ms, to_ms, limit } = filter;
  // `created_at` is in no index; the ids limit what is read to a narrow range of time.
  const from_id = from_ms === null ? null : leastIdAt(from_ms - idSlackMs);
  const to_id = to_ms === null ? null : leastIdAt(to_ms + idSlackMs);
  // An index has the few in another state; it is used if the text itself says so.
  const inState =
    status === null || status === 'COMPLETED'
      ? '($9::text is null or status = $9)'
      : `status = $9 and status <> 'COMPLETED'`;
  const values = [account_id, from_id, filter.below_id, to_id, from_ms, to_ms, model_id, key_id];
  return db.run<RequestRow>(
    rawSql(
      `select id, account_id, key_id, model_id, kind, upstream, status, slot, attempt,
        quoted_usd_micro, charged_usd_micro, error_code, webhook_state, expires_at, created_at,
        started_at, completed_at
      from requests
      where account_id = $1
        and id >= coalesce($2::uuid, '00000000-0000-0000-0000-000000000000')
        and id < coalesce(least($3::uuid, $4::uuid), 'ffffffff-ffff-ffff-ffff-ffffffffffff')
        and created_at >= coalesce('epoch'::timestamptz + $5::float8 * interval '1 ms',
          '-infinity')
        and created_at < coalesce('epoch'::timestamptz + $6::float8 * interval '1 ms', 'infinity')
        and ($7::text is null or model_id = $7)
        and ($8::uuid is null or key_id = $8)
        and ${inState}
      order by id desc limit $10`,
      [...values, status, limit],
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

/** One call that started a request at an upstream, with what only the operator may see. */
export interface AttemptRow {
  attempt: number;
  upstream: string;
  /** Which of several keys it was called with, by its name. */
  key: string | null;
  class: string;
  outcome: AttemptOutcome;
  message: string | null;
  handle: Record<string, unknown> | null;
  created_at: Date;
  /** When the next route was called because its answer was lost: it may have cost all the same. */
  left_at: Date | null;
  /** Of a left start, once its outcome was resolved. */
  cost_usd_micro: bigint | null;
  /** When its outcome was known; null: it is not, or the answer ended the request. */
  answered_at: Date | null;
}

export function attemptsOf(db: Connection, requestId: string): Promise<AttemptRow[]> {
  return db.run<AttemptRow>(sql`
    select attempt, upstream, key, class, outcome, message, handle, created_at, left_at,
      cost_usd_micro, answered_at
    from attempts where request_id = ${requestId} order by attempt`);
}

/** Which of several keys this attempt was made with; null also if there is no such attempt. */
export async function keyOfAttempt(
  db: Connection,
  requestId: string,
  attempt: number,
): Promise<string | null> {
  const [row] = await db.run<{ key: string | null }>(sql`
    select key from attempts where request_id = ${requestId} and attempt = ${attempt}`);
  return row?.key ?? null;
}

/** What a worker needs of a request that it has claimed. */
export interface ClaimedRequest {
  id: string;
  account_id: string;
  key_id: string;
  model_id: string;
  kind: 'video' | 'image' | 'text';
  upstream: string;
  /** The upstream's own name of the model; null: the first that the row names. */
  upstream_model: string | null;
  /** It has a slot there. */
  slot: boolean;
  status: Status;
  attempt: number;
  quoted_usd_micro: bigint;
  webhook_state: 'pending' | 'delivered' | 'failed' | null;
  past_deadline: boolean;
  outputs_due: boolean;
  age_seconds: number;
  input: Record<string, unknown>;
  quote: QuoteJson;
  webhook_url: string | null;
  started_in: number | null;
  started_upstream: string | null;
  /** Which of several keys of that upstream it was called with. */
  started_key: string | null;
  /** Keys of its upstream that did not take its latest starts. */
  refused_keys: string[] | null;
  /** How many starts there were, and how long ago the newest was. */
  starts: number;
  start_age_seconds: number | null;
  outcome: AttemptOutcome;
  /** The newest start was left with its outcome unknown; and the routes of all left starts. */
  left: boolean;
  left_routes: Route[] | null;
  /** Polls in a row at which its upstream knew no such job. */
  missing: number;
  /** The upstream's newest message; internal. */
  said: string | null;
  handle: Record<string, unknown> | null;
  idempotent: boolean;
  /** An operator stopped its model: no new start is made. */
  stopped: boolean;
}

/** After this time a key that did not take a start is tried again. */
const refusedKeySeconds = 60;

/** Loads claims whole, in one statement. */
export function loadClaimed(
  db: Connection,
  claims: { id: string; attempt: number }[],
): Promise<ClaimedRequest[]> {
  return db.run<ClaimedRequest>(sql`
    select r.id, r.account_id, r.key_id, r.model_id, r.kind, r.upstream, r.status, r.attempt,
      r.quoted_usd_micro,
      r.webhook_state, coalesce(r.deadline_at <= now(), false) as past_deadline,
      coalesce(r.expires_at <= now(), false) as outputs_due,
      extract(epoch from now() - coalesce(r.started_at, r.created_at))::float8 as age_seconds,
      i.input, i.quote, i.webhook_url, i.idempotency_key is not null as idempotent,
      r.slot, r.upstream_model, a.attempt as started_in, a.upstream as started_upstream, a.outcome,
      a.handle, a.message as said, coalesce(a.missing, 0) as missing,
      coalesce(a.starts, 0) as starts, a.left_at is not null as left, a.left_routes,
      a.key as started_key, a.refused_keys,
      extract(epoch from now() - a.created_at)::float8 as start_age_seconds,
      r.model_id in (select model_id from stopped_models) as stopped
    from ${rowsOf(claims, { id: 'uuid', attempt: 'int' })} as d
    join requests r on r.id = d.id and r.attempt = d.attempt
    join request_inputs i on i.request_id = r.id
    left join lateral (
      select attempt, upstream, key, outcome, handle, message, missing, created_at, left_at,
        (count(*) over ())::int as starts,
        array_agg(key) filter (where upstream = r.upstream and key is not null
          and outcome = 'not_accepted'
          and created_at > now() - ${refusedKeySeconds} * interval '1 s') over () as refused_keys,
        json_agg(json_build_object('upstream', upstream, 'model', upstream_model))
          filter (where left_at is not null) over () as left_routes
      from attempts where request_id = r.id order by attempt desc limit 1
    ) a on true`);
}

/** An upstream's message, as far as it can be stored. */
function storableMessage(message: string | null): string | null {
  return message === null ? null : storableText(message.slice(0, 2000));
}
