import type { CancelRule, Kind } from '../../core/catalog/catalog.ts';
import type { QuoteJson } from '../../core/price/quote-json.ts';
import type { AttemptOutcome, Move, Route, Status } from '../../core/request/request.ts';
import { newId } from '../../lib/id.ts';
import { storableJson, storableText } from '../../lib/json.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

type MoveTo<Name extends Move['to']> = { id: string; attempt: number } & Extract<
  Move,
  { to: Name }
>;

export type Ids = { id: string }[];

/**
 * Records each start before its upstream is called. Returns the requests whose upstream may be
 * called now: those that were neither cancelled nor claimed again.
 */
export function beginMany(
  db: Connection,
  moves: MoveTo<'begin'>[],
  isRepeat = false,
): Promise<Ids> {
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

/** Stores the handles of accepted jobs before anything else is done with the answers. */
export function acceptMany(
  db: Connection,
  moves: MoveTo<'accepted'>[],
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
      -- Stored even if another worker has claimed the request: the handle names a paid job.
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
      wake_at = now() + case when d.held then d.wake_seconds
        when k.called_back or r.cancel_requested_at is not null then 0
        else d.wake_seconds end * interval '1 s'
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
 * Makes the next poll of a running request due: at once, or when its worker hands it back. Stores
 * the handle of a start whose answer was lost. Repeated or late calls change nothing. If the next
 * route was called after that start, only the operator sees the handle. Returns the requests that
 * are due now.
 */
export function noteCallbacks(db: Connection, calls: CalledBack[]): Promise<Ids> {
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

export interface CancelAsked {
  /** When it was first asked. */
  cancel_requested_at: Date;
  /** False for a repeat. */
  is_new: boolean;
}

/**
 * Notes that a running job is to be stopped, with the rule for its charge, and makes its next poll
 * due: at once, or when its worker hands it back. A repeat changes nothing. Null: it does not run.
 */
export async function askCancel(
  db: Connection,
  id: string,
  rule: CancelRule,
): Promise<CancelAsked | null> {
  const [row] = await db.run<CancelAsked>(sql`
    with asked as (
      update requests r set
        cancel_requested_at = coalesce(
          r.cancel_requested_at, -- guard: first-cancel-stays
          now()),
        on_cancel = coalesce(r.on_cancel, ${rule}),
        wake_at = case when r.leased or r.cancel_requested_at is not null then r.wake_at
          else now() end
      where id = ${id} and status = 'IN_PROGRESS' and kind <> 'text'
      returning id, cancel_requested_at, cancel_requested_at = now() as is_new, leased
    ), told as (
      -- The worker that has the request hands it back due, as after a callback.
      update attempts a set called_back = true from asked
      where a.request_id = asked.id and asked.is_new and asked.leased
        and a.attempt = (select max(attempt) from attempts b where b.request_id = asked.id)
    )
    select cancel_requested_at, is_new from asked`);
  return row ?? null;
}

export function waitMany(db: Connection, moves: MoveTo<'wait'>[], isRepeat = false): Promise<Ids> {
  const rows = moves.map((move) => ({
    ...move,
    message: storableMessage(move.message),
    progress: move.progress === null ? null : storableJson(move.progress),
    missing: move.missing ?? false,
    stop: move.stop ?? null,
    next_upstream: move.next?.upstream,
    next_model: move.next?.model,
    frees_slot: move.frees_slot ?? false,
    waits: move.waits ?? false,
    is_left: move.left ?? false,
    unfetched_seconds: move.unfetched_seconds ?? null,
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
        stop: 'text',
        next_upstream: 'text',
        next_model: 'text',
        frees_slot: 'bool',
        waits: 'bool',
        is_left: 'bool',
        unfetched_seconds: 'float8',
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
        stop = coalesce(d.stop, a.stop),
        missing = case when d.missing then least(a.missing + 1, 100) else 0 end,
        unfetched_at = coalesce(a.unfetched_at, now() - d.unfetched_seconds * interval '1 s')
      from d join moved using (id)
      where a.request_id = d.id and a.attempt = d.started_in
        and (d.outcome is not null or d.message is not null or d.progress is not null
          or d.stop is not null or d.missing or a.missing > 0 or a.called_back)
    )
    select id from moved`);
}

/** Hands claims back, due at once. Frees the slots of queued requests. */
export function requeueMany(db: Connection, moves: MoveTo<'requeue'>[]): Promise<Ids> {
  return db.run<{ id: string }>(sql`
    update requests r set wake_at = now(), leased = false,
      slot = r.slot and r.status <> 'IN_QUEUE'
    from ${rowsOf(moves, { id: 'uuid', attempt: 'int' })} as d
    where r.id = d.id
      and r.attempt = d.attempt -- guard: own-attempt-requeues
      and r.wake_at is not null returning r.id`);
}

export function endNotifyMany(db: Connection, moves: MoveTo<'notified'>[]): Promise<Ids> {
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

/**
 * Outputs of a completed job are served no longer, and due to be deleted. An output without files
 * is deleted now.
 */
export async function endOutputs(db: Connection, ids: string[]): Promise<void> {
  await db.run(sql`
    with words as (
      update request_results s set output = null
      where request_id = any(${ids}::uuid[]) and s.output is not null
        and not exists (select from outputs o where o.request_id = s.request_id)
    )
    update requests set expires_at = completed_at,
      wake_at = case when leased then wake_at else least(wake_at, now()) end
    where id = any(${ids}::uuid[]) and status = 'COMPLETED' and expires_at > completed_at`);
}

/** Notes that the bytes of a request's outputs are deleted. */
export function endExpireMany(db: Connection, moves: MoveTo<'expired'>[]): Promise<Ids> {
  return db.run<{ id: string }>(sql`
    update requests r set expires_at = null, wake_at = null, leased = false
    from ${rowsOf(moves, { id: 'uuid', attempt: 'int' })} as d
    where r.id = d.id
      and r.attempt = d.attempt -- guard: own-attempt-clears
    returning r.id`);
}

/**
 * Notes that nothing is left to do. The request is due once more when its outputs expire, if it has
 * any.
 */
export function endIdleMany(db: Connection, moves: MoveTo<'idle'>[]): Promise<Ids> {
  return db.run<{ id: string }>(sql`
    update requests r set wake_at = r.expires_at, leased = false
    from ${rowsOf(moves, { id: 'uuid', attempt: 'int' })} as d
    where r.id = d.id
      and r.attempt = d.attempt -- guard: own-attempt-rests
      and r.completed_at is not null returning r.id`);
}

/** The parts of a claimed request that a worker needs. */
const claimedRequestColumns = columns('r', {
  id: of<string>(),
  account_id: of<string>(),
  key_id: of<string>(),
  model_id: of<string>(),
  kind: of<Kind>(),
  upstream: of<string>(),
  status: of<Status>(),
  attempt: of<number>(),
  quoted_usd_micro: of<bigint>(),
  webhook_state: of<'pending' | 'delivered' | 'failed' | null>(),
  past_deadline: of<boolean>('coalesce(r.deadline_at <= now(), false)'),
  outputs_due: of<boolean>('coalesce(r.expires_at <= now(), false)'),
  age_seconds: of<number>(
    'extract(epoch from now() - coalesce(r.started_at, r.created_at))::float8',
  ),
  /** Its caller asked to stop it while it ran, and the rule for its charge. */
  cancel_asked: of<boolean>('r.cancel_requested_at is not null'),
  on_cancel: of<CancelRule | null>(),
  input: of<Record<string, unknown>>('i.input'),
  quote: of<QuoteJson>('i.quote'),
  webhook_url: of<string | null>('i.webhook_url'),
  /** The place in a trace from which its steps go on. */
  traceparent: of<string | null>('i.traceparent'),
  idempotent: of<boolean>('i.idempotency_key is not null'),
  /** True: the request has a slot at its upstream. */
  slot: of<boolean>(),
  /** The upstream's own name of the model; null: the first name that the catalog row lists. */
  upstream_model: of<string | null>(),
  started_in: of<number | null>('a.attempt'),
  started_upstream: of<string | null>('a.upstream'),
  outcome: of<AttemptOutcome>('a.outcome'),
  handle: of<Record<string, unknown> | null>('a.handle'),
  /** The upstream's newest message; callers do not see it. */
  said: of<string | null>('a.message'),
  /** Whether its upstream is asked to stop the job. */
  stop: of<'asked' | 'taken' | null>('a.stop'),
  /** Polls in succession at which its upstream did not know the job. */
  missing: of<number>('coalesce(a.missing, 0)'),
  /** The number of starts, and the age of the newest start. */
  starts: of<number>('coalesce(a.starts, 0)'),
  /**
   * True: the newest start was left (see `left-starts.ts`). `left_routes`: the routes of all left
   * starts.
   */
  left: of<boolean>('a.left_at is not null'),
  left_routes: of<Route[] | null>('a.left_routes'),
  /** The name of the key that the start used, if its upstream has several. */
  started_key: of<string | null>('a.key'),
  /** Keys that the upstream refused at starts of this request within the last minute. */
  refused_keys: of<string[] | null>('a.refused_keys'),
  start_age_seconds: of<number | null>('extract(epoch from now() - a.created_at)::float8'),
  /** Since the upstream accepted the newest start. */
  accepted_age_seconds: of<number | null>(
    'extract(epoch from now() - coalesce(a.answered_at, a.created_at))::float8',
  ),
  /** Since when its outputs have been tried in vain; null if they have not. */
  unfetched_seconds: of<number | null>('extract(epoch from now() - a.unfetched_at)::float8'),
  /** True: an operator stopped the model, so no new start is made. */
  stopped: of<boolean>('r.model_id in (select model_id from stopped_models)'),
  /** Upstreams at which an operator lets nothing new start, or which may not be called at all. */
  closed: of<Record<string, 'draining' | 'off'>>(
    "coalesce((select json_object_agg(name, state) from upstream_controls where state <> 'on'), '{}')",
  ),
});
export type ClaimedRequest = RowOf<typeof claimedRequestColumns>;

/** After this time a key that was refused at a start is tried again. */
const refusedKeySeconds = 60;

/** Loads all that a worker needs of its claims, in one statement. */
export function loadClaimed(
  db: Connection,
  claims: { id: string; attempt: number }[],
): Promise<ClaimedRequest[]> {
  return db.run(sql`
    select ${claimedRequestColumns}
    from ${rowsOf(claims, { id: 'uuid', attempt: 'int' })} as d
    join requests r on r.id = d.id and r.attempt = d.attempt
    join request_inputs i on i.request_id = r.id
    left join lateral (
      select attempt, upstream, key, outcome, handle, message, missing, stop, created_at,
        answered_at, left_at, unfetched_at,
        (count(*) over ())::int as starts,
        array_agg(key) filter (where upstream = r.upstream and key is not null
          and outcome = 'not_accepted'
          and created_at > now() - ${refusedKeySeconds} * interval '1 s') over () as refused_keys,
        json_agg(json_build_object('upstream', upstream, 'model', upstream_model))
          filter (where left_at is not null) over () as left_routes
      from attempts where request_id = r.id order by attempt desc limit 1
    ) a on true`);
}

/** An upstream's message, cut and cleaned so that the database can store it. */
function storableMessage(message: string | null): string | null {
  return message === null ? null : storableText(message.slice(0, 2000));
}
