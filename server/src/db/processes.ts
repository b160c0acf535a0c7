import { rawSql, sql, type Connection } from '../lib/sql/sql.ts';
import { floorColumn } from './schema.ts';

/** The processes that use the database, and their versions. */

export interface OwnProcess {
  id: string;
  /** serve, worker or command. */
  kind: string;
  host: string;
  pid: number;
  /** Number of the newest migration that it knows. */
  schema: number;
  version: string;
}

/** A process of an earlier version. */
export interface OtherProcess {
  id: string;
  /** Describes it, so that an operator can find it. */
  says: string;
  /** Its newest sign of life, and how old that is; null for an open connection. */
  beat: string | null;
  age_ms: number;
}

/** Shows that the process lives, also after the database has lost its row. */
export async function beat(db: Connection, own: OwnProcess): Promise<void> {
  const { id, kind, host, pid, schema, version } = own;
  await db.run(sql`
    insert into processes (id, kind, host, pid, schema, version)
    values (${id}, ${kind}, ${host}, ${pid}, ${schema}, ${version})
    on conflict (id) do update set beat_at = clock_timestamp()`);
}

/** Removes the row of a process that ends, and rows of those that ended without doing so. */
export async function leave(db: Connection, id: string): Promise<void> {
  await db.run(sql`
    delete from processes
    where id = ${id} or abs(extract(epoch from clock_timestamp() - beat_at)) > 3600`);
}

/** The newest migration, and the lowest schema number of the code that may run beside it. */
export async function findNewestMigration(
  db: Connection,
): Promise<{ newest: number; floor: number }> {
  const [row] = await db.run<{ newest: number; floor: number }>(
    rawSql(`select max(number) as newest, max(${floorColumn}) as floor from migrations m`),
  );
  return row!;
}

/** Processes whose code does not know this migration. */
export async function listRegistered(db: Connection, schema: number): Promise<OtherProcess[]> {
  return db.run<OtherProcess>(sql`
    select id::text,
      format('%s on %s, pid %s, version %s (migration %s), started %s', kind, host, pid, version,
        schema, to_char(started_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')) as says,
      beat_at::text as beat,
      (extract(epoch from clock_timestamp() - beat_at) * 1000)::float8 as age_ms
    from processes where schema < ${schema} order by started_at`);
}

/** How many living processes of each kind there are, commands left out. */
export function countLiving(db: Connection): Promise<{ kind: string; count: number }[]> {
  return db.run<{ kind: string; count: number }>(sql`
    select kind, count(*)::int as count from processes
    where kind <> 'command' and beat_at > clock_timestamp() - interval '60 s'
    group by kind order by kind`);
}

/**
 * Processes that do not register, by the names of their connections, which every role can see; a
 * role may not see addresses and states of other roles' connections. A living process uses some
 * connection every 10 s, while those of a lost machine may stay for hours. One entry is one kind of
 * process at one address.
 */
export async function listUnregistered(db: Connection): Promise<OtherProcess[]> {
  return db.run<OtherProcess>(sql`
    with open as (
      select application_name as name, client_port, pid,
        case when client_port = -1 then 'a local socket'
          else coalesce(host(client_addr), 'a hidden address') end as place
      from pg_stat_activity
      where datname = current_database()
        and application_name in ('farebox serve', 'farebox worker', 'farebox command')
        and (state is distinct from 'idle' or state_change > clock_timestamp() - interval '30 s'))
    select concat(name, ' ', place) as id,
      format('an older "%s" at %s%s, PostgreSQL processes %s', name, place,
        ', ports ' || string_agg(nullif(client_port, -1)::text, ' ' order by client_port),
        string_agg(pid::text, ' ' order by pid)) as says,
      null::text as beat, 0::float8 as age_ms
    from open group by name, place order by 1`);
}
