import type { StandbyLook } from '../core/standby.ts';
import { sql, type Connection } from '../lib/sql/sql.ts';

/** How far a standby is behind the primary. */

/** Where the primary's log of writes ends, and when that was, by the primary's clock. */
export interface Position {
  lsn: string | null;
  at: Date | null;
  /** Null: no service has started on this database yet. */
  installation: string | null;
}

export async function readPosition(primary: Connection): Promise<Position> {
  const [row] = await primary.run<Position>(sql`
    select pg_current_wal_lsn()::text as lsn, clock_timestamp() as at,
      (select id from installation) as installation`);
  return row!;
}

/**
 * Which server's data it has, and since which failover, in words; null if the server does not say,
 * as some managed ones.
 */
export async function readOrigin(db: Connection): Promise<string | null> {
  const asked = db.run<{ origin: string }>(sql`
    select 'system_identifier ' || s.system_identifier || ', timeline ' || greatest(
      c.timeline_id, r.min_recovery_end_timeline, (select received_tli from pg_stat_wal_receiver),
      case when not pg_is_in_recovery() then
        ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end) as origin
    from pg_control_system() s, pg_control_checkpoint() c, pg_control_recovery() r`);
  return asked.then(([row]) => row!.origin).catch(() => null);
}

/** Tables of the service that the role may not read. */
export async function listUnreadable(db: Connection): Promise<string[]> {
  const rows = await db.run<{ name: string }>(sql`
    select relname::text as name from pg_class
    where relkind in ('r', 'p') and not has_table_privilege(oid, 'select')
      and relnamespace = to_regnamespace(quote_ident(current_schema())) order by 1`);
  return rows.map(({ name }) => name);
}

/**
 * Looks at a standby after a look at its primary. The lag is measured by the primary's clock alone:
 * the last commit that the standby has replayed carries the time at which the primary made it. If
 * the primary was too busy to be asked, the standby's clock stands in.
 */
export async function lookAt(
  standby: Connection,
  { lsn, at, installation }: Position,
): Promise<StandbyLook> {
  const [row] = await standby.run<StandbyLook>(sql`
    select pg_is_in_recovery() as follows,
      coalesce((select id from installation) = ${installation}::uuid, false) as is_ours,
      (select coalesce(max(number), 0) from migrations m
        where to_jsonb(m) ->> 'done' is null) as schema,
      case when pg_last_wal_replay_lsn() >= ${lsn}::pg_lsn then 0
        else extract(epoch from
          coalesce(${at}::timestamptz, clock_timestamp()) - pg_last_xact_replay_timestamp())
        end::float8 as lag_seconds`);
  return row!;
}
