import { modelPause, upstreamPause, withReply, type BusyReply } from '../../core/request/busy.ts';
import { storableText } from '../../lib/json.ts';
import {
  rowsOf,
  sql,
  type Connection,
  type Database,
  type Transaction,
} from '../../lib/sql/sql.ts';

/**
 * Claims: which requests a worker takes next. Claiming one moves its `wake_at` forward, which is
 * the lease.
 */

export interface Claim {
  id: string;
  attempt: number;
}

export interface UpstreamQueue {
  upstream: string;
  /** The upstream's own names of models whose requests are left waiting. */
  paused_models?: readonly string[];
  /** Ids of models whose requests are left waiting. */
  stopped_models?: readonly string[];
  /** Jobs that may run there at the same time, over all processes. */
  concurrency: number;
}

export interface WaitingUpstream {
  upstream: string;
  /** How long one of its requests has waited, the first in order of account. */
  oldest_seconds: number;
  /** The upstream's own names of models that take nothing now. */
  paused_models: string[];
  /** Ids of models that an operator stopped. */
  stopped_models: string[];
}

/** Upstreams with waiting requests that may be called now. */
export function waitingUpstreams(db: Connection): Promise<WaitingUpstream[]> {
  return db.run<WaitingUpstream>(sql`
    with recursive w(upstream, created_at) as (
      (select upstream, created_at from requests where not slot and (status = 'IN_QUEUE' or waits)
        order by upstream, account_id, id limit 1)
      union all
      select n.upstream, n.created_at from w cross join lateral (
        select r.upstream, r.created_at from requests r
        where not r.slot and (r.status = 'IN_QUEUE' or r.waits) and r.upstream > w.upstream
        order by r.upstream, r.account_id, r.id limit 1) n
    )
    select w.upstream, extract(epoch from now() - w.created_at)::float8 as oldest_seconds,
      array(select m.model from upstreams m where m.name = w.upstream and m.model <> ''
        and m.paused_until > now()) as paused_models,
      array(select model_id from stopped_models) as stopped_models
    from w left join upstreams u on u.name = w.upstream and u.model = ''
    where coalesce(u.paused_until <= now(), true)`);
}

/**
 * Claims requests that wait for one upstream, as many as its free slots and `limit` allow: queued
 * ones, and those that were tried before and wait for a slot again, in one line. Turns go
 * round the accounts that have work, beginning after the one served last; within an account the
 * oldest comes first. While several accounts wait, none of them gets more than half of the slots,
 * rounded up; so at most one is at its half while a slot is free, and one account more is looked
 * at than there are slots.
 */
