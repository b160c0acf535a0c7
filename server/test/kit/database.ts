import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { socketOf } from '../../src/lib/sql/silence.ts';
import { openDatabase, type Database } from '../../src/lib/sql/sql.ts';

/** A separate database for each test file, cloned from a migrated template. */
export interface TestDatabase {
  url: string;
  db: Database;
  close(): Promise<void>;
}

const template = 'farebox_template';
/** An arbitrary number for the lock under which one process at a time makes the template. */
const templateLock = 770_219_002;

export async function testDatabase(): Promise<TestDatabase> {
  const server = await serverAddress();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await server.admin(async (admin) => {
    await (server.template ??= makeTemplate(server, admin));
    // Six times as fast if the server's files are in memory, because nothing goes through the log.
    await admin.query(`create database ${name} template ${template} strategy file_copy`);
  });
  const url = server.url(name);
  const db = open(url);
  return {
    url,
    db,
    async close() {
      await db.close();
      await server.admin((admin) => admin.query(`drop database ${name} with (force)`));
      await server.stop();
    },
  };
}

function open(connection: string): Database {
  return openDatabase({ connection, max: 6, statementTimeoutMs: 30_000, applicationName: 'test' });
}

interface Server {
  url(database: string): string;
  admin<T>(work: (admin: pg.Client) => Promise<T>): Promise<T>;
  /** Resolves once there is a template. */
  template?: Promise<void>;
  stop(): Promise<void>;
}

async function makeTemplate(server: Server, admin: pg.Client): Promise<void> {
  await admin.query('select pg_advisory_lock($1)', [templateLock]);
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [template]);
  if (rowCount === 0) {
    await admin.query(`create database ${template}_new`);
    const db = open(server.url(`${template}_new`));
    await migrate(db);
    await db.close();
    await admin.query(`alter database ${template}_new rename to ${template}`);
  }
  await admin.query('select pg_advisory_unlock($1)', [templateLock]);
}

/** By address: a file may point to a server of its own. */
const given = new Map<string, Server>();

/** The suite's server, or a new one if this file is run alone. */
async function serverAddress(): Promise<Server> {
  const address = process.env.FAREBOX_TEST_DATABASE;
  if (address) {
    const server = given.get(address) ?? serverAt(address, async () => {});
    given.set(address, server);
    return server;
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'farebox-test-'));
  const embedded = await startEmbedded({ dataDir });
  const { host, port, user } = embedded.connection;
  return serverAt(`postgres://${user}@${encodeURIComponent(host)}:${port}/postgres`, async () => {
    await embedded.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
}

function serverAt(address: string, stop: () => Promise<void>): Server {
  let kept: Promise<pg.Client> | undefined;
  let users = 0;
  const url = (database: string) => withDatabase(address, database);
  const connect = async () => {
    const client = new pg.Client({ connectionString: url('postgres') });
    client.on('error', () => (kept = undefined));
    await client.connect();
    return client;
  };
  return {
    url,
    stop,
    // One connection for all, because a new one costs the server more than a clone. While nobody
    // uses it, it does not keep the process alive.
    async admin(work) {
      users++;
      const client = await (kept ??= connect());
      socketOf(client).ref();
      try {
        return await work(client);
      } finally {
        if (--users === 0) socketOf(client).unref();
      }
    },
  };
}

/** Replaces the path as text, because `URL` cannot parse the host of a server on a socket. */
function withDatabase(url: string, database: string): string {
  return url.replace(/\/[^/]*$/, `/${database}`);
}
