import { lastId } from '../../lib/id.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { columns, of, type RowOf } from '../../lib/sql/columns.ts';
import { sql, type Connection, type Transaction } from '../../lib/sql/sql.ts';
import type { OutcomeId } from '../accounts/revenue.ts';
import type { FailureCode } from '../../core/errors.ts';
import type { Kind } from '../../core/catalog/catalog.ts';
import type { Status } from '../../core/request/request.ts';

/**
 * Unknown outcomes and their resolutions. Each outcome belongs to a request that ended with it, or
 * to a start whose answer was lost and after which the next route was called (a left start).
 * Lists with resolved outcomes also contain time-outs whose cost was known at once.
 */

/** `d`: the outcome, `a`: its start. */
const unknownColumns = columns('r', {
  id: of<string>(),
  account_id: of<string>(),
  email: of<string>('c.email'),
  account_name: of<string | null>('c.name'),
  model_id: of<string>(),
  kind: of<Kind>(),
  /** The upstream where the job may have run. */
  upstream: of<string>('case when d.attempt = 0 then r.upstream else a.upstream end'),
  /** The status of the request. */
  status: of<Status>(),
  error_code: of<FailureCode | null>(),
  quoted_usd_micro: of<bigint>(),
  charged_usd_micro: of<bigint | null>(),
  cost_usd_micro: of<bigint | null>(
    'case when d.attempt = 0 then s.cost_usd_micro else a.cost_usd_micro end',
  ),
  error_message: of<string | null>('s.error_message'),
  deadline_at: of<Date | null>(),
  created_at: of<Date>(),
  started_at: of<Date>(),
  completed_at: of<Date | null>(),
  cancel_requested_at: of<Date | null>(),
  /** When the start `attempt` was left, if this is its outcome; null: the request's outcome. */
  left_at: of<Date | null>('a.left_at'),
  /**
   * The left start, otherwise the newest start; null if it is no longer stored or was a chat call.
   */
  attempt: of<number | null>('a.attempt'),
  class: of<string | null>('a.class'),
  handle: of<Record<string, unknown> | null>('a.handle'),
  message: of<string | null>('a.message'),
  attempted_at: of<Date | null>('a.created_at'),
  /** The resolution; null if there is none yet. */
  resolved: of<'ran' | 'did_not_run' | null>('n.outcome'),
  note: of<string | null>('n.note'),
  by_email: of<string | null>('n.by_email'),
  resolved_at: of<Date | null>('n.created_at'),
});
export type UnknownRow = RowOf<typeof unknownColumns>;

/**
 * Selects unknown outcomes by upstream, and by the time at which the request ended or the start was
 * given up for another route. Null: no restriction.
 */
export interface Selection {
  upstream: string | null;
  since: Date | null;
  /** Exclusive. */
  until?: Date | null;
  /** Only outcomes of this catalog row. */
  model?: string | null;
}

export interface UnknownFilter extends Selection {
  /** Null: resolved and unresolved outcomes. */
  resolved: boolean | null;
  /** Only outcomes after this one in the list; null: from the first. */
  below: OutcomeId | null;
  limit: number;
}

const last: OutcomeId = { request_id: lastId, attempt: 0 };

/** Unresolved outcomes, newest first. Their indexes contain no resolved outcomes. */
export function listUnresolved(
  db: Connection,
  { upstream, since, until = null, model = null, below, limit }: Omit<UnknownFilter, 'resolved'>,
): Promise<OutcomeId[]> {
  const { request_id: id, attempt } = below ?? last;
  return db.run<OutcomeId>(sql`
    (select request_id, 0 as attempt from request_results
    where doubt_upstream is not null and cost_usd_micro is null
      and request_id <= ${id} and (request_id < ${id} or ${attempt}::int > 0)
      and (${upstream}::text is null or doubt_upstream = ${upstream})
      and (${since}::timestamptz is null or created_at >= ${since})
      and (${until}::timestamptz is null or created_at < ${until})
      and (${model}::text is null or ${model} = (select model_id from requests r
        where r.id = request_id))
    order by request_id desc limit ${limit})
    union all
    (select request_id, attempt from attempts
    where left_at is not null and cost_usd_micro is null
      and (request_id, attempt) < (${id}, ${attempt}::int)
      and (${upstream}::text is null or upstream = ${upstream})
      and (${since}::timestamptz is null or left_at >= ${since})
      and (${until}::timestamptz is null or left_at < ${until})
      and (${model}::text is null or ${model} = (select model_id from requests r
        where r.id = request_id))
    order by request_id desc, attempt desc limit ${limit})
    order by request_id desc, attempt desc limit ${limit}`);
}