export async function claimQueued(
  db: Database,
  lane: UpstreamQueue,
  limit: number,
  leaseSeconds: number,
): Promise<Claim[]> {
  const { paused_models: paused = [], stopped_models: stopped = [] } = lane;
  return db.tx(async (tx) => {
    lockTurn(tx, lane.upstream);
    return tx.run<Claim>(sql`
      with recursive held as (
        select account_id, count(*)::int as slots from requests
        where upstream = ${lane.upstream} and slot group by account_id
      ), room as (
        select least(${limit}::int, greatest(${lane.concurrency}::int -
          coalesce(sum(slots), 0), -- guard: upstream-slots (off: 0)
          0)::int) as free from held
      ), turn as (
        select cursor_account from upstreams where name = ${lane.upstream} and model = ''
      ), after(account_id, n) as (
        (select r.account_id, 1 from requests r where not r.slot
          and (r.status = 'IN_QUEUE' or r.waits) and r.upstream = ${lane.upstream}
          and coalesce(r.upstream_model, '') <> all(${paused}::text[])
          and r.account_id > (select cursor_account from turn)
          and r.model_id <> all(${stopped}::text[]) order by r.account_id limit 1)
        union all select (select r.account_id from requests r where not r.slot
          and (r.status = 'IN_QUEUE' or r.waits) and r.upstream = ${lane.upstream}
          and coalesce(r.upstream_model, '') <> all(${paused}::text[])
          and r.model_id <> all(${stopped}::text[]) and r.account_id > a.account_id
          order by r.account_id limit 1), a.n + 1
        from after a where a.account_id is not null and a.n <= (select free from room)
      ), before(account_id, n) as (
        (select r.account_id, 1 from requests r where not r.slot
          and (r.status = 'IN_QUEUE' or r.waits) and r.upstream = ${lane.upstream}
          and coalesce(r.upstream_model, '') <> all(${paused}::text[])
          and r.account_id <= (select cursor_account from turn)
          and r.model_id <> all(${stopped}::text[]) order by r.account_id limit 1)
        union all select (select r.account_id from requests r where not r.slot
          and (r.status = 'IN_QUEUE' or r.waits) and r.upstream = ${lane.upstream}
          and coalesce(r.upstream_model, '') <> all(${paused}::text[])
          and r.model_id <> all(${stopped}::text[]) and r.account_id > b.account_id
          and r.account_id <= (select cursor_account from turn) order by r.account_id limit 1),
            b.n + 1
        from before b where b.account_id is not null and b.n <= (select free from room)
      ), accounts_in_turn as (
        select account_id, 0 as lap from after where account_id is not null
        union all select account_id, 1 from before where account_id is not null
      ), candidate as (
        select t.account_id, t.lap, q.id, q.round
        from accounts_in_turn t cross join lateral (
          select r.id, row_number() over (order by r.id) as round from requests r
          where not r.slot and (r.status = 'IN_QUEUE' or r.waits)
            and r.upstream = ${lane.upstream} and r.account_id = t.account_id
            and coalesce(r.upstream_model, '') <> all(${paused}::text[])
            and r.model_id <> all(${stopped}::text[]) order by r.id
          limit least(
            greatest(1, 2 * (select free from room) / (select count(*) from accounts_in_turn)),
            case when (select count(*) from accounts_in_turn) > 1 then greatest(0,
              (${lane.concurrency}::int + 1) / 2 - coalesce((select slots from held
                where held.account_id = t.account_id), 0)) end)
        ) q
      ), pick as (
        select id, account_id, row_number() over (order by
          round, lap, account_id -- guard: turns-go-round (off: id)
        ) as n from candidate order by n limit (select free from room)
      ), moved as (
        update upstreams set cursor_account = (select account_id from pick order by n desc limit 1)
        where name = ${lane.upstream} and model = '' and exists (select from pick)
      )
      update requests r set slot = true, waits = false, attempt = r.attempt + 1, leased = true,
        wake_at = now() + ${leaseSeconds} * interval '1 s'
      from pick where r.id = pick.id and not r.slot and (r.status = 'IN_QUEUE' or r.waits)
      returning r.id, r.attempt`);
  });
}

/** Claims requests that are due: to poll, to recover, to notify, to delete. */
export function claimDue(db: Connection, limit: number, leaseSeconds: number): Promise<Claim[]> {
  return db.run<Claim>(sql`
    with due as (
      select id from requests
      where wake_at <= now() and wake_at is not null and (status <> 'IN_QUEUE' or slot)
      order by wake_at limit ${limit}
      for update skip locked -- guard: due-goes-to-one
    )
    update requests r set leased = true,
      attempt = r.attempt + 1, -- guard: claim-is-new-attempt
      waits = false, -- guard: claimed-waits-no-more
      wake_at = now() + ${leaseSeconds} * interval '1 s'
    from due where r.id = due.id returning r.id, r.attempt`);
}

/**
 * Claims running requests by their ids, even before they are due, except those that another worker
 * has; `orphans` also from their worker.
 */
export function claimHeld(
  db: Connection,
  ids: string[],
  orphans: string[],
  leaseSeconds: number,
): Promise<Claim[]> {
  return db.run<Claim>(sql`
    with held as (
      select id from requests
      where id = any(${ids}::uuid[]) and status = 'IN_PROGRESS'
        and (not leased or wake_at <= now() or id = any(${orphans}::uuid[]))
      order by id for update skip locked
    )
    update requests r set attempt = r.attempt + 1, leased = true, waits = false,
      wake_at = now() + ${leaseSeconds} * interval '1 s'
    from held where r.id = held.id returning r.id, r.attempt`);
}

