import { idsWritten, lastId } from '../lib/id.ts';
import { fragment, sql, type Connection, type Transaction } from '../lib/sql/sql.ts';
import { dayMs } from '../lib/calendar-day.ts';

/** An operator's action. */
export interface LogRow {
  id: string;
  person_id: string | null;
  operator_key_id: string | null;
  by_email: string;
  action: string;
  account_id: string | null;
  /** The account's present address; null if no account is concerned, or it no longer exists. */
  account_email: string | null;
  account_name: string | null;
  target: string | null;
  details: Record<string, unknown> | null;
  created_at: Date;
}

export type NewLogRow = Omit<LogRow, 'account_email' | 'account_name' | 'created_at'>;

/** Any number will do, as long as every version of the service uses the same one. */
const numberLock = 770_219_012;

const numbersLock = () => sql`select pg_advisory_xact_lock(${numberLock})`;

/** To be done before the table is locked, as before rows are inserted. */
export async function lockNumbers(tx: Connection): Promise<void> {
  await tx.run(numbersLock());
}

/** Transactions that insert rows wait for each other, so that the numbers have no gaps. */
export function insert(tx: Transaction, row: NewLogRow): void {
  const details = row.details === null ? null : JSON.stringify(row.details);
  // A separate statement, so that the next one sees what was committed while this one waited.
  tx.send(numbersLock());
  tx.send(sql`
    insert into operator_log (id, seq, person_id, operator_key_id, by_email, action, account_id,
      target, details)
    select ${row.id}, coalesce(max(seq), 0) + 1, ${row.person_id}, ${row.operator_key_id},
      ${row.by_email}, ${row.action}, ${row.account_id}, ${row.target}, ${details}::json
    from operator_log`);
}

export interface LogFilter {
  account_id: string | null;
  by_email: string | null;
  action: string | null;
  below_id: string | null;
  limit: number;
}

const columns = fragment(`l.id, l.person_id, l.operator_key_id, l.by_email, l.action, l.account_id,
  a.email as account_email, a.name as account_name, l.target, l.details, l.created_at`);

/** Newest first. */
export function list(db: Connection, filter: LogFilter): Promise<LogRow[]> {
  const below = filter.below_id ?? lastId;
  const { account_id, by_email, action, limit } = filter;
  if (account_id !== null) {
    return db.run<LogRow>(sql`
      select ${columns}
      from operator_log l left join accounts a on a.id = l.account_id
      where l.account_id = ${account_id} and l.id < ${below}
        and (${by_email}::text is null or l.by_email = ${by_email})
        and (${action}::text is null or l.action = ${action})
      order by l.id desc limit ${limit}`);
  }
  if (action !== null) {
    return db.run<LogRow>(sql`
      select ${columns}
      from operator_log l left join accounts a on a.id = l.account_id
      where l.action = ${action} and l.id < ${below}
        and (${by_email}::text is null or l.by_email = ${by_email})
      order by l.id desc limit ${limit}`);
  }
  if (by_email !== null) {
    return db.run<LogRow>(sql`
      select ${columns}
      from operator_log l left join accounts a on a.id = l.account_id
      where l.by_email = ${by_email} and l.id < ${below} order by l.id desc limit ${limit}`);
  }
  return db.run<LogRow>(sql`
    select ${columns}
    from operator_log l left join accounts a on a.id = l.account_id
    where l.id < ${below} order by l.id desc limit ${limit}`);
}

/** Actions of these kinds on one target that concern no account, newest first. */
export function listOf(
  db: Connection,
  filter: { target: string; actions: readonly string[]; below_id: string | null; limit: number },
): Promise<LogRow[]> {
  const { target, actions, below_id, limit } = filter;
  return db.run<LogRow>(sql`
    select ${columns}
    from operator_log l left join accounts a on a.id = l.account_id
    where l.account_id is null and l.target = ${target} and l.action = any(${actions}::text[])
      and l.id < ${below_id ?? lastId}
    order by l.id desc limit ${limit}`);
}

/**
 * Seconds until the last 24 hours contain fewer than `count` of these actions on an account; 0 if
 * they do now.
 */
export async function countSecondsUntilOlder(
  db: Connection,
  { account_id, action, count }: { account_id: string; action: string; count: number },
): Promise<number> {
  const [row] = await db.run<{ seconds: number }>(sql`
    select ceil(extract(epoch from created_at + interval '24 hours' - now()))::int as seconds
    from operator_log where account_id = ${account_id} and action = ${action}
      and id >= ${idsWritten(Date.now() - dayMs, null).first}
    order by id desc offset ${count - 1} limit 1`);
  return Math.max(0, row?.seconds ?? 0);
}

/** Addresses of everyone who has acted, for the filter. */
export async function listAuthors(db: Connection): Promise<string[]> {
  // Looks up one author after the other, because the log may be long and has few authors.
  const rows = await db.run<{ by_email: string }>(sql`
    with recursive author as (
      select min(by_email) as by_email from operator_log
      union all
      select (select min(l.by_email) from operator_log l where l.by_email > author.by_email)
      from author where author.by_email is not null
    )
    select by_email from author where by_email is not null limit 200`);
  return rows.map(({ by_email }) => by_email);
}
