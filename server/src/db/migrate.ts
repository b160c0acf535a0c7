import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { breaksBefore } from './migration/rule.ts';
import { sql, type Database } from '../lib/sql/sql.ts';
import { findLivingProcesses, refusalOf, type Patience } from './other-processes.ts';
import { applyMigration, MigrationStopped, type MigrationFile } from './migration/apply.ts';
import { floorColumn, migrationNames, migrationsFolder, schemaOfSession } from './schema.ts';
import { demandWritable } from '../lib/sql/writes.ts';
import { needs } from '../lib/sql/session.ts';

/** Any number will do, as long as every version of the service uses the same one. */
const lockKey = 770_219_001;
/** Maximum number of tables listed when another program's database is refused. */
const tablesShown = 3;

const lookMs = 100;

type Session = Awaited<ReturnType<Database['connect']>>;

/** This version of the service cannot work with the schema that it found. */
export class SchemaUnfit extends Error {}

/** The database has not been migrated to this version yet. */
export class SchemaTooOld extends SchemaUnfit {
  readonly applied: number;
  constructor(applied: number, wanted: number, begun?: string) {
    super(
      (begun
        ? `Migration ${begun} was begun and is not done. `
        : `The database is at migration ${applied}, this version of Farebox needs ${wanted}. `) +
        'Run "farebox migrate", or start the service of this version.',
    );
    this.applied = applied;
  }
}

interface AppliedMigration {
  number: number;
  name: string;
  sha256: string;
  /** Lowest schema number of code that may run. */
  breaks_before: number;
  /** Statements that are done; null: all. */
  done: number | null;
}

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
  /** Default: those of this version. */
  migrations?: MigrationFile[];
}

/**
 * Brings the schema up to this version: forward only, one process at a time. Returns the names of
 * the applied files, and warns of rows that need an operator. Refuses five kinds of database: one
 * that a newer version has migrated past this one, one whose applied migrations differ from this
 * version's files, one of another program, one that processes use which a migration breaks, and one
 * that lets a migration not go through.
 */
export async function migrate(
  db: Database,
  { warn = () => {}, ...options }: MigrateOptions = {},
): Promise<string[]> {
  const wanted = options.migrations ?? (await readMigrations());
  const session = await db.connect();
  try {
    await waitForLock(session, 'pg_try_advisory_lock');
    await session.query(schemaOfSession);
    await findOurs(session);
    await session.query(
      `create table if not exists migrations (
         number integer primary key, name text not null, sha256 text not null,
           applied_at timestamptz not null default now())`,
    );
    const rows = await readApplied(session);
    verify(wanted, rows);
    const missing = missingOf(wanted, rows);
    const floor = Math.max(0, ...missing.map(breaksBefore));
    // guard: older-process-lives
    if (floor > floorOf(rows) && !options.ignoresOthers)
      await demandAlone(db, floor, rows, warn, options.patience);
    for (const migration of missing) {
      const begun = rows[migration.number - 1];
      const notes = await applyMigration(session, migration, begun?.done ?? undefined);
      notes.forEach(warn);
    }
    return missing.map(({ name }) => name);
  } catch (error) {
    if (error instanceof MigrationStopped) throw new SchemaUnfit(error.message, { cause: error });
    throw error;
  } finally {
    // Ending the session frees the lock and rolls back a migration that failed.
    await session.end();
  }
}

/** Throws `SchemaUnfit` if a process lives whose code does not know the migration `floor`. */
async function demandAlone(
  db: Database,
  floor: number,
  rows: AppliedMigration[],
  tell: (message: string) => void,
  patience?: Patience,
): Promise<void> {
  const registers = rows.some(({ name }) => name.endsWith('_versions.sql'));
  const others = await findLivingProcesses(db, { schema: floor, registers, tell }, patience);
  if (others.length > 0) throw new SchemaUnfit(refusalOf(others));
}

/** Not in one statement: an index is built once no older statement runs. */
async function waitForLock(
  session: Session,
  lock: 'pg_try_advisory_lock' | 'pg_try_advisory_lock_shared',
): Promise<void> {
  for (;;) {
    const { rows } = await session.query<{ is_ours: boolean }>(`select ${lock}($1) as is_ours`, [
      lockKey,
    ]);
    if (rows[0]!.is_ours) return;
    await pause(lookMs);
  }
}

/** Migrations that are not applied, or only begun. */
function missingOf(wanted: MigrationFile[], rows: AppliedMigration[]): MigrationFile[] {
  return wanted.filter((_, i) => rows[i]?.done !== null);
}

/** Lowest schema number of the code that may run. */
function floorOf(rows: AppliedMigration[]): number {
  return Math.max(0, ...rows.map((row) => row.breaks_before));
}

/**
 * Checks that this version can work with the schema, after waiting for a running migration. Changes
 * nothing, so read access is enough.
 */
export async function verifySchema(db: Database): Promise<void> {
  const wanted = await readMigrations();
  const session = await db.connect();
  try {
    await waitForLock(session, 'pg_try_advisory_lock_shared');
    const applied = (await findOurs(session)) ? await readApplied(session) : [];
    verify(wanted, applied);
    const [missing] = missingOf(wanted, applied);
    const begun = applied[(missing?.number ?? 0) - 1]?.name;
    if (missing) throw new SchemaTooOld(applied.length, wanted.length, begun);
  } finally {
    await session.end();
  }
}

export interface SchemaState {
  /** Migrations of this version that are missing, with the statements that are done. */
  pending: (MigrationFile & { done: number })[];
  /** Number of the newest migration that is there. */
  applied: number;
  /** Lowest schema number of the code that may run once nothing is missing. */
  lowest: number;
}

/** Reads what is missing. Throws `SchemaUnfit` where `migrate` would. Changes nothing. */
export async function readState(
  session: Session,
  migrations?: MigrationFile[],
): Promise<SchemaState> {
  const wanted = migrations ?? (await readMigrations());
  const rows = (await findOurs(session)) ? await readApplied(session) : [];
  verify(wanted, rows);
  const missing = missingOf(wanted, rows);
  return {
    pending: missing.map((each) => ({ ...each, done: rows[each.number - 1]?.done ?? 0 })),
    applied: rows.length,
    lowest: Math.max(floorOf(rows), ...missing.map(breaksBefore)),
  };
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
    `select number, name, sha256, ${floorColumn} as breaks_before,
       (to_jsonb(m) ->> 'done')::int as done from migrations m order by number`,
  );
  return rows;
}

/** Newer migrations than this version's may be there if they let it run. */
function verify(wanted: MigrationFile[], applied: AppliedMigration[]): void {
  const floor = floorOf(applied);
  // guard: newer-database-left-alone
  if (floor > wanted.length) {
    throw new SchemaUnfit(
      `The database is at migration ${applied.length} and works only with versions of Farebox ` +
        `that know ${floor}; this one knows ${wanted.length}. Start the version that migrated ` +
        'it, or a newer one. The way back is a backup from before that migration.',
    );
  }
  for (const [i, file] of wanted.entries()) {
    const row = applied[i];
    if (row && row.sha256 !== file.sha256) {
      throw new SchemaUnfit(
        `Migration ${row.name} was applied with other contents than this version's file ` +
          `${file.name}. Restore the file, or restore the database from a backup.`,
      );
    }
  }
}

/** The migrations of this version, in order. */
export function readMigrations(): Promise<MigrationFile[]> {
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
