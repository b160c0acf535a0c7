import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { dataDir, type Config } from '../config.ts';
import { inWords, openServiceDatabase, type SchemaOptions } from '../database.ts';
import { createLog } from '../lib/log.ts';
import type { Connection, Database } from '../lib/sql/sql.ts';
import { requireAccount } from '../operations/accounts/account.ts';
import {
  commandLine,
  runAction,
  type ActionResult,
  type OperatorAction,
} from '../operations/operator-action.ts';
import { watchVersion } from '../worker/background/version.ts';
import type { Context } from './output.ts';

/**
 * Runs a short command on the database, also beside a running service. An embedded database is
 * started if it does not run yet.
 */
export async function withDatabase<T>(
  context: Context,
  work: (db: Database, applied: string[]) => Promise<T>,
  options: SchemaOptions = { migrates: false },
): Promise<T> {
  if (context.db) return work(context.db, []);
  // An outage ends the command, and its error says so.
  const log = createLog('error');
  const database = await openServiceDatabase(
    { ...context.config, FAREBOX_DATABASE_POOL: 2 },
    'farebox command',
    log,
    options,
  );
  const { db } = database;
  const version = await watchVersion({ db, log, kind: 'command' });
  try {
    tellOfNew(context, database.applied);
    return await work(db, database.applied);
  } catch (error) {
    throw inWords(error);
  } finally {
    await version.stop();
    // guard: verb-stops-postgres
    await database.close();
  }
}

/** False: `withDatabase` would make a new embedded one. */
export function hasDatabase(config: Config): boolean {
  const kept = ['postgres', 'postgres_location'];
  return (
    config.DATABASE_URL !== null || kept.some((name) => existsSync(join(dataDir(config), name)))
  );
}

/**
 * Warns of a new database. The default data folder depends on the working folder, so in another
 * folder all accounts seem to be gone.
 */
function tellOfNew({ config, err }: Context, applied: string[]): void {
  if (config.DATABASE_URL !== null || !applied.some((name) => name.startsWith('0001_'))) return;
  err(`There was no database in ${dataDir(config)}; a new one was made.`);
}

/** Performs an action in one transaction with its row of the operator's log. */
export function act<Answer>(
  context: Context,
  action: OperatorAction,
  work: (db: Database) => Promise<ActionResult<Answer>>,
): Promise<Answer> {
  return withDatabase(context, (db) => runAction(db, commandLine, action, work));
}

/** The id of the account with this e-mail address or id; null if none is given. */
export async function accountId(db: Connection, named: string | undefined): Promise<string | null> {
  return named === undefined ? null : (await requireAccount(db, named)).id;
}
