import type { StandbyState } from '../core/standby.ts';
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

/** Whose data a server has. */
export interface Origin {
  system_identifier: string;
  /** Each failover begins one. Null: a standby receives nothing, or its role may not see it. */
  timeline: number | null;
}

/** Null if the server does not say, as some managed ones. */
export async function readOrigin(db: Connection): Promise<Origin | null> {
  // The disk of a standby has the timeline before a failover for minutes.
  const asked = db.run<Origin>(sql`
    select system_identifier::text, case when pg_is_in_recovery()
      then (select received_tli from pg_stat_wal_receiver)
      else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int end as timeline
    from pg_control_system()`);
  return asked.then(([row]) => row!).catch(() => null);
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
export async function readStandbyState(
  standby: Connection,
  { lsn, at, installation }: Position,
): Promise<StandbyState> {
  const [row] = await standby.run<StandbyState>(sql`
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
