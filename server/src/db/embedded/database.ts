/** First connection to the embedded PostgreSQL once it takes connections. */
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { port } from './files.ts';

const GONE_MS = 1000;

export interface Connection {
  /** A folder: the server listens on a Unix socket only. */
  host: string;
  port: number;
  user: string;
  database: string;
}

export function connectionTo(socketDir: string, database: string): Connection {
  return { host: socketDir, port, user: 'farebox', database };
}

/**
 * Makes the database `farebox` if it is missing. The connection stays open: it emits `end` when the
 * server is gone.
 */
export async function hold(socketDir: string): Promise<pg.Client> {
  const client = await connect(socketDir);
  try {
    const found = await client.query(`select from pg_database where datname = 'farebox'`);
    if (found.rowCount === 0) await client.query('create database farebox');
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  return client;
}

/**
 * Also true if the server refuses the connection, because nothing is known then. A client that has
 * just disconnected, possibly of this process, is listed a moment longer, so the answer true takes
 * `GONE_MS`.
 */
export async function hasOtherClients(socketDir: string): Promise<boolean> {
  const deadline = performance.now() + GONE_MS;
  let client: pg.Client | undefined;
  try {
    client = await connect(socketDir);
    for (;;) {
      const { rows } = await client.query<{ found: boolean }>(
        `select exists (select from pg_stat_activity
          where backend_type = 'client backend' and pid <> pg_backend_pid()) as found`,
      );
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
  // Queries report a broken connection; without a listener the event would end the process.
  client.on('error', () => {});
  await client.connect();
  return client;
}