/** Extends leases that still hold and returns them. */
export function renewMany(
  db: Connection,
  claims: Claim[],
  leaseSeconds: number,
): Promise<{ id: string }[]> {
  return db.run<{ id: string }>(sql`
    update requests r set wake_at = now() + ${leaseSeconds} * interval '1 s'
    from ${rowsOf(claims, { id: 'uuid', attempt: 'int' })} as d
    where r.id = d.id and r.attempt = d.attempt and r.leased and r.wake_at > now()
    returning r.id`);
}

/**
 * Takes a slot at an upstream for a claimed request that has none there; false if all are taken.
 */
export async function takeSlot(
  db: Database,
  { id, attempt }: Claim,
  lane: UpstreamQueue & { model: string },
): Promise<boolean> {
  return db.tx(async (tx) => {
    lockTurn(tx, lane.upstream);
    const taken = await tx.run(sql`
      update requests set slot = true, upstream = ${lane.upstream}, upstream_model = ${lane.model}
      where id = ${id} and attempt = ${attempt} and leased and status in ('IN_QUEUE', 'IN_PROGRESS')
        and
          ${lane.concurrency}::int -- guard: next-upstream-slots (off: 1000000)
          > (select count(*) from requests
          where upstream = ${lane.upstream} and slot and id <> ${id})
      returning id`);
    return taken.length > 0;
  });
}

/** The row of the upstream serialises claims: its holder counts slots in a later snapshot. */
function lockTurn(tx: Transaction, upstream: string): void {
  tx.send(sql`insert into upstreams (name) values (${upstream}) on conflict do nothing`);
  tx.send(sql`
    select name from upstreams where name = ${upstream} and model = ''
    for update -- guard: slots-counted-by-one`);
}

/** Paused upstreams with waiting requests, and models that are paused alone. */
export function pausedQueues(db: Connection): Promise<{ upstream: string; model: string }[]> {
  return db.run<{ upstream: string; model: string }>(sql`
    select name as upstream, model from upstreams u
    where paused_until > now() and exists (
      select from requests where status = 'IN_QUEUE' and not slot and upstream = u.name
        and (u.model = '' or upstream_model = u.model))
    order by name, model`);
}

/**
 * Which of these are paused now, and for how many seconds: an upstream by its name, a model as
 * `upstream model`.
 */
export async function pausesOf(
  db: Connection,
  routes: readonly { upstream: string; model: string }[],
): Promise<Map<string, number>> {
  const rows = await db.run<{ name: string; model: string; seconds: number }>(sql`
    select name, model, extract(epoch from paused_until - now())::float8 as seconds from upstreams
    where paused_until > now() and name = any(${routes.map((r) => r.upstream)}::text[])
      and (model = '' or model = any(${routes.map((r) => r.model)}::text[]))`);
  return new Map(
    rows.map(({ name, model, seconds }) => [model === '' ? name : `${name} ${model}`, seconds]),
  );
}

/**
 * Moves queued requests of these models to another route; `to.model` null: the first that their row
 * names there. Returns how many.
 */
export async function moveQueued(
  db: Connection,
  from: { upstream: string; model: string },
  to: { upstream: string; model: string | null },
  modelIds: string[],
  limit: number,
): Promise<number> {
  const rows = await db.run(sql`
    update requests set upstream = ${to.upstream}, upstream_model = ${to.model}
    where id = any(array(
      select id from requests
      where status = 'IN_QUEUE' and not slot and upstream = ${from.upstream}
        and (${from.model} = '' or upstream_model = ${from.model})
        and model_id = any(${modelIds}::text[])
      order by upstream, account_id, id limit ${limit} for update skip locked))
    returning id`);
  return rows.length;
}

/** Hands claims back for about so many seconds, spread, so that they are not all due at once. */
export async function putOff(db: Connection, claims: Claim[], seconds: number): Promise<void> {
  await db.run(sql`
    update requests r set leased = false,
      wake_at = now() + ${seconds} * (0.5 + random()) * interval '1 s'
    from ${rowsOf(claims, { id: 'uuid', attempt: 'int' })} as d
    where r.id = d.id and r.attempt = d.attempt`);
}

/** Milliseconds until the next request is due, at least 0; null if there is none. */
export async function nextDueMs(db: Connection): Promise<number | null> {
  const [row] = await db.run<{ ms: number | null }>(sql`
    select greatest(0, extract(epoch from min(wake_at) - now()) * 1000)::float8 as ms from requests
    where wake_at is not null and (status <> 'IN_QUEUE' or slot)`);
  return row?.ms ?? null;
}

