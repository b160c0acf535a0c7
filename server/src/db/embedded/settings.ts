/** Settings of the embedded PostgreSQL. */
import { port } from './files.ts';

const chosen: Record<string, string> = {
  // A commit returns only after its data is on the disk.
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',

  // For small hosts: few processes, and little memory until it is used.
  max_connections: '60',
  shared_buffers: '128MB',
  max_wal_size: '1GB',
  min_wal_size: '80MB',
  io_method: 'sync',
  max_worker_processes: '2',
  max_parallel_workers_per_gather: '0',
  max_logical_replication_workers: '0',
  max_wal_senders: '0',
  wal_compression: 'on',
  random_page_cost: '1.1',
  jit: 'off',

  // Required for backups with pg_backup_start.
  wal_level: 'replica',

  // Queue tables change all their rows all the time: clean up early, often and quickly.
  autovacuum_max_workers: '2',
  autovacuum_naptime: '10s',
  autovacuum_vacuum_scale_factor: '0.02',
  autovacuum_vacuum_threshold: '500',
  autovacuum_analyze_scale_factor: '0.05',
  autovacuum_vacuum_cost_limit: '2000',

  // Statements and their values must not appear in a log.
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
  log_timezone: 'UTC',
  timezone: 'UTC',
  cluster_name: 'farebox',
};

/** Command line arguments. `extra` overrides these settings, except those of the socket. */
export function settingsFor(socketDir: string, extra: Record<string, string>): string[] {
  const all = {
    ...chosen,
    ...extra,
    listen_addresses: '',
    port: String(port),
    // The setting is a list, so the path is quoted in case it contains a comma.
    unix_socket_directories: `"${socketDir.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
  };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
