import { sql, type Connection, type Transaction } from '../lib/sql.ts';

/**
 * Requests of which nobody knows whether their upstream ran them, or to what cost, and what was
 * found out. A job that was known to have cost nothing when its time was over is none of them: its
 * cost is 0.
 */

export interface UnknownRow {
  id: string;
  account_id: string;
  email: string;
  model_id: string;
  kind: 'video' | 'image' | 'text';
  upstream: string;
  status: 'IN_PROGRESS' | 'FAILED';
  /** Null: it still runs. */
  error_code: 'outcome_unknown' | 'timeout' | null;
  quoted_usd_micro: bigint;
  cost_usd_micro: bigint | null;
  error_message: string | null;
  deadline_at: Date | null;
  created_at: Date;
  started_at: Date;
  completed_at: Date | null;
  /** Of the newest start; null: it is no longer kept, or it was a chat call. */
  attempt: number | null;
  class: string | null;
  handle: Record<string, unknown> | null;
  message: string | null;
  attempted_at: Date | null;
  /** What was found out; null: nothing yet. */
  resolved: 'ran' | 'did_not_run' | null;
  note: string | null;
  by_email: string | null;
  resolved_at: Date | null;
}

/** Those of an upstream that ended since then; null: of all, ever. */
export interface Selection {
  upstream: string | null;
  since: Date | null;
}

export interface UnknownFilter extends Selection {
  /** Null: all that have ended so. */
  resolved: boolean | null;
  below_id: string | null;
  limit: number;
}

const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Those that nobody has resolved, newest first, by an index that has no others. */
export async function idsInDoubt(
  db: Connection,
  { upstream, since, below_id, limit }: Omit<UnknownFilter, 'resolved'>,
): Promise<string[]> {
  const rows = await db.run<{ id: string }>(sql`
    select request_id as id from request_results
    where doubt_upstream is not null and cost_usd_micro is null
      and request_id < coalesce(${below_id}::uuid, ${lastId}::uuid)
      and (${upstream}::text is null or doubt_upstream = ${upstream})
      and (${since}::timestamptz is null or created_at >= ${since})
    order by request_id desc limit ${limit}`);
  return rows.map(({ id }) => id);
}

/** The same, resolved or not, or those that are resolved. */
async function idsEnded(db: Connection, filter: UnknownFilter): Promise<string[]> {
  const { upstream, since, below_id, limit } = filter;
  const rows = await db.run<{ id: string }>(sql`
    select r.id from requests r left join request_results s on s.request_id = r.id
    where r.error_code in ('outcome_unknown', 'timeout')
      and r.id < coalesce(${below_id}::uuid, ${lastId}::uuid)
      and (${filter.resolved}::bool is null or s.cost_usd_micro is not null)
      and (${upstream}::text is null or r.upstream = ${upstream})
      and (${since}::timestamptz is null or r.completed_at >= ${since})
    order by r.id desc limit ${limit}`);
  return rows.map(({ id }) => id);
}

/** Those that have ended so, newest first. One whose cost is known needs no resolution. */
export async function ended(db: Connection, filter: UnknownFilter): Promise<UnknownRow[]> {
  const ids = await (filter.resolved === false ? idsInDoubt(db, filter) : idsEnded(db, filter));
  return db.run<UnknownRow>(sql`
    select r.id, r.account_id, c.email, r.model_id, r.kind, r.upstream, r.status, r.error_code,
      r.quoted_usd_micro, s.cost_usd_micro, s.error_message, r.deadline_at, r.created_at,
      r.started_at, r.completed_at, a.attempt, a.class, a.handle, a.message,
      a.created_at as attempted_at, n.outcome as resolved, n.note, n.by_email,
      n.created_at as resolved_at
    from unnest(${ids}::uuid[]) as d (id) join requests r on r.id = d.id
    join accounts c on c.id = r.account_id
    left join request_results s on s.request_id = r.id
    left join resolutions n on n.request_id = r.id
    left join lateral (
      select * from attempts where request_id = r.id order by attempt desc limit 1
    ) a on true
    order by r.id desc`);
}

/** Waiting ones that are looked at, at most: they are few, or something is very wrong. */
const waitingMax = 200;

/** Those that still run: their answer was lost, and it is waited for until their time is over. */
export function waiting(db: Connection): Promise<UnknownRow[]> {
  return db.run<UnknownRow>(sql`
    with running as materialized (select * from requests where slot)
    select r.id, r.account_id, c.email, r.model_id, r.kind, r.upstream, r.status, r.error_code,
      r.quoted_usd_micro, null::bigint as cost_usd_micro, null as error_message, r.deadline_at,
      r.created_at, r.started_at, r.completed_at, a.attempt, a.class, a.handle, a.message,
      a.created_at as attempted_at, null as resolved, null as note, null as by_email,
      null::timestamptz as resolved_at
    from running r join accounts c on c.id = r.account_id
    join lateral (
      select * from attempts where request_id = r.id order by attempt desc limit 1
    ) a on a.outcome in ('unknown', 'missing') and a.handle is null
    where r.status = 'IN_PROGRESS'
    order by r.id limit ${waitingMax}`);
}

export interface DoubtSum {
  upstream: string;
  count: number;
  /** Made first of them. */
  oldest_id: string;
}

/** How many nobody has resolved, by upstream, most first. */
export function openByUpstream(db: Connection): Promise<DoubtSum[]> {
  return db.run<DoubtSum>(sql`
    select doubt_upstream as upstream, count(*)::int as count,
      min(request_id::text) as oldest_id
    from request_results where doubt_upstream is not null and cost_usd_micro is null
    group by doubt_upstream order by 2 desc, 1`);
}

export interface Ended {
  id: string;
  account_id: string;
  error_code: string | null;
  is_final: boolean;
}

export async function findEnded(db: Connection, id: string): Promise<Ended | null> {
  const rows = await db.run<Ended>(sql`
    select id, account_id, error_code, completed_at is not null as is_final
    from requests where id = ${id}`);
  return rows[0] ?? null;
}

export interface NewResolution {
  outcome: 'ran' | 'did_not_run';
  /** Of each. */
  cost_usd_micro: bigint;
  note: string | null;
  person_id: string | null;
  by_email: string;
}

export function insertMany(tx: Transaction, request_ids: string[], row: NewResolution): void {
  tx.send(sql`
    insert into resolutions (request_id, account_id, outcome, cost_usd_micro, note, person_id,
      by_email)
    select r.id, r.account_id, ${row.outcome}::text, ${row.cost_usd_micro}::bigint,
      ${row.note}::text, ${row.person_id}::uuid, ${row.by_email}::text
    from unnest(${request_ids}::uuid[]) as d (id) join requests r on r.id = d.id`);
}
