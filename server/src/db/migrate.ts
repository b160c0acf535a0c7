import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setEmailForms } from './accounts/email-forms.ts';
import { sql, type Database } from '../lib/sql/sql.ts';
import { findOthers, refusalOf, type Patience } from './alone.ts';
import { migrationNames, migrationsFolder, schemaOfSession } from './schema.ts';
import { demandWritable } from '../lib/sql/writes.ts';
import { needs } from '../lib/sql/session.ts';

/** Any number will do, as long as every version of the service uses the same one. */
const lockKey = 770_219_001;
/** Maximum number of tables listed when another program's database is refused. */
const tablesShown = 3;

type Session = Awaited<ReturnType<Database['connect']>>;

interface Migration {
  number: number;
  name: string;
  text: string;
  sha256: string;
}

/** This version of the service cannot work with the schema that it found. */
export class SchemaUnfit extends Error {}

/** The database has not been migrated to this version yet. */
export class SchemaTooOld extends SchemaUnfit {
  readonly applied: number;
  constructor(applied: number, wanted: number) {
    super(
      `The database is at migration ${applied}, this version of Farebox needs ${wanted}. ` +
        'Run "farebox migrate", or start the service of this version.',
    );
    this.applied = applied;
  }
}

interface AppliedMigration {
  number: number;
  name: string;
  sha256: string;
}

/** Steps of migrations that SQL cannot do, by number. Each returns warnings for the operator. */
const steps: Record<number, (session: Session) => Promise<string[]>> = { 36: setEmailForms };

const shared =
  'DATABASE_URL points to a pooler that may switch sessions between two statements ' +
  '(transaction or statement mode). Connect directly, or set the pooler to session mode.';

/**
 * Throws `SchemaUnfit` if a connection pooler shares server sessions, because prepared statements,
 * locks and time limits belong to a session.
 */
export async function demandSessions(db: Database): Promise<void> {
  type Checkout = Awaited<ReturnType<Database['checkout']>>;
  const readPid = async (client: Checkout) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return rows[0]!.pid;
  };
  const clients: Checkout[] = [];
  try {
    const one = await db.checkout();
    clients.push(one);
    const other = await db.checkout();
    clients.push(other);
    // A pooler that shares sessions gives a connection two server processes, or two connections
    // the same process.
    for (let round = 0; round < 3; round++) {
      const pids = [await readPid(one), await readPid(one), await readPid(other)];
      if (pids[0] !== pids[1] || pids[1] === pids[2]) throw new SchemaUnfit(shared);
    }
  } finally {
    for (const client of clients) client.release();
  }
}

/** Throws `ReadOnlyDatabase` if the database is a standby, or is set to be read-only. */
export async function demandPrimary(db: Database): Promise<void> {
  const client = await db.checkout();
  try {
    await demandWritable(client);
  } finally {
    client.release();
  }
}

export interface MigrateOptions {
  /** True: processes of another version may live on; the database refuses their writes. */
  ignoresOthers?: boolean;
  patience?: Patience;
  warn?: (message: string) => void;
}

/**
 * Brings the schema up to this version: forward only, one transaction per file, one process at a
 * time. Returns the names of the applied files, and warns of rows that need an operator. Refuses
 * four kinds of database: one migrated by a newer version, one whose applied migrations differ
 * from this version's files, one of another program, and one that processes of another version use.
 */
export async function migrate(
  db: Database,
  { warn = () => {}, ...options }: MigrateOptions = {},
): Promise<string[]> {
  const wanted = await readMigrations();
  const session = await db.connect();
  try {
    await session.query('select pg_advisory_lock($1)', [lockKey]);
    await session.query(schemaOfSession);
    await findOurs(session);
    await session.query(
      `create table if not exists migrations (
         number integer primary key, name text not null, sha256 text not null,
           applied_at timestamptz not null default now())`,
    );
    const rows = await readApplied(session);
    verify(wanted, rows);
    const missing = wanted.slice(rows.length);
    if (missing.length > 0 && !options.ignoresOthers) {
      const registers = rows.some(({ name }) => name.endsWith('_versions.sql'));
      const seen = { schema: wanted.length, registers, tell: warn };
      const others = await findOthers(db, seen, options.patience);
      // guard: older-process-lives
      if (others.length > 0) throw new SchemaUnfit(refusalOf(others));
    }
    for (const migration of missing) {
      await session.query('begin');
      // Transactions of an older process end before the migration counts what they wrote, and
      // later ones see its number and are refused. Each one locks a balance or writes a request.
      // guard: migration-waits-for-writers
      if (migration.number > 1)
        await session.query('lock table balances, requests in exclusive mode');
      await session.query(migration.text);
      const notes = (await steps[migration.number]?.(session)) ?? [];
      await session.query('insert into migrations (number, name, sha256) values ($1, $2, $3)', [
        migration.number,
        migration.name,
        migration.sha256,
      ]);
      await session.query('commit');
      notes.forEach(warn);
    }
    return missing.map(({ name }) => name);
  } finally {
    // Ending the session frees the lock and rolls back a migration that failed.
    await session.end();
  }
}

/**
 * Checks that the schema is this version's, after waiting for a running migration. Changes nothing,
 * so read access is enough.
 */
