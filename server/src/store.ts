import type { Logger } from 'pino';
import { dataDir, type Config } from './config.ts';
import { startEmbedded, type Embedded } from './db/embedded.ts';
import { migrate, SchemaUnfit, unsafeSettings } from './db/migrate.ts';
import { codeOf, isUnavailable, openDatabase, type Database } from './lib/sql.ts';
import { Refused } from './operations/account.ts';

const statementTimeoutMs = 15_000;
/** Wrong password, role, database or grants: what is wrong stands in the server's own sentence. */
const refusalCodes = new Set(['28000', '28P01', '3D000', '42501']);

export interface Store {
  db: Database;
  embedded: Embedded | null;
  /** Names of the migrations that this opening has applied. */
  applied: string[];
  close(): Promise<void>;
}

/**
 * Connects to the configured database, starting the embedded one where none is; brings the schema
 * up to date. Throws `Refused` where the database cannot be used.
 */
export async function openStore(config: Config, name: string, log: Logger): Promise<Store> {
  const embedded = config.DATABASE_URL === null ? await embed(config, log) : null;
  const db = openDatabase({
    connection: config.DATABASE_URL ?? embedded!.connection,
    max: config.FAREBOX_DATABASE_POOL,
    statementTimeoutMs,
    applicationName: name,
    onError: (error) => log.warn({ err: error }, 'a database connection was lost'),
  });
  const close = async () => {
    await db.close();
    await embedded?.stopIfUnused();
  };
  try {
    const applied = await migrate(db);
    if (applied.length > 0) log.info({ applied }, 'schema migrated');
    const unsafe = config.FAREBOX_UNSAFE_DATABASE ? [] : await unsafeSettings(db);
    if (unsafe.length > 0) throw new Refused(unsafe.join('\n'));
    return { db, embedded, applied, close };
  } catch (error) {
    await close();
    throw inWords(error);
  }
}

async function embed(config: Config, log: Logger): Promise<Embedded> {
  try {
    return await startEmbedded({ dataDir: dataDir(config), log: (message) => log.info(message) });
  } catch (cause) {
    // It says in plain errors what this machine lacks; what has a class of its own is a fault.
    if (!(cause instanceof Error) || cause.constructor !== Error) throw cause;
    throw new Refused(`The embedded PostgreSQL: ${cause.message}`, { cause });
  }
}

function inWords(error: unknown): unknown {
  if (error instanceof SchemaUnfit) return new Refused(error.message, { cause: error });
  if (!isUnavailable(error) && !refusalCodes.has(codeOf(error))) return error;
  // Of a name with several addresses there are several errors, and no message.
  const says = (error as Error).message || codeOf(error);
  return new Refused(`The database cannot be used: ${says}`, { cause: error });
}
