import type { AttemptOutcome } from '../../core/request/request.ts';
import { firstId, lastId } from '../../lib/id.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { sql, type Connection, type Fragment } from '../../lib/sql/sql.ts';
import { requestColumns, type RequestRow } from './requests.ts';

/**
 * Open requests of all accounts, for the operator. They are found by the indexes for claims, which
 * do not contain ended requests.
 */

export interface OpenFilter {
  upstream: string | null;
  status: 'IN_QUEUE' | 'IN_PROGRESS' | null;
  account_id: string | null;
  /** Only requests with this id or an older one; null: all. */
  until_id: string | null;
  above_id: string | null;
  limit: number;
  /**
   * Running requests without a slot are found only if they are due within this time, which has to
   * cover chat calls: they are due at their deadline.
   */
  due_seconds: number;
}

const openColumns = columns('r', {
  email: of<string>('c.email'),
  account_name: of<string | null>('c.name'),
  /** True: its start was refused, and it waits for a slot for the next try. */
  waits: of<boolean>(),
  wake_at: of<Date>(),
  deadline_at: of<Date | null>(),
  past_deadline: of<boolean>('coalesce(r.deadline_at <= now(), false)'),
  /** The upstream of its newest start; null if it was never started. */
  started_upstream: of<string | null>('a.upstream'),
  outcome: of<AttemptOutcome>('a.outcome'),
  has_handle: of<boolean>('a.handle is not null'),
  message: of<string | null>('a.message'),
  progress: of<number | null>("(a.progress ->> 'progress')::float8"),
});
export type OpenRow = RequestRow & RowOf<typeof openColumns>;

/** Maximum number of waiting requests that are counted, or searched for a list. */
export const depthMax = 50_000;

/**
 * Oldest first. Open requests are selected first, because walking all requests in order is too
 * slow.
 */
export function list(db: Connection, filter: OpenFilter): Promise<OpenRow[]> {
  const { upstream, account_id, status } = filter;
  const above = filter.above_id ?? firstId;
  const until = filter.until_id ?? lastId;
  return db.run(sql`
    with open as materialized (
      (select id, upstream, account_id, status from requests
        where not slot and (status = 'IN_QUEUE' or waits) limit ${depthMax})
      union all
      select id, upstream, account_id, status from requests where slot
      union all
      select id, upstream, account_id, status from requests
      where wake_at is not null and wake_at <= now() + ${filter.due_seconds} * interval '1 s'
        and (status <> 'IN_QUEUE' or slot) and status = 'IN_PROGRESS' and not slot and not waits
    ), page as (
      select id from open
      where (${status}::text is null or status = ${status})
        and (${upstream}::text is null or upstream = ${upstream})
        and (${account_id}::uuid is null or account_id = ${account_id})
        and id > ${above} and id <= ${until}
      order by id limit ${filter.limit}
    )
    select ${requestColumns}, ${openColumns}
    from page join requests r using (id) join accounts c on c.id = r.account_id
    left join lateral (
      select upstream, outcome, handle, message, progress from attempts
      where request_id = r.id order by attempt desc limit 1
    ) a on true
    order by r.id`);
}

export interface Depth {
  /** Exactly one of `account_id` and `model_id` is set. */
  account_id: string | null;
  model_id: string | null;
  email: string | null;
  account_name: string | null;
  waiting: number;
  oldest_seconds: number;
}

/**
 * The `top` accounts with the most waiting requests and the `top` models with the most, largest
 * first.
 */
export function readDepths(db: Connection, top: number): Promise<Depth[]> {
  return db.run<Depth>(sql`
    with counted as (
      select account_id, model_id, count(*)::int as waiting, min(created_at) as oldest
      from (select account_id, model_id, created_at from requests
        where not slot and (status = 'IN_QUEUE' or waits) limit ${depthMax}) w
      group by grouping sets ((account_id), (model_id))
    ), ranked as (
      select *, row_number() over (partition by account_id is null
        order by waiting desc, oldest) as rank from counted
    )
    select k.account_id, k.model_id, c.email, c.name as account_name, k.waiting,
      extract(epoch from now() - k.oldest)::float8 as oldest_seconds
    from ranked k left join accounts c on c.id = k.account_id
    where k.rank <= ${top} order by k.account_id is null, k.rank`);
}

/**
 * Open requests of a model, or at an upstream, waiting ones counted up to `depthMax`. `due_seconds`
 * as in `OpenFilter`.
 */
export async function countOf(
  db: Connection,
  { model_id = null, upstream = null }: { model_id?: string | null; upstream?: string | null },
  due_seconds: number,
): Promise<{ waiting: number; running: number }> {
  // The limit counts only those: other requests may wait before them.
  const those: Fragment = (bind) => `
    (${bind(model_id)}::text is null or model_id = ${bind(model_id)})
    and (${bind(upstream)}::text is null or upstream = ${bind(upstream)})`;
  const [row] = await db.run<{ waiting: number; running: number }>(sql`
    with open as (
      (select true as waits from requests
        where not slot and (status = 'IN_QUEUE' or waits) and ${those} limit ${depthMax})
      union all
      select false from requests where slot and status = 'IN_PROGRESS' and ${those}
      union all
      select false from requests where wake_at is not null
        and wake_at <= now() + ${due_seconds} * interval '1 s'
        and (status <> 'IN_QUEUE' or slot) and status = 'IN_PROGRESS' and not slot and not waits
        and ${those}
    )
    select count(*) filter (where waits)::int as waiting,
      count(*) filter (where not waits)::int as running
    from open`);
  return row!;
}

export interface RunningCount {
  upstream: string;
  running: number;
  /** How long ago the oldest running job was first sent. */
  longest_seconds: number;
}

/** A chat call is due when its deadline is, so one that runs longer is not counted. */
export const chatMaxSeconds = 3_600;

/** Running jobs at each upstream, chat calls included. */
export function countRunning(db: Connection, due_seconds: number): Promise<RunningCount[]> {
  return db.run<RunningCount>(sql`
    select upstream, count(*)::int as running,
      extract(epoch from now() - min(started_at))::float8 as longest_seconds
    from (
      select upstream, started_at from requests where slot and status = 'IN_PROGRESS'
      union all
      select upstream, started_at from requests where wake_at is not null
        and wake_at <= now() + ${due_seconds} * interval '1 s'
        and (status <> 'IN_QUEUE' or slot) and status = 'IN_PROGRESS' and not slot
    ) r group by upstream order by upstream`);
}

/** Maximum number of upstreams that `countRunningBeyond` lists. */
const beyondMax = 100;

/**
 * The number of jobs that run at unknown upstreams, or with an unknown key of an upstream
 * (`name#key`), in order of name. Reads no more requests than there are slots in use.
 */
export function countRunningBeyond(
  db: Connection,
  known: string[],
): Promise<{ upstream: string; jobs: number }[]> {
  return db.run<{ upstream: string; jobs: number }>(sql`
    select j.upstream, count(*)::int as jobs from (
      select concat_ws('#', r.upstream, (
        select case when outcome is distinct from 'not_accepted' then key end from attempts
        where request_id = r.id order by attempt desc limit 1)) as upstream
      from requests r where r.slot and r.status = 'IN_PROGRESS'
    ) j
    where j.upstream <> all(${known}::text[])
    group by j.upstream order by j.upstream limit ${beyondMax}`);
}