export interface QueueState {
  upstream: string;
  /** Ids of the oldest waiting requests, oldest first. */
  ids: string[];
  oldest_seconds: number;
  paused_seconds: number;
  /** Its models that are paused alone, with seconds. */
  paused_models: Record<string, number>;
  /** Ids of models that an operator stopped, whatever their upstreams. */
  stopped_models: string[];
}

/**
 * Waiting requests of each of these upstreams, in their order, and how long the oldest has waited.
 * Of a queue longer than `limit` it sees the first accounts only: enough to know that it is long
 * and about how old.
 */
export function queueStates(
  db: Connection,
  upstreams: string[],
  limit: number,
): Promise<QueueState[]> {
  return db.run<QueueState>(sql`
    select u.name as upstream, coalesce(q.ids, '{}') as ids, coalesce(q.oldest,
      0)::float8 as oldest_seconds,
      greatest(0, coalesce(extract(epoch from s.paused_until - now()), 0))::float8
        as paused_seconds,
      coalesce((select json_object_agg(m.model, extract(epoch from m.paused_until - now())::float8)
        from upstreams m where m.name = u.name and m.model <> '' and m.paused_until > now()),
        '{}') as paused_models,
      array(select model_id from stopped_models) as stopped_models
    from unnest(${upstreams}::text[]) with ordinality as u (name, n)
    left join upstreams s on s.name = u.name and s.model = ''
    left join lateral (
      select array_agg(id order by id) as ids, extract(epoch from now() - min(created_at)) as oldest
      from (select id, created_at from requests
        where status = 'IN_QUEUE' and not slot and upstream = u.name
        order by upstream, account_id, id limit ${limit}) w
    ) q on true
    order by u.n`);
}

/**
 * How long the oldest request of this account has waited for this upstream, stopped models
 * excluded; 0: none waits.
 */
export async function waitedSeconds(
  db: Connection,
  upstream: string,
  accountId: string,
): Promise<number> {
  const [row] = await db.run<{ seconds: number }>(sql`
    select extract(epoch from now() - created_at)::float8 as seconds from requests
    where status = 'IN_QUEUE' and not slot and upstream = ${upstream}
      and account_id = ${accountId}
      and model_id not in (select model_id from stopped_models)
    order by upstream, account_id, id limit 1`);
  return row?.seconds ?? 0;
}

/** State of an upstream for the operator. */
export interface UpstreamState {
  name: string;
  /** Waiting requests, counted up to `waitingMax`. */
  waiting: number;
  oldest_seconds: number;
  /** Slots in use, over all processes. */
  in_use: number;
  paused_seconds: number;
  failures: number;
  last_error: string | null;
  last_error_at: Date | null;
  /** What kind of failure; null: a start has succeeded since, or there was none. */
  last_why: string | null;
}

/** Counting more would cost a scrape what the queue needs. */
export const waitingMax = 10_000;
const upstreamsMax = 100;

/** The given upstreams and all that were ever called or have waiting requests. */
export function upstreamStates(db: Connection, known: string[]): Promise<UpstreamState[]> {
  return db.run<UpstreamState>(sql`
    with recursive w(upstream) as (
      (select upstream from requests where status = 'IN_QUEUE' and not slot
        order by upstream limit 1)
      union all
      select (select r.upstream from requests r where r.status = 'IN_QUEUE' and not r.slot
        and r.upstream > w.upstream order by r.upstream limit 1) from w where w.upstream is not null
    ), names as (
      select upstream as name from w where upstream is not null
      union select unnest(${known}::text[])
      union select name from upstreams where model = '' and position('#' in name) = 0
      order by 1 limit ${upstreamsMax}
    )
    select n.name, q.waiting, coalesce(q.oldest, 0)::float8 as oldest_seconds, p.in_use,
      greatest(0, coalesce(extract(epoch from u.paused_until - now()), 0))::float8
        as paused_seconds,
      coalesce(u.failures, 0) as failures, u.last_error, u.last_error_at, u.last_why
    from names n left join upstreams u on u.name = n.name and u.model = ''
    cross join lateral (
      select count(*)::int as waiting, extract(epoch from now() - min(created_at)) as oldest
      from (select created_at from requests
        where status = 'IN_QUEUE' and not slot and upstream = n.name
        order by upstream, account_id, id limit ${waitingMax}) w
    ) q
    cross join lateral (
      select count(*)::int as in_use from requests where upstream = n.name and slot
    ) p order by n.name`);
}

