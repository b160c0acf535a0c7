/** Connections by which a process holds the embedded PostgreSQL and finds its other clients. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { port } from './files.ts';

const goneMs = 1000;

/** Each process that holds the server shares this advisory lock. Any unused number will do. */
const holderLock = 4_607_182;

export interface ServerAddress {
  /** A folder, because the server listens on a Unix socket only. */
  host: string;
  port: number;
  user: string;
  database: string;
}

export function connectionTo(socketDir: string, database: string): ServerAddress {
  return { host: socketDir, port, user: 'farebox', database };
}

/**
 * Holds the server, and creates the database `farebox` if it is missing. The returned connection
 * stays open and emits `end` when the server has ended.
 */
export async function hold(socketDir: string): Promise<pg.Client> {
  const client = await connect(socketDir);
  try {
    const found = await client.query(`select from pg_database where datname = 'farebox'`);
    if (found.rowCount === 0) await client.query('create database farebox');
    await client.query(`select pg_advisory_lock_shared(${holderLock})`);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  return client;
}

/**
 * Closes the connection that `hold` returned. The lock is released first, because the server would
 * keep it for a moment after the connection was closed.
 */
export async function letGo(client: pg.Client): Promise<void> {
  await client.query(`select pg_advisory_unlock_shared(${holderLock})`).catch(() => {});
  await client.end();
}

/**
 * Whether others are connected; also true if the server cannot be asked. Other processes of Farebox
 * are recognised at once by their lock. PostgreSQL lists any other client for a moment after it has
 * disconnected, so such a client counts only if it is still listed after `goneMs`.
 */
export async function hasOtherClients(socketDir: string): Promise<boolean> {
  const deadline = performance.now() + goneMs;
  let client: pg.Client | undefined;
  try {
    client = await connect(socketDir);
    const held = await client.query<{ alone: boolean }>(
      `select pg_try_advisory_lock(${holderLock}) as alone`,
    );
    if (!held.rows[0]!.alone) return true;
    for (;;) {
      const { rows } = await client.query<{ found: boolean }>(
        `select exists (select from pg_stat_activity
          where backend_type = 'client backend' and pid <> pg_backend_pid()) as found`,
      );
      // guard: failed-start-stops-postgres
      if (!rows[0]!.found) return false;
      if (performance.now() > deadline) return true;
      await delay(10);
    }
  } catch {
    return true;
  } finally {
    await client?.end().catch(() => {});
  }
}

async function connect(socketDir: string): Promise<pg.Client> {
  const connection = connectionTo(socketDir, 'postgres');
  const client = new pg.Client({ ...connection, ssl: false, connectionTimeoutMillis: 10_000 });
  // Queries report a broken connection; without this listener the event would end the process.
  client.on('error', () => {});
  await client.connect();
  return client;
}
