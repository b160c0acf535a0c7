import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';
import type { ErrorCode } from '../../core/errors.ts';

/** How often a key's calls got one error code. */
export interface RefusedCount {
  account_id: string;
  key_id: string;
  code: ErrorCode;
  calls: number;
}

/** Calls are counted in periods of this length. */
const stretch = '10 minutes';

/** Adds to the counts of the present period. */
export async function add(db: Connection, counts: RefusedCalls[]): Promise<void> {
  await db.run(sql`
    insert into refusals as r (account_id, key_id, began_at, code, calls)
    select account_id, key_id, date_bin(${stretch}::interval, now(), 'epoch'), code, calls
    from ${rowsOf(counts, { account_id: 'uuid', key_id: 'uuid', code: 'text', calls: 'bigint' })} d
    order by account_id, key_id, code
    on conflict (account_id, key_id, began_at, code)
      do update set calls = r.calls + excluded.calls`);
}

/** Deletes counts that are no longer shown. */
export async function forget(db: Connection): Promise<void> {
  await db.run(sql`delete from refusals where began_at < now() - interval '2 hours'`);
}

/** Counts that one read looks at: the newest, which are those of hundreds of keys. */
const readMax = 2_000;
const shownMax = 100;

/** Refusals of the last hour by key, the most frequent first. */
export async function ofLastHour(
  db: Connection,
  accountId: string,
): Promise<{ key_id: string; name: string; code: ErrorCode; calls: number }[]> {
  return db.run<{ key_id: string; name: string; code: ErrorCode; calls: number }>(sql`
    select key_id, (select name from keys where id = key_id) as name, code, calls
    from (
      select key_id, code, sum(calls)::float8 as calls
      from (
        select key_id, code, calls from refusals
        where account_id = ${accountId} and began_at > now() - interval '1 hour'
        order by began_at desc limit ${readMax}
      ) newest
      group by key_id, code order by sum(calls) desc, key_id, code limit ${shownMax}
    ) most
    order by calls desc, key_id, code`);
}