/** One of several keys of an upstream. */
export interface KeyState {
  upstream: string;
  key: string;
  /** Running jobs that were started with it, over all processes. */
  in_use: number;
  paused_seconds: number;
  failures: number;
  last_error: string | null;
  last_error_at: Date | null;
  last_why: string | null;
}

/** A key to report on: `name` is the name of its pauses. */
export interface NamedKey {
  upstream: string;
  key: string;
  name: string;
}

/** In the given order. */
export function keyStates(db: Connection, keys: readonly NamedKey[]): Promise<KeyState[]> {
  const numbered = keys.map((key, n) => ({ ...key, n }));
  return db.run<KeyState>(sql`
    with running as (
      select upstream, key, count(*)::int as jobs from (
        select upstream, (select key from attempts where request_id = r.id
          order by attempt desc limit 1) as key
        from requests r
        where slot and status = 'IN_PROGRESS'
          and upstream = any(${keys.map((k) => k.upstream)}::text[])) j
      group by upstream, key
    )
    select k.upstream, k.key, coalesce(j.jobs, 0) as in_use,
      greatest(0, coalesce(extract(epoch from u.paused_until - now()), 0))::float8
        as paused_seconds,
      coalesce(u.failures, 0) as failures, u.last_error, u.last_error_at, u.last_why
    from ${rowsOf(numbered, { upstream: 'text', key: 'text', name: 'text', n: 'int' })} as k
    left join upstreams u on u.name = k.name and u.model = ''
    left join running j on j.upstream = k.upstream and j.key = k.key
    order by k.n`);
}

/** A model that is paused alone. */
export interface PausedModel {
  upstream: string;
  /** The upstream's own name of it. */
  model: string;
  paused_seconds: number;
  failures: number;
  last_error: string | null;
  last_error_at: Date | null;
}

const pausedModelsMax = 1_000;

/** Paused models of these upstreams, in order of name. */
export function pausedModels(db: Connection, upstreams: string[]): Promise<PausedModel[]> {
  return db.run<PausedModel>(sql`
    select name as upstream, model, failures, last_error, last_error_at,
      extract(epoch from paused_until - now())::float8 as paused_seconds
    from upstreams where name = any(${upstreams}::text[]) and model <> '' and paused_until > now()
    order by name, model limit ${pausedModelsMax}`);
}

/** What a failed start has led to: the pause that begins or is longest. */
export interface PauseRecord {
  /** The paused model; empty: the whole upstream. */
  model: string;
  /** It was paused before this failure. */
  was_paused: boolean;
  paused_seconds: number;
  failures: number;
}

export interface Failure {
  account_id: string;
  message: string;
  why: string;
  /** The upstream's own name of the model. */
  model: string;
  /**
   * How long the upstream asks to be left alone, or how long a model that it does not have is
   * paused.
   */
  pause_seconds: number;
  /** False: the pause holds only once two accounts have failed. */
  pauses_at_once: boolean;
  /** For `busy`: the limit is that of our whole account there. */
  account_wide: boolean | undefined;
  /** No input can have caused it, so it also counts if one account alone has failed. */
  counts_alone: boolean;
  /** Failures in a row that pause the upstream, and the model. */
  threshold: number;
  model_threshold: number;
  failure_pause_seconds: number;
}

/** An older failure says nothing about now. */
const failureCountsSeconds = 600;

/**
 * Records a failed start. From `threshold` failures in a row on, or if the upstream asks for it,
 * the upstream is paused, and a model of it by itself. Failures from one account alone never pause
 * anything for others (its inputs may be the cause), unless `counts_alone` is set. Busy upstreams
 * are paused as `busy.ts` says. Returns the newly paused entry, or else the one paused longest.
 */