/** All unknown outcomes, resolved or not; if `resolved` is set, only resolved outcomes. */
function listEverInDoubt(db: Connection, filter: UnknownFilter): Promise<OutcomeId[]> {
  const { upstream, since, until = null, model = null, below, limit } = filter;
  const { request_id: id, attempt } = below ?? last;
  return db.run<OutcomeId>(sql`
    (select r.id as request_id, 0 as attempt
    from requests r left join request_results s on s.request_id = r.id
    where r.error_code in ('outcome_unknown', 'timeout')
      and r.id <= ${id} and (r.id < ${id} or ${attempt}::int > 0)
      and (${filter.resolved}::bool is null or s.cost_usd_micro is not null)
      and (${upstream}::text is null or r.upstream = ${upstream})
      and (${since}::timestamptz is null or r.completed_at >= ${since})
      and (${until}::timestamptz is null or r.completed_at < ${until})
      and (${model}::text is null or r.model_id = ${model})
    order by r.id desc limit ${limit})
    union all
    (select request_id, attempt from attempts
    where left_at is not null and (request_id, attempt) < (${id}, ${attempt}::int)
      and (${filter.resolved}::bool is null or cost_usd_micro is not null)
      and (${upstream}::text is null or upstream = ${upstream})
      and (${since}::timestamptz is null or left_at >= ${since})
      and (${until}::timestamptz is null or left_at < ${until})
      and (${model}::text is null or ${model} = (select model_id from requests r
        where r.id = request_id))
    order by request_id desc, attempt desc limit ${limit})
    order by request_id desc, attempt desc limit ${limit}`);
}

/** Unknown outcomes, newest first. An outcome whose cost is known needs no resolution. */
export async function listEnded(db: Connection, filter: UnknownFilter): Promise<UnknownRow[]> {
  const ids = await (filter.resolved === false
    ? listUnresolved(db, filter)
    : listEverInDoubt(db, filter));
  return findOutcomes(db, ids);
}

/** These outcomes with their requests, newest first. */
function findOutcomes(db: Connection, ids: OutcomeId[]): Promise<UnknownRow[]> {
  return db.run(sql`
    select ${unknownColumns}
    from ${rowsOf(ids, { request_id: 'uuid', attempt: 'int' })} as d
    join requests r on r.id = d.request_id
    join accounts c on c.id = r.account_id
    left join request_results s on s.request_id = r.id
    left join resolutions n on n.request_id = r.id and n.attempt = d.attempt
    left join lateral (
      select * from attempts where request_id = r.id
        and (attempt = d.attempt or d.attempt = 0 and left_at is null)
      order by attempt desc limit 1
    ) a on true
    order by r.id desc, d.attempt desc`);
}

/** Maximum number of running requests to read. There are few, unless something is very wrong. */
const waitingMax = 200;

/**
 * Running requests that wait for a lost answer to their start, at most until their deadline; oldest
 * first.
 */
export async function listWaiting(db: Connection): Promise<UnknownRow[]> {
  const ids = await db.run<OutcomeId>(sql`
    with running as materialized (select id, status from requests where slot)
    select r.id as request_id, 0 as attempt
    from running r join lateral (
      select * from attempts where request_id = r.id order by attempt desc limit 1
    ) a on a.outcome in ('unknown', 'missing') and a.handle is null and a.left_at is null
    where r.status = 'IN_PROGRESS'
    order by r.id limit ${waitingMax}`);
  return (await findOutcomes(db, ids)).toReversed();
}

export interface UnknownOutcomeCount {
  upstream: string;
  count: number;
  /** The unresolved outcome whose request was made first. */
  oldest_id: string;
}

/** The number of unresolved outcomes by upstream, largest first. */
export function countUnknownByUpstream(db: Connection): Promise<UnknownOutcomeCount[]> {
  return db.run<UnknownOutcomeCount>(sql`
    select upstream, count(*)::int as count, min(request_id::text) as oldest_id from (
      select doubt_upstream as upstream, request_id from request_results
      where doubt_upstream is not null and cost_usd_micro is null
      union all
      select upstream, request_id from attempts
      where left_at is not null and cost_usd_micro is null
    ) d group by upstream order by 2 desc, 1`);
}

export interface UnknownEnd {
  id: string;
  account_id: string;
  error_code: FailureCode | null;
  is_final: boolean;
}

export async function findEnded(db: Connection, id: string): Promise<UnknownEnd | null> {
  const rows = await db.run<UnknownEnd>(sql`
    select id, account_id, error_code, completed_at is not null as is_final
    from requests where id = ${id}`);
  return rows[0] ?? null;
}

/** The request of a left start, or null. */
export async function findLeft(
  db: Connection,
  { request_id, attempt }: OutcomeId,
): Promise<{ account_id: string } | null> {
  const rows = await db.run<{ account_id: string }>(sql`
    select r.account_id from attempts a join requests r on r.id = a.request_id
    where a.request_id = ${request_id} and a.attempt = ${attempt} and a.left_at is not null`);
  return rows[0] ?? null;
}

export interface NewResolution {
  outcome: 'ran' | 'did_not_run';
  /** The cost of each outcome. */
  cost_usd_micro: bigint;
  note: string | null;
  person_id: string | null;
  by_email: string;
}

export function insertMany(tx: Transaction, outcomes: OutcomeId[], row: NewResolution): void {
  tx.send(sql`
    insert into resolutions (request_id, attempt, account_id, outcome, cost_usd_micro, note,
      person_id, by_email)
    select r.id, d.attempt, r.account_id, ${row.outcome}::text, ${row.cost_usd_micro}::bigint,
      ${row.note}::text, ${row.person_id}::uuid, ${row.by_email}::text
    from ${rowsOf(outcomes, { request_id: 'uuid', attempt: 'int' })} as d
      join requests r on r.id = d.request_id`);
}
