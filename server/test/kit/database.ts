import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { startEmbedded } from '../../src/db/embedded.ts';
import { migrate, readMigrations } from '../../src/db/migrate.ts';
import { socketOf } from '../../src/lib/sql/silence.ts';
import { schemaOfSession } from '../../src/db/schema.ts';
import { openDatabase, rawSql, sql, type Database } from '../../src/lib/sql/sql.ts';
import { atEnd } from './at-end.ts';

/** A separate database, cloned from a migrated template or emptied after another test. */
export interface TestDatabase {
  url: string;
  db: Database;
  close(): Promise<void>;
}

interface Clone {
  name: string;
  db: Database;
}

/** An arbitrary number for the lock under which one process at a time makes the template. */
const templateLock = 770_219_002;

export async function testDatabase(): Promise<TestDatabase> {
  const server = await serverAddress();
  const { name, db } = server.free.pop() ?? (await clone(server));
  return {
    url: server.url(name),
    db,
    async close() {
      if (await isEmptied(server, db)) server.free.push({ name, db });
      else await drop(server, { name, db });
      await server.stop();
    },
  };
}

async function clone(server: Server): Promise<Clone> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  await server.admin(async (admin) => {
    const template = await (server.template ??= makeTemplate(server, admin));
    // Six times as fast if the server's files are in memory, because nothing goes through the log.
    await admin.query(`create database ${name} template ${template} strategy file_copy`);
  });
  const db = open(server.url(name));
  await startDay(db);
  if (server.keeps) server.schema ??= (await stateOf(db)).schema;
  return { name, db };
}

async function drop(server: Server, { name, db }: Clone): Promise<void> {
  await db.close();
  await server.admin((admin) => admin.query(`drop database ${name} with (force)`));
}

/**
 * Empties a database for the next test and keeps its connections, because a new one costs more than
 * most tests: it reads the catalog and plans each statement again. False if the database cannot be
 * used again: its schema was changed, something still runs on it, or others are still connected.
 */
async function isEmptied(server: Server, db: Database): Promise<boolean> {
  const { total, idle } = db.stats();
  if (!server.keeps || total === 0 || idle < total) return false;
  try {
    let state = await stateOf(db);
    // A closed connection is listed for a moment longer.
    for (let n = 0; n < 20 && state.sessions > db.stats().total; n++) {
      await pause(5);
      state = await stateOf(db);
    }
    if (state.schema !== server.schema || state.sessions > db.stats().total) return false;
    if (state.filled.length > 0)
      await db.tx(async (tx) => {
        // Without the triggers that keep the books from being emptied.
        tx.send(rawSql('set local session_replication_role = replica'));
        tx.send(rawSql(`truncate ${state.filled} restart identity cascade`));
      });
    await startDay(db);
    return true;
  } catch {
    // The test has broken the connections, or the user may not do this.
    return false;
  }
}

/** As if it had been migrated now: the template may be from the day before, whose end is sealed. */
const startDay = (db: Database) => db.run(rawSql('update migrations set applied_at = now()'));

interface State {
  /** A digest of the schema and its migrations; the same for each clone. */
  schema: string;
  /** Tables with rows that the template does not have. */
  filled: string[];
  sessions: number;
}

async function stateOf(db: Database): Promise<State> {
  const [state] = await db.run<State>(sql`
      with own as (select oid, relname, relkind, relpersistence from pg_class
        where relnamespace = 'public'::regnamespace),
      parts as (
        select concat(relname, relkind, relpersistence) as part from own
        union all select concat('c', oid, xmin) from pg_constraint where conrelid in (select oid from own)
        union all select concat('t', oid, xmin) from pg_trigger where tgrelid in (select oid from own)
        union all select concat('a', attrelid, attnum, xmin) from pg_attribute where attrelid in (select oid from own)
        union all select concat('m', number) from migrations
        union all select concat('p', oid, xmin) from pg_proc where pronamespace = 'public'::regnamespace)
      select (select md5(string_agg(part, ',' order by part)) from parts) as schema,
        array(select quote_ident(relname) from own where relkind = 'r' and relname <> 'migrations'
          and pg_relation_size(oid) > 0) as filled,
        (select count(*)::int from pg_stat_activity where datname = current_database()) as sessions`);
  return state!;
}

function open(connection: string): Database {
  return openDatabase({
    connection,
    max: 6,
    statementTimeoutMs: 30_000,
    applicationName: 'test',
    session: schemaOfSession,
  });
}

interface Server {
  /** Whether the server outlives a test, so that emptied databases can be used again. */
  keeps: boolean;
  /** Emptied databases. */
  free: Clone[];
  schema?: string;
  url(database: string): string;
  admin<T>(work: (admin: pg.Client) => Promise<T>): Promise<T>;
  /** The name of the template, once there is one. */
  template?: Promise<string>;
  stop(): Promise<void>;
}

async function makeTemplate(server: Server, admin: pg.Client): Promise<string> {
  // By the migrations, because the server may outlive a change of them.
  const template = `farebox_template_${digestOf(await readMigrations())}`;
  await admin.query('select pg_advisory_lock($1)', [templateLock]);
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [template]);
  if (rowCount === 0) {
    await admin.query(`create database ${template}_new`);
    const db = open(server.url(`${template}_new`));
    await migrate(db);
    await db.run(rawSql('vacuum freeze'));
    await db.close();
    // A first connection writes the file from which those to the clones read the catalog.
    const first = open(server.url(`${template}_new`));
    await first.run(rawSql('select 1'));
    await first.close();
    await admin.query(`alter database ${template}_new rename to ${template}`);
  }
  await admin.query('select pg_advisory_unlock($1)', [templateLock]);
  return template;
}

function digestOf(migrations: { sha256: string }[]): string {
  const all = migrations.map(({ sha256 }) => sha256).join();
  return createHash('sha256').update(all).digest('hex').slice(0, 12);
}

/** Servers by address, because a file may have its own. */
const given = new Map<string, Server>();

/** The suite's server, or a new one if this file is run alone. */
async function serverAddress(): Promise<Server> {
  const address = process.env.FAREBOX_TEST_DATABASE;
  if (address) {
    const known = given.get(address);
    if (known) return known;
    const server = serverAt(address, true, async () => {});
    given.set(address, server);
    // By then a file's own server has stopped.
    atEnd(async () => {
      // A file that runs alone closes its database after this hook.
      server.keeps = false;
      for (const each of server.free) await drop(server, each).catch(() => {});
    });
    return server;
  }
  const dataDir = mkdtempSync(join(tmpdir(), 'farebox-test-'));
  const embedded = await startEmbedded({ dataDir });
  const { host, port, user } = embedded.connection;
  return serverAt(
    `postgres://${user}@${encodeURIComponent(host)}:${port}/postgres`,
    false,
    async () => {
      await embedded.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  );
}

function serverAt(address: string, keeps: boolean, stop: () => Promise<void>): Server {
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
    keeps,
    free: [],
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
