import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';
import type { UpstreamRefusal } from '../../core/catalog/upstream-key.ts';

/** Use and failures of an upstream, or of one of its keys. */
interface HealthState {
  /** Slots in use, or running jobs that were started with the key, over all processes. */
  in_use: number;
  paused_seconds: number;
  failures: number;
  last_error: string | null;
  last_error_at: Date | null;
  /** The kind of the newest failure; null if there was none or a start has succeeded since. */
  last_why: UpstreamRefusal | null;
}

export interface UpstreamState extends HealthState {
  name: string;
  /** Waiting requests, counted up to `waitingMax`. */
  waiting: number;
  oldest_seconds: number;
}

/** Counting more would make each metrics scrape a burden on the database. */
export const waitingMax = 10_000;

const upstreamsMax = 100;

/** The given upstreams, and all that were ever called or have waiting requests. */
export function readUpstreamStates(db: Connection, known: string[]): Promise<UpstreamState[]> {
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
export interface KeyState extends HealthState {
  upstream: string;
  key: string;
}

/** A key to report on; its pauses are stored under `name`. */
export interface NamedKey {
  upstream: string;
  key: string;
  name: string;
}

/** States of these keys, in the given order. */
export function readKeyStates(db: Connection, keys: readonly NamedKey[]): Promise<KeyState[]> {
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

/** A model that is paused while its upstream is not. */
export interface PausedModel {
  upstream: string;
  /** The upstream's own name of the model. */
  model: string;
  paused_seconds: number;
  failures: number;
  last_error: string | null;
  last_error_at: Date | null;
}

const pausedModelsMax = 1_000;

export function listPausedModels(db: Connection, upstreams: string[]): Promise<PausedModel[]> {
  return db.run<PausedModel>(sql`
    select name as upstream, model, failures, last_error, last_error_at,
      extract(epoch from paused_until - now())::float8 as paused_seconds
    from upstreams where name = any(${upstreams}::text[]) and model <> '' and paused_until > now()
    order by name, model limit ${pausedModelsMax}`);
}