export function noteFailure(
  db: Database,
  upstream: string,
  failure: Failure,
): Promise<PauseRecord> {
  const { why, model, pause_seconds } = failure;
  // A missing model says nothing about the others.
  if (why === 'model')
    return writeFailure(db, upstream, failure, [{ model, pause: pause_seconds, busy: null }]);
  if (why !== 'busy') {
    const whole = { model: '', pause: pause_seconds, busy: null };
    return writeFailure(db, upstream, failure, [whole, { model, pause: 0, busy: null }]);
  }
  return db.tx(async (tx) => {
    tx.send(sql`
      insert into upstreams (name, model) select ${upstream}, unnest(${['', model]}::text[])
      order by 2 on conflict do nothing`);
    const rows = await tx.run<{ busy: BusyReply[] | null; at: number }>(sql`
      select busy, extract(epoch from now())::float8 as at from upstreams
      where name = ${upstream} and model in ('', ${model}) order by model for update`);
    const { account_id, account_wide = false } = failure;
    const [whole, own] = rows.map(({ busy, at }) =>
      withReply(busy ?? [], { model, account_id, at }),
    ) as [BusyReply[], BusyReply[]];
    return writeFailure(tx, upstream, failure, [
      { model: '', pause: upstreamPause(whole, pause_seconds, account_wide), busy: whole },
      { model, pause: modelPause(own, pause_seconds), busy: own },
    ]);
  });
}

/** What a failure changes of an upstream, or of one model of it. */
interface Change {
  model: string;
  pause: number;
  busy: BusyReply[] | null;
}

async function writeFailure(
  db: Connection,
  upstream: string,
  failure: Failure,
  changes: Change[],
): Promise<PauseRecord> {
  const changed = changes.map(({ model, pause, busy }) => ({
    model,
    pause,
    threshold: model === '' ? failure.threshold : failure.model_threshold,
    busy: busy === null ? null : JSON.stringify(busy),
  }));
  const rows = await db.run<PauseRecord>(sql`
    with d as (
      select *, now() - ${failureCountsSeconds} * interval '1 s' as since
      from ${rowsOf(changed, { model: 'text', pause: 'float8', threshold: 'int', busy: 'json' })} d
    ), before as (
      select model, paused_until > now() as was_paused from upstreams where name = ${upstream}
    ), noted as (
      insert into upstreams as u
        (name, model, failures, failed_at, failed_account, last_error, last_error_at, last_why,
          busy, paused_until)
      select ${upstream}, model, 1, now(), ${failure.account_id}::uuid,
        ${storableText(failure.message.slice(0, 2000))}, now(), ${failure.why}::text, busy,
        case when ${failure.pauses_at_once} then now() + nullif(pause, 0) * interval '1 s' end
      from d order by model
      on conflict (name, model) do update set
        failures = 1 + case when u.failed_at > (select max(since) from d)
          then u.failures else 0 end,
        failed_at = now(), failed_account = excluded.failed_account,
        other_failed_at = case when u.failed_account <> excluded.failed_account then u.failed_at
          else u.other_failed_at end,
        last_error = excluded.last_error, last_error_at = excluded.last_error_at,
        last_why = excluded.last_why, busy = coalesce(excluded.busy, u.busy),
        paused_until = greatest(u.paused_until, excluded.paused_until,
          case when
            ${failure.counts_alone} -- guard: old-failure-forgotten (off: true)
            or (select max(since) from d) <
            case when u.failed_account <> excluded.failed_account then u.failed_at
              else u.other_failed_at end
          then greatest(
            now() + (select nullif(pause, 0) from d where d.model = u.model) * interval '1 s',
            case when (select threshold from d where d.model = u.model)
                <= 1 + case when u.failed_at > (select max(since) from d) then u.failures else 0 end
              then now() + ${failure.failure_pause_seconds}::float8 * interval '1 s' end) end)
      returning model, failures, paused_until
    )
    select n.model, coalesce(b.was_paused, false) as was_paused, n.failures,
      greatest(0, extract(epoch from n.paused_until - now()))::float8 as paused_seconds
    from noted n left join before b using (model)
    order by n.paused_until > now() and not coalesce(b.was_paused, false) desc nulls last,
      n.paused_until desc nulls last, n.model`);
  return rows[0]!;
}

