/** First contact with the embedded PostgreSQL once it takes connections. */
import pg from 'pg';
import { port } from './files.ts';

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

/** Makes the database `farebox` where it is missing. */
export async function ensureDatabase(socketDir: string): Promise<void> {
  await withClient(connectionTo(socketDir, 'postgres'), async (client) => {
    const found = await client.query(`select from pg_database where datname = 'farebox'`);
    if (found.rowCount === 0) await client.query('create database farebox');
  });
}

/** True also where the server does not let us in to see, which is no reason to stop it. */
export async function hasOtherClients(socketDir: string): Promise<boolean> {
  const { rows } = await withClient(connectionTo(socketDir, 'postgres'), (client) =>
    client.query<{ found: boolean }>(
      `select exists (select from pg_stat_activity
        where backend_type = 'client backend' and pid <> pg_backend_pid()) as found`,
    ),
  ).catch(() => ({ rows: [{ found: true }] }));
  return rows[0]!.found;
}

async function withClient<T>(
  connection: Connection,
  run: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ ...connection, ssl: false, connectionTimeoutMillis: 10_000 });
  // A connection that breaks is told by the query; the event alone would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return await run(client);
  } finally {
    await client.end().catch(() => {});
  }
}
