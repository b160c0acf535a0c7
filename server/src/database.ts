import type { Logger } from 'pino';
import { dataDir, type Config } from './config.ts';
import { startEmbedded, type EmbeddedServer } from './db/embedded.ts';
import {
  demandPrimary,
  demandSessions,
  migrate,
  SchemaTooOld,
  SchemaUnfit,
  listUnsafeSettings,
  verifySchema,
} from './db/migrate.ts';
import { idleWrite, schemaNumber, schemaOfSession } from './db/schema.ts';
import { Outage } from './lib/sql/outage.ts';
import { throttleLog } from './lib/log-throttle.ts';
import { UnfitSession } from './lib/sql/faults.ts';
import { isUnavailable, openDatabase, type Database } from './lib/sql/sql.ts';
import { codeOf, messageOf } from './lib/unknown.ts';
import { CommandFailed } from './operations/refusal.ts';

const statementTimeoutMs = 15_000;
/** Wrong password, role, database or grants; the server's own message explains which. */
const refusalCodes = new Set(['28000', '28P01', '3D000', '42501']);

export interface ServiceDatabase {
  db: Database;
  embedded: EmbeddedServer | null;
  /** Names of the migrations that this call applied. */
  applied: string[];
  close(): Promise<void>;
}

export interface SchemaOptions {
  /**
   * False: a schema of another version is refused, because a short command must not migrate a
   * database that an older service still uses. Default: true.
   */
  migrates?: boolean;
  /** False: nor is the schema looked at. Default: true. */
  verifies?: boolean;
  /** True: the schema is migrated even if processes of another version live. */
  ignoresOthers?: boolean;
}

/**
 * Connects to the configured database, or starts the embedded one if none is configured. Migrates
 * the schema, or checks that it is current. Throws `CommandFailed` if the database cannot be used.
 */
export async function openServiceDatabase(
  config: Config,
  name: string,
  log: Logger,
  { migrates = true, verifies = true, ...options }: SchemaOptions = {},
): Promise<ServiceDatabase> {
  const embedded = config.DATABASE_URL === null ? await embed(config, log) : null;
  const outage = new Outage(log);
  const db = openDatabase({
    connection: config.DATABASE_URL ?? embedded!.connection,
    max: config.FAREBOX_DATABASE_POOL,
    statementTimeoutMs,
    // Versions from before the table of processes are known by names without a number.
    applicationName: `${name}, migration ${schemaNumber}`,
    session: schemaOfSession,
    idleWrite,
    onError: throttleLog((told) => log.warn(told, 'a database connection was lost')),
    watch: outage,
  });
  const close = async () => {
    await db.close();
    await embedded?.stopIfUnused();
  };
  try {
    if (embedded === null) await demandSessions(db).catch(tellOfAddress);
    if (migrates) await demandPrimary(db);
    // Checked before the first table is made, because commits must be durable.
    const unsafe = config.FAREBOX_UNSAFE_DATABASE ? [] : await listUnsafeSettings(db);
    // guard: durable-database
    if (unsafe.length > 0) throw new CommandFailed(unsafe.join('\n'));
    const warn = (told: string) => log.warn({}, told);
    const applied = migrates
      ? await migrate(db, { ...options, warn })
      : verifies
        ? await verified(db, embedded !== null)
        : [];
    outage.noteAnswer();
    if (applied.length > 0) log.info({ applied }, 'schema migrated');
    return { db, embedded, applied, close };
  } catch (error) {
    await close();
    throw inWords(error);
  }
}

/** A database as it is, for work that looks at its schema itself. */
export function openBeside(url: string): Database {
  return openDatabase({
    connection: url,
    max: 2,
    statementTimeoutMs,
    applicationName: `farebox command, migration ${schemaNumber}`,
    session: schemaOfSession,
  });
}

/** Checks the schema; only a new embedded database is migrated, because nobody else uses it. */
async function verified(db: Database, embedded: boolean): Promise<string[]> {
  try {
    await verifySchema(db);
    return [];
  } catch (error) {
    if (embedded && error instanceof SchemaTooOld && error.applied === 0) return migrate(db);
    throw error;
  }
}

async function embed(config: Config, log: Logger): Promise<EmbeddedServer> {
  try {
    return await startEmbedded({ dataDir: dataDir(config), log: (message) => log.info(message) });
  } catch (cause) {
    // Plain errors say what this machine lacks; an error of another class is a bug.
    if (!(cause instanceof Error) || cause.constructor !== Error) throw cause;
    throw new CommandFailed(`The embedded PostgreSQL: ${cause.message}`, { cause });
  }
}

/**
 * Throws the error of the first connections. If they do not open, DATABASE_URL is wrong, or the
 * server is down; both have errors of many classes. A connection that opens and is unfit says why.
 */
function tellOfAddress(error: unknown): never {
  if (error instanceof SchemaUnfit || error instanceof UnfitSession) throw error;
  const says = wordsOf(error).replace(/\.$/, '');
  // The server was reached, and is full or about to start or stop.
  const hint = /^5[37]/.test(codeOf(error)) ? '' : ' Check DATABASE_URL.';
  throw new CommandFailed(`The database cannot be used: ${says}.${hint}`, { cause: error });
}

/** An error of a database that cannot be used as `CommandFailed`; any other error as it is. */
export function inWords(error: unknown): unknown {
  if (error instanceof CommandFailed) return error;
  if (error instanceof SchemaUnfit) return new CommandFailed(error.message, { cause: error });
  if (!isUnavailable(error) && !refusalCodes.has(codeOf(error))) return error;
  return new CommandFailed(`The database cannot be used: ${wordsOf(error)}`, { cause: error });
}

/** If a host name has several addresses and none answers, the error has no message. */
function wordsOf(error: unknown): string {
  return messageOf(error) || codeOf(error);
}
