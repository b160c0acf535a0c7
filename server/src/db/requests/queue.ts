import { rowsOf } from '../../lib/sql/rows-of.ts';
import {
  sql,
  type Connection,
  type Database,
  type Fragment,
  type Transaction,
} from '../../lib/sql/sql.ts';

/** Claims of requests by workers. A claim moves `wake_at` forward, to the end of the lease. */

export interface Claim {
  id: string;
  attempt: number;
}

export interface UpstreamQueue {
  upstream: string;
  /** The upstream's own names of paused models; their requests stay in the queue. */
  paused_models?: readonly string[];
  /** Ids of stopped models; their requests stay in the queue. */
  stopped_models?: readonly string[];
  /** Maximum number of jobs that may run at the upstream at the same time, over all processes. */
  concurrency: number;
}

export interface WaitingUpstream {
  upstream: string;
  /** How long the first waiting request in order of account has waited; older ones may exist. */
  oldest_seconds: number;
  /** The upstream's own names of its paused models. */
  paused_models: string[];
  /** Ids of models that an operator stopped. */
  stopped_models: string[];
}

/** Upstreams with waiting requests that may be called now. */
export function listWaitingUpstreams(db: Connection): Promise<WaitingUpstream[]> {
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
    where coalesce(u.paused_until <= now(), true)
      and w.upstream not in (select name from upstream_controls where state <> 'on')`);
}

/**
 * Claims requests that wait for one upstream, as many as its free slots and `limit` allow. Queued
 * requests and requests that wait for another try are treated alike. Accounts with waiting requests
 * take turns, beginning after the account served last. Within an account the oldest request comes
 * first. While several accounts wait, no account gets more than half of the slots, rounded up. So
 * while a slot is free, at most one account has its half, and the query needs to read only one more
 * account than there are free slots.
 */
export async function claimQueued(
  db: Database,
  queue: UpstreamQueue,
  limit: number,
  leaseSeconds: number,
): Promise<Claim[]> {
  const { upstream, concurrency, paused_models: paused = [], stopped_models: stopped = [] } = queue;
  const waiting: Fragment = (bind) => `
    not r.slot
    and (r.status = 'IN_QUEUE' or r.waits)
    and r.upstream = ${bind(upstream)}
    and coalesce(r.upstream_model, '') <> all(${bind(paused)}::text[])
    and r.model_id <> all(${bind(stopped)}::text[])`;
  return db.tx(async (tx) => {
    lockTurn(tx, upstream);
    return tx.run<Claim>(sql`
      with recursive held as (
        select account_id, count(*)::int as slots
        from requests where upstream = ${upstream} and slot
        group by account_id
      ), room as (
        select least(${limit}::int, greatest(${concurrency}::int -
          coalesce(sum(slots), 0), -- guard: upstream-slots (off: 0)
          0)::int) as free
        from held
      ), served as (
        select cursor_account from upstreams where name = ${upstream} and model = ''
      ),
      -- First the accounts after the account served last, then the accounts from the first on.
      ${accountsWaiting('after', waiting, 'r.account_id > (select cursor_account from served)')},
      ${accountsWaiting('before', waiting, 'r.account_id <= (select cursor_account from served)')},
      accounts_waiting as (
        select account_id, 0 as lap from after where account_id is not null
        union all
        select account_id, 1 from before where account_id is not null
      ),
      -- The oldest requests of each account, for at most half of the slots while others wait too.
      candidate as (
        select t.account_id, t.lap, q.id, q.round
        from accounts_waiting t cross join lateral (
          select r.id, row_number() over (order by r.id) as round from requests r
          where ${waiting} and r.account_id = t.account_id
          order by r.id
          limit least(
            greatest(1, 2 * (select free from room) / (select count(*) from accounts_waiting)),
            case when (select count(*) from accounts_waiting) > 1 then greatest(0,
              (${concurrency}::int + 1) / 2 - coalesce((select slots from held
                where held.account_id = t.account_id), 0)) end)
        ) q
      ),
      -- The first request of each account, followed by the second of each account …
      pick as (
        select id, account_id, row_number() over (order by
          round, lap, account_id -- guard: turns-go-round (off: id)
        ) as n from candidate order by n limit (select free from room)
      ), moved as (
        update upstreams set cursor_account = (select account_id from pick order by n desc limit 1)
        where name = ${upstream} and model = '' and exists (select from pick)
      )
      update requests r set
        slot = true,
        waits = false,
        attempt = r.attempt + 1,
        leased = true,
        wake_at = now() + ${leaseSeconds} * interval '1 s'
      from pick
      where r.id = pick.id and not r.slot and (r.status = 'IN_QUEUE' or r.waits)
      returning r.id, r.attempt`);
  });
}

/**
 * A recursive query of the accounts that wait, in order of their ids, at most one more than there
 * are free slots. One index lookup finds each account.
 */
function accountsWaiting(name: string, waiting: Fragment, within: string): Fragment {
  return (bind) => `${name}(account_id, n) as (
    (select r.account_id, 1 from requests r
      where ${waiting(bind)} and ${within}
      order by r.account_id limit 1)
    union all
    select (select r.account_id from requests r
      where ${waiting(bind)} and ${within} and r.account_id > last.account_id
      order by r.account_id limit 1), last.n + 1
    from ${name} last where last.account_id is not null and last.n <= (select free from room)
  )`;
}

/** Claims requests that are due for a poll, a recovery, a notification or a deletion of outputs. */
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
 * Claims running requests by their ids, even before they are due. Requests that another worker
 * holds are skipped, except `orphans`, which are taken from their worker.
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

/** Extends the given leases that are still held, and returns them. */
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
 * Moves a claimed request to an upstream and takes a slot there. Returns false if all slots are in
 * use, or if the claim was lost.
 */
export async function takeSlot(
  db: Database,
  { id, attempt }: Claim,
  queue: UpstreamQueue & { model: string },
): Promise<boolean> {
  return db.tx(async (tx) => {
    lockTurn(tx, queue.upstream);
    const taken = await tx.run(sql`
      update requests set slot = true, upstream = ${queue.upstream}, upstream_model = ${queue.model}
      where id = ${id} and attempt = ${attempt} and leased and status in ('IN_QUEUE', 'IN_PROGRESS')
        and
          ${queue.concurrency}::int -- guard: next-upstream-slots (off: 1000000)
          > (select count(*) from requests
          where upstream = ${queue.upstream} and slot and id <> ${id})
      returning id`);
    return taken.length > 0;
  });
}

/**
 * Locks the upstream's row, so that claims run one after the other: each claim counts the slots in
 * a snapshot that is taken after it got the lock.
 */
function lockTurn(tx: Transaction, upstream: string): void {
  tx.send(sql`insert into upstreams (name) values (${upstream}) on conflict do nothing`);
  tx.send(sql`
    select name from upstreams where name = ${upstream} and model = ''
    for update -- guard: slots-counted-by-one`);
}

/**
 * Paused upstreams (`model` is empty), also those that operators have closed, and paused models for
 * which queued requests wait.
 */
export function listPausedQueues(db: Connection): Promise<{ upstream: string; model: string }[]> {
  return db.run<{ upstream: string; model: string }>(sql`
    select name as upstream, model from (
      select name, model from upstreams where paused_until > now()
      union
      select name, '' from upstream_controls where state <> 'on') u
    where exists (
      select from requests where status = 'IN_QUEUE' and not slot and upstream = u.name
        and (u.model = '' or upstream_model = u.model))
    order by name, model`);
}

/**
 * A route that an operator has closed counts as paused for this long, from each reading on; its
 * callers are told to try again then.
 */
export const closedSeconds = 60;

interface Route {
  upstream: string;
  model: string;
}

/** Returns, for each route, the seconds until neither its upstream nor its model is paused. */
export async function readPauses(
  db: Connection,
  routes: readonly Route[],
): Promise<(route: Route) => number> {
  const rows = await db.run<{ name: string; model: string; seconds: number }>(sql`
    select name, model, extract(epoch from paused_until - now())::float8 as seconds from upstreams
    where paused_until > now() and name = any(${routes.map((r) => r.upstream)}::text[])
      and (model = '' or model = any(${routes.map((r) => r.model)}::text[]))
    union all
    select name, '', ${closedSeconds}::float8 from upstream_controls where state <> 'on'`);
  return ({ upstream, model }) => {
    const pauses = rows.filter((row) => row.name === upstream && ['', model].includes(row.model));
    return Math.max(0, ...pauses.map(({ seconds }) => seconds));
  };
}

/**
 * Moves queued requests of these models to another route. If `to.model` is null, the route is the
 * first that their catalog row lists for that upstream. Returns the number of moved requests.
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

/** Hands claims back, due in about `seconds`, spread so that not all are due at the same time. */
export async function putOff(db: Connection, claims: Claim[], seconds: number): Promise<void> {
  await db.run(sql`
    update requests r set leased = false,
      wake_at = now() + ${seconds} * (0.5 + random()) * interval '1 s'
    from ${rowsOf(claims, { id: 'uuid', attempt: 'int' })} as d
    where r.id = d.id and r.attempt = d.attempt`);
}

/** Milliseconds until the next request is due, at least 0; null if there is none. */
export async function readNextDueMs(db: Connection): Promise<number | null> {
  const [row] = await db.run<{ ms: number | null }>(sql`
    select greatest(0, extract(epoch from min(wake_at) - now()) * 1000)::float8 as ms from requests
    where wake_at is not null and (status <> 'IN_QUEUE' or slot)`);
  return row?.ms ?? null;
}

/** Work that no worker does. */
export interface LeftWork {
  /** How long ago the oldest due request was due; 0 if none is. */
  due_seconds: number;
  /** Running jobs that should have been given up an hour ago, and what is reserved for them. */
  late: number;
  reserved_usd_micro: bigint;
}

export async function readLeftWork(db: Connection): Promise<LeftWork> {
  const [row] = await db.run<LeftWork>(sql`
    select (select greatest(0, coalesce(extract(epoch from now() - min(wake_at)), 0))::float8
        from requests where wake_at is not null and (status <> 'IN_QUEUE' or slot)) as due_seconds,
      count(*)::int as late, coalesce(sum(quoted_usd_micro), 0)::bigint as reserved_usd_micro
    from requests
    where slot and status = 'IN_PROGRESS' and deadline_at < now() - interval '1 hour'`);
  return row!;
}

export interface QueueState {
  upstream: string;
  /** Ids of the oldest waiting requests, oldest first. */
  ids: string[];
  oldest_seconds: number;
  paused_seconds: number;
  /** True: an operator lets nothing new start there. */
  closed: boolean;
  /** Its models that are paused on their own, with the seconds left. */
  paused_models: Record<string, number>;
  /** The operator's notes on stopped models, by model id, at any upstream. */
  stopped_models: Record<string, string | null>;
}

/**
 * The waiting requests of each upstream, in the given order, and the age of the oldest request. If
 * more than `limit` requests wait, only the first accounts are read, which suffices to see that the
 * queue is long and about how old it is.
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
      u.name in (select name from upstream_controls where state <> 'on') as closed,
      coalesce((select json_object_agg(m.model, extract(epoch from m.paused_until - now())::float8)
        from upstreams m where m.name = u.name and m.model <> '' and m.paused_until > now()),
        '{}') as paused_models,
      coalesce((select json_object_agg(model_id, status_note) from stopped_models),
        '{}') as stopped_models
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
 * The seconds that the oldest request of this account has waited for this upstream, stopped models
 * excluded; 0 if no request waits.
 */
export async function readWaitedSeconds(
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