export async function verifySchema(db: Database): Promise<void> {
  const wanted = await readMigrations();
  const session = await db.connect();
  try {
    await session.query('select pg_advisory_lock_shared($1)', [lockKey]);
    const applied = (await findOurs(session)) ? await readApplied(session) : [];
    verify(wanted, applied);
    if (applied.length < wanted.length) throw new SchemaTooOld(applied.length, wanted.length);
  } finally {
    await session.end();
  }
}

/** True if our migrations are recorded, false in an empty database; throws in any other. */
async function findOurs(session: Session): Promise<boolean> {
  const path = await searchPath(session);
  const [own] = path.schemas;
  if (own === undefined) {
    throw new SchemaUnfit(
      `This role can use no schema of search_path = ${path.setting}: grant it USAGE on one, ` +
        'such as public.',
    );
  }
  // Others are shown as "tables of another program", which would not help here.
  if (own === 'pg_catalog' || own === 'information_schema') {
    throw new SchemaUnfit(
      `PostgreSQL has search_path = ${path.setting}; Farebox needs its own schema first.`,
    );
  }
  const { rows } = await session.query<{ name: string; columns: number }>(
    `select c.relname as name,
       (select count(*) from pg_attribute a where a.attrelid = c.oid and not a.attisdropped
         and a.attname in ('number', 'name', 'sha256'))::int as columns
     from pg_class c where c.relkind in ('r', 'p')
       and c.relnamespace = to_regnamespace(quote_ident(current_schema()))
       and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass
         and d.objid = c.oid and d.deptype = 'e')
     order by 1`,
  );
  if (rows.some(({ name, columns }) => name === 'migrations' && columns === 3)) return true;
  if (rows.length === 0) return refuseSecond(session, path.setting);
  const names = rows.slice(0, tablesShown).map(({ name }) => name);
  if (rows.length > tablesShown) names.push('…');
  throw new SchemaUnfit(
    `This database has tables of another program (${names.join(', ')}) and none of ` +
      'Farebox. Give Farebox its own empty database.',
  );
}

/** The setting, and the schemas in it that exist and that this role may use. */
async function searchPath(session: Session): Promise<{ setting: string; schemas: string[] }> {
  const { rows } = await session.query<{ setting: string; schemas: string[] }>(
    `select current_setting('search_path') as setting, current_schemas(false)::text[] as schemas`,
  );
  return rows[0]!;
}

/**
 * Refuses to make second tables, as after a change of `search_path`; else returns false. Another
 * role's schema may hold tables of another installation.
 */
async function refuseSecond(session: Session, path: string): Promise<false> {
  const { rows } = await session.query<{ name: string }>(
    `select nspname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where relname in ('migrations', 'transfers') and relkind in ('r', 'p')
       and has_schema_privilege(n.oid, 'USAGE')
     group by 1 having count(*) = 2`,
  );
  if (rows.length === 0) return false;
  throw new SchemaUnfit(
    `The tables of Farebox are in the schema ${rows[0]!.name}, which is not the first in ` +
      `search_path = ${path}. Put it first.`,
  );
}

async function readApplied(session: Session): Promise<AppliedMigration[]> {
  const { rows } = await session.query<AppliedMigration>(
    'select number, name, sha256 from migrations order by number',
  );
  return rows;
}

function verify(wanted: Migration[], applied: AppliedMigration[]): void {
  // guard: newer-database-left-alone
  if (applied.length > wanted.length) {
    throw new SchemaUnfit(
      `The database is at migration ${applied.length}, this version of Farebox knows ` +
        `${wanted.length}. Start the version that migrated it, or a newer one.`,
    );
  }
  for (const [i, row] of applied.entries()) {
    if (row.sha256 !== wanted[i]?.sha256) {
      throw new SchemaUnfit(
        `Migration ${row.name} was applied with other contents than this version's file ` +
          `${wanted[i]?.name}. Restore the file, or restore the database from a backup.`,
      );
    }
  }
}

/** The migrations of this version, in order. */
export function readMigrations(): Promise<Migration[]> {
  return Promise.all(
    migrationNames.map(async (name) => {
      const text = await readFile(join(migrationsFolder, name), 'utf8');
      return {
        number: Number(name.slice(0, 4)),
        name,
        text,
        sha256: createHash('sha256').update(text).digest('hex'),
      };
    }),
  );
}

const durable = { fsync: 'on', full_page_writes: 'on' } as const;

/**
 * Checks that committed data survives a power cut, and that the server is new enough. Returns one
 * sentence for each problem.
 */
export async function listUnsafeSettings(db: Database): Promise<string[]> {
  const rows = await db.run<{ name: string; setting: string }>(sql`
    select name, setting from pg_settings
    where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'server_version_num',
      'server_encoding')`);
  const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  const wrong = Object.entries(durable)
    .filter(([name, value]) => settings[name] !== value)
    .map(([name, value]) => needs(name, settings[name], value));
  if (settings.synchronous_commit === 'off') {
    wrong.push('PostgreSQL has synchronous_commit = off; Farebox needs on (or a stricter value).');
  }
  if (Number(settings.server_version_num) < 150_000) {
    const version = Math.floor(Number(settings.server_version_num) / 10_000);
    wrong.push(`PostgreSQL is version ${version}; Farebox needs 15 or later.`);
  }
  if (settings.server_encoding !== 'UTF8') {
    wrong.push(`The database's encoding is ${settings.server_encoding}; Farebox needs UTF8.`);
  }
  return wrong;
}
