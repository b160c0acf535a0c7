import { sql, type Connection } from '../lib/sql/sql.ts';

/** The state of the database server, as far as this role may see it. */
export interface ServerHealth {
  /** As the server names it: 15.6. */
  version: string;
  /** Connections of all programs, and how many others than superusers may have. */
  connections: number;
  connections_max: number;
  /** Indexes that are not used, because their making was broken off. */
  invalid_indexes: string[];
  /** The oldest open transaction of this database. */
  transaction_seconds: number;
  /** Whether this role sees the transactions of other roles. */
  sees_all: boolean;
  /** Transactions since the oldest rows were frozen; PostgreSQL stops at about 2 billion. */
  frozen_age: number;
  autovacuum: boolean;
  /** Settings of the docs that still have their default. */
  untuned: string[];
  archives: boolean;
  /** When the archive last took, and last refused, a segment of the write-ahead log. */
  archived_at: Date | null;
  archive_failed_at: Date | null;
}

const tuned = ['shared_buffers', 'max_wal_size', 'jit', 'autovacuum_naptime'];

export async function readServerHealth(db: Connection): Promise<ServerHealth> {
  const [row] = await db.run<ServerHealth>(sql`
    select current_setting('server_version') as version,
      -- Without pg_read_all_stats, the kind of other roles' processes is hidden.
      (select count(*)::int from pg_stat_activity where backend_type = 'client backend'
        or backend_type is null and datid is not null and usesysid is not null) as connections,
      pg_has_role('pg_read_all_stats', 'usage') as sees_all,
      current_setting('max_connections')::int
        - current_setting('superuser_reserved_connections')::int as connections_max,
      array(select i.indexrelid::regclass::text from pg_index i
        join pg_class c on c.oid = i.indexrelid
        where not i.indisvalid and c.relnamespace = to_regnamespace(quote_ident(current_schema()))
          and not exists (select from pg_stat_progress_create_index p
            where p.index_relid = i.indexrelid)
        order by 1) as invalid_indexes,
      (select coalesce(max(extract(epoch from clock_timestamp() - xact_start)), 0)::float8
        from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend'
          and pid <> pg_backend_pid()) as transaction_seconds,
      (select age(datfrozenxid) from pg_database where datname = current_database())
        as frozen_age,
      current_setting('autovacuum')::bool as autovacuum,
      array(select name from pg_settings where name = any(${tuned}::text[]) and setting = boot_val
        order by name) as untuned,
      current_setting('archive_mode') <> 'off' as archives, last_archived_time as archived_at,
      last_failed_time as archive_failed_at
    from pg_stat_archiver`);
  return row!;
}
