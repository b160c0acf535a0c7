import type { ErrorCode } from '../../core/errors.ts';
import type { Reason } from '../../core/reasons.ts';
import { lastId, leastIdAt } from '../../lib/id.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import {
  fragment,
  sql,
  type Fragment,
  type Transaction,
  type Connection,
} from '../../lib/sql/sql.ts';

/** Refused calls: counted by key and code, and the first ones of each hour one by one. */

/** How often a key's calls got one error code. */
export interface RefusedCount {
  account_id: string;
  key_id: string;
  code: ErrorCode;
  calls: number;
}

export interface RefusedCall {
  id: string;
  account_id: string;
  key_id: string;
  call_id: string;
  created_at: Date;
  /** Null: the call named no model that exists. */
  model_id: string | null;
  path: string;
  status: number;
  code: ErrorCode;
  reason: Reason | null;
}

/** How many calls of an account, code and hour are kept one by one; `refused_calls` checks it. */
export const listedMax = 20;
/** Any number will do, as long as every version of the service uses the same one. */
const placesLock = 770_219_048;

/** Adds to the counts of this hour. */
export async function count(db: Connection, counts: RefusedCount[]): Promise<void> {
  await db.run(sql`
    insert into refusals as r (account_id, key_id, began_at, code, calls)
    select account_id, key_id, date_bin('1 hour', now(), 'epoch'), code, calls
    from ${rowsOf(counts, { account_id: 'uuid', key_id: 'uuid', code: 'text', calls: 'bigint' })} d
    order by account_id, key_id, code
    on conflict (account_id, key_id, began_at, code)
      do update set calls = r.calls + excluded.calls`);
}

/** Keeps these calls, as far as their hours have places left. */
export async function keep(tx: Transaction, calls: RefusedCall[]): Promise<void> {
  // Two processes must not give one place twice. A separate statement, so that the next one sees
  // what was committed while this one waited.
  await tx.run(sql`select pg_advisory_xact_lock(${placesLock})`);
  await tx.run(sql`
    with d as (
      select *, date_bin('1 hour', created_at, 'epoch') as began_at
      from ${rowsOf(calls, {
        id: 'uuid',
        account_id: 'uuid',
        key_id: 'uuid',
        call_id: 'text',
        created_at: 'timestamptz',
        model_id: 'text',
        path: 'text',
        status: 'int',
        code: 'text',
        reason: 'text',
      })} d
    ), placed as (
      select d.*, t.taken + row_number() over (
        partition by d.account_id, d.began_at, d.code order by d.id) as place
      from d cross join lateral (
        select coalesce(max(place), 0) as taken from refused_calls
        where account_id = d.account_id and began_at = d.began_at and code = d.code
      ) t
    )
    insert into refused_calls (id, account_id, key_id, began_at, code, place, call_id, created_at,
      model_id, path, status, reason)
    select id, account_id, key_id, began_at, code, place, call_id, created_at, model_id, path,
      status, reason
    from placed where place <= ${listedMax}`);
}

export interface RefusalFilter {
  /** Null for all accounts. */
  account_id: string | null;
  code: string | null;
  key_id: string | null;
  model_id: string | null;
  from: Date | null;
  to: Date | null;
  below_id: string | null;
  limit: number;
}

export interface ListedRefusal extends RefusedCall {
  /** Null if the account no longer exists. */
  account_email: string | null;
}

/** Refused calls of the last seven days, newest first. */
export function list(db: Connection, filter: RefusalFilter): Promise<ListedRefusal[]> {
  const { account_id, code, key_id, model_id, from, to, below_id, limit } = filter;
  const first = leastIdAt(Math.max(from?.getTime() ?? 0, Date.now() - keptMs));
  const end = to === null ? lastId : leastIdAt(to.getTime());
  const below = below_id !== null && below_id < end ? below_id : end;
  // Only the conditions that are asked for, so that PostgreSQL can plan by the index of each.
  const only = (column: string, type: string, value: string | null): Fragment =>
    value === null ? () => '' : (bind) => `and r.${column} = ${bind(value)}::${type}`;
  return db.run<ListedRefusal>(sql`
    select ${listed} from refused_calls r left join accounts a on a.id = r.account_id
    where r.id >= ${first} and r.id < ${below}
      ${only('account_id', 'uuid', account_id)} ${only('code', 'text', code)}
      ${only('key_id', 'uuid', key_id)} ${only('model_id', 'text', model_id)}
    order by r.id desc limit ${limit}`);
}

const listed = fragment(`r.id, r.account_id, r.key_id, r.call_id, r.created_at, r.model_id, r.path,
  r.status, r.code, r.reason, a.email as account_email`);
const keptMs = 7 * 24 * 3600 * 1000;

/** Deletes counts and calls that are older than seven days. Returns the larger number of rows. */
export async function clear(db: Connection, limit: number): Promise<number> {
  const [row] = await db.run<{ rows: number }>(sql`
    with counts as (
      delete from refusals where ctid = any(array(
        select ctid from refusals where began_at < now() - interval '7 days'
        order by began_at limit ${limit}))
      returning 1
    ), calls as (
      delete from refused_calls where id = any(array(
        select id from refused_calls where id < ${leastIdAt(Date.now() - keptMs)}
        order by id limit ${limit}))
      returning 1
    )
    select greatest((select count(*) from counts), (select count(*) from calls))::int as rows`);
  return row?.rows ?? 0;
}

/** Counts that one read looks at: the newest, which are those of hundreds of keys. */
const readMax = 2_000;
const shownMax = 100;

interface ShownCount {
  key_id: string;
  name: string;
  code: ErrorCode;
  calls: number;
}

/** Refusals of the last day by key, the most frequent first. */
export async function listLastDay(db: Connection, accountId: string): Promise<ShownCount[]> {
  return db.run<ShownCount>(sql`
    select key_id, (select name from keys where id = key_id) as name, code, calls
    from (
      select key_id, code, sum(calls)::float8 as calls
      from (
        select key_id, code, calls from refusals
        where account_id = ${accountId} and began_at > now() - interval '1 day'
        order by began_at desc limit ${readMax}
      ) newest
      group by key_id, code order by sum(calls) desc, key_id, code limit ${shownMax}
    ) most
    order by calls desc, key_id, code`);
}