/**
 * While every key of an upstream is paused, as a whole or for this model, the upstream is paused as
 * well, until the first of those pauses ends. `keys`: names of their pauses. Returns what is
 * paused: the model, or the whole upstream if that is empty.
 */
export function pauseWithKeys(
  db: Connection,
  upstream: string,
  model: string,
  keys: readonly string[],
): Promise<PauseRecord[]> {
  return db.run<PauseRecord>(sql`
    with d as (
      select m.model, min(p.until) as until
      from unnest(${['', model]}::text[]) as m (model)
      cross join unnest(${keys}::text[]) as k (name)
      left join lateral (
        select max(paused_until) as until from upstreams
        where name = k.name and model in ('', m.model) and paused_until > now()
      ) p on true
      group by m.model having count(p.until) = count(*)
    ), before as (
      select model, paused_until > now() as was_paused from upstreams where name = ${upstream}
    ), noted as (
      insert into upstreams as u (name, model, failed_at, paused_until)
      select ${upstream}, model, now(), until from d
      where model = '' or until is distinct from (select until from d where model = '')
      order by model
      on conflict (name, model) do update set failed_at = now(),
        paused_until = greatest(u.paused_until, excluded.paused_until)
      returning model, failures, paused_until
    )
    select n.model, coalesce(b.was_paused, false) as was_paused, n.failures,
      extract(epoch from n.paused_until - now())::float8 as paused_seconds
    from noted n left join before b using (model) order by n.model`);
}

/** Records the refusal of a poll as the newest problem; it is not a failed start. */
export async function noteRefusedPoll(
  db: Connection,
  upstream: string,
  { message, why }: { message: string; why: string },
): Promise<void> {
  await db.run(sql`
    insert into upstreams (name, last_error, last_error_at, last_why)
    values (${upstream}, ${storableText(message.slice(0, 2000))}, now(), ${why})
    on conflict (name, model) do update set last_error = excluded.last_error,
      last_error_at = excluded.last_error_at, last_why = excluded.last_why`);
}

/**
 * A start succeeded that was made so many seconds ago: the upstream and this model of it are
 * healthy again. A pause that began since then goes on, because this start says nothing about it.
 * Returns what was paused and is healthy now.
 */
export function noteSuccess(
  db: Connection,
  upstream: string,
  model: string,
  seconds = 0,
): Promise<{ model: string }[]> {
  return db.run<{ model: string }>(sql`
    with d as (
      select model, paused_until is not null as was_paused,
        coalesce(
          failed_at <= now() - ${seconds}::float8 * interval '1 s', -- guard: pause-stays
          true) as is_over
      from upstreams where name = ${upstream} and model in ('', ${model})
        and (failures > 0 or paused_until is not null or last_why is not null)
      order by model for update
    ), well as (
      update upstreams u set failures = 0, failed_account = null, other_failed_at = null,
        busy = case when not d.is_over then u.busy end,
        last_why = case when not d.is_over then u.last_why end,
        paused_until = case when not d.is_over then u.paused_until end
      from d where u.name = ${upstream} and u.model = d.model
        and (u.failures > 0 or d.is_over)
    )
    select model from d where was_paused and is_over order by model`);
}

/** The upstream takes our key: earlier refusals of it no longer hold. */
export async function noteKeyTaken(db: Connection, upstream: string): Promise<void> {
  await db.run(sql`
    update upstreams set last_why = null, failures = 0, paused_until = null
    where name = ${upstream} and last_why = 'credential'`);
}

/**
 * Ends the pauses of an upstream and its keys, with all its models or of one model. True: it was
 * paused.
 */
export async function endPause(
  db: Connection,
  upstream: string,
  model: string | null,
): Promise<boolean> {
  const rows = await db.run<{ was_paused: boolean }>(sql`
    with before as (
      select name, model, paused_until > now() as was_paused from upstreams
      where (name = ${upstream} or starts_with(name, ${`${upstream}#`}))
        and (${model}::text is null or model = ${model}) for update
    ), woken as (
      update upstreams u set failures = 0, failed_account = null, other_failed_at = null,
        busy = null, last_why = null, paused_until = null
      from before b where u.name = b.name and u.model = b.model
    )
    select coalesce(bool_or(was_paused), false) as was_paused from before`);
  return rows[0]!.was_paused;
}
