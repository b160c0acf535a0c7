import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
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
  const admin = new pg.Client({ connectionString: server.url('postgres') });
  await admin.connect();
  const name = `test_${randomBytes(6).toString('hex')}`;
  try {
    await admin.query('select pg_advisory_lock($1)', [templateLock]);
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [
      template,
    ]);
    if (rowCount === 0) {
      await admin.query(`create database ${template}_new`);
      const db = open(server.url(`${template}_new`));
      await migrate(db);
      await db.close();
      await admin.query(`alter database ${template}_new rename to ${template}`);
    }
    // Six times as fast if the server's files are in memory, because nothing goes through the log.
    await admin.query(`create database ${name} template ${template} strategy file_copy`);
  } finally {
    await admin.end();
  }
  const url = server.url(name);
  const db = open(url);
  return {
    url,
    db,
    async close() {
      await db.close();
      await drop(server.url('postgres'), name);
      await server.stop();
    },
  };
}

function open(connection: string): Database {
  return openDatabase({ connection, max: 6, statementTimeoutMs: 30_000, applicationName: 'test' });
}

async function drop(url: string, name: string): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`drop database ${name} with (force)`);
  await admin.end();
}

/** The suite's server, or a new one if this file is run alone. */
async function serverAddress(): Promise<{ url(database: string): string; stop(): Promise<void> }> {
  const given = process.env.FAREBOX_TEST_DATABASE;
  if (given) return { url: (database) => withDatabase(given, database), stop: async () => {} };
  const dataDir = mkdtempSync(join(tmpdir(), 'farebox-test-'));
  const embedded = await startEmbedded({ dataDir });
  const { host, port, user } = embedded.connection;
  const base = `postgres://${user}@${encodeURIComponent(host)}:${port}/postgres`;
  return {
    url: (database) => withDatabase(base, database),
    async stop() {
      await embedded.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** Replaces the path as text, because `URL` cannot parse the host of a server on a socket. */
function withDatabase(url: string, database: string): string {
  return url.replace(/\/[^/]*$/, `/${database}`);
}
