import type { Installation, RestoredWhy } from '../core/restored.ts';
import { newId } from '../lib/id.ts';
import { isUnavailable, sql, type Connection } from '../lib/sql/sql.ts';

/** The row by which a service recognises that its database is a restored copy. */

export interface InstallationRow extends Installation {
  held_since: Date | null;
  held_why: RestoredWhy | null;
  /** The database's clock, in ms since 1970. */
  now_ms: number;
}

/** Null if no service has started on this database yet. */
export async function find(db: Connection): Promise<InstallationRow | null> {
  const [row] = await db.run<InstallationRow & { beat: bigint }>(sql`
    select id, beat, timeline, held_since, held_why,
      extract(epoch from now() - beat_at)::float8 as beat_age_seconds,
      xmin = writer::xid and database_oid = (select oid::bigint from pg_database
        where datname = current_database()) as is_original,
      (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms
    from installation`);
  return row ? { ...row, beat: Number(row.beat) } : null;
}

/** Whether the database is on hold, or is a copy that no service has checked yet. */
export async function isCopy(db: Connection): Promise<boolean> {
  const row = await find(db);
  return row !== null && (row.held_since !== null || !row.is_original);
}

/** Creates the row, for the first service on a new database. */
export async function make(db: Connection, timeline: number | null): Promise<void> {
  await db.run(sql`
    insert into installation (id, beat, beat_at, writer, database_oid, timeline)
    select ${newId()}, 0, now(), pg_current_xact_id(), oid::bigint, ${timeline}::int
    from pg_database where datname = current_database() on conflict do nothing`);
}

/** Adds one to the count of signs of life, if the newest is old enough or the timeline is new. */
export async function beat(
  db: Connection,
  id: string,
  timeline: number | null,
  olderThanSeconds: number,
): Promise<void> {
  await db.run(sql`
    update installation set beat = beat + 1, timeline = coalesce(${timeline}::int, timeline),
      beat_at = greatest(now(), beat_at + interval '1 ms'), writer = pg_current_xact_id()
    where id = ${id} and held_since is null and xmin = writer::xid
      and (beat_at <= now() - ${olderThanSeconds} * interval '1 s'
        or timeline is distinct from coalesce(${timeline}::int, timeline))`);
}

/** Puts the database on hold: from now on, no process starts jobs or sends anything. */
export async function hold(db: Connection, why: RestoredWhy): Promise<void> {
  await db.run(sql`
    update installation set held_since = now(), held_why = ${why} where held_since is null`);
}

/** Puts on hold a copy that was just imported. */
export async function holdImported(db: Connection): Promise<void> {
  await make(db, null);
  await hold(db, 'copy');
}

/** Ends the hold, under a new id, after an operator has allowed this database to go on. */
export async function resume(db: Connection, timeline: number | null): Promise<void> {
  await db.run(sql`
    update installation set id = ${newId()}, beat = beat + 1, beat_at = greatest(now(), beat_at),
      writer = pg_current_xact_id(), timeline = ${timeline}::int, held_since = null,
      held_why = null, database_oid = (select oid::bigint from pg_database
        where datname = current_database())`);
}

/** Whether the server only follows another one. */
export async function isStandby(db: Connection): Promise<boolean> {
  const [row] = await db.run<{ follows: boolean }>(sql`select pg_is_in_recovery() as follows`);
  return row!.follows;
}

/**
 * The current timeline of the write-ahead log; null on a standby. Throws if the server does not
 * report the timeline, as some managed servers do not.
 */
export async function readTimeline(db: Connection): Promise<number | null> {
  const [row] = await db.run<{ timeline: number | null }>(sql`
    select case when not pg_is_in_recovery() then
      ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline`);
  return row!.timeline;
}

/** As `readTimeline`; null also of a server that does not tell it, as some hosted ones. */
export async function knownTimeline(db: Connection): Promise<number | null> {
  try {
    return await readTimeline(db);
  } catch (error) {
    if (isUnavailable(error)) throw error;
    return null;
  }
}
