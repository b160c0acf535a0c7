import { dataDir, type Config } from '../config.ts';
import { createLog } from '../lib/log.ts';
import type { Database } from '../lib/sql/sql.ts';
import { watchVersion } from '../worker/jobs/version.ts';
import { inWords, openServiceDatabase, type DatabaseOptions } from '../database.ts';

/** A command's environment and output. */
export interface Terminal {
  /** Default: the environment of the process. */
  env?: NodeJS.ProcessEnv;
  /** Writes a line, or several. */
  out(text: string): void;
  err(text: string): void;
  /** Used in place of the configured database, and left open. */
  db?: Database | undefined;
}

/** Context of every command. */
export interface Context extends Terminal {
  config: Config;
  json: boolean;
}

/**
 * Runs a short command on the database, also beside a running service. An embedded database is
 * started if it does not run yet.
 */
export async function withDatabase<T>(
  context: Context,
  work: (db: Database, applied: string[]) => Promise<T>,
  options: DatabaseOptions = { migrates: false },
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

/**
 * Warns of a new database. The default data folder depends on the working folder, so in another
 * folder all accounts seem to be gone.
 */
function tellOfNew({ config, err }: Context, applied: string[]): void {
  if (config.DATABASE_URL !== null || !applied.some((name) => name.startsWith('0001_'))) return;
  err(`There was no database in ${dataDir(config)}; a new one was made.`);
}

/** One JSON object with --json, otherwise the text. Amounts are printed as decimal strings. */
export function print(context: Context, value: object, text: string): void {
  const plain = (_name: string, item: unknown) => (typeof item === 'bigint' ? String(item) : item);
  context.out(context.json ? JSON.stringify(value, plain) : text);
}

/** `1 account`, `2 accounts`. For nouns whose plural ends in s. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A readable duration: 40 s, 12 min, 3 h. */
export function seconds(value: number): string {
  if (value < 120) return `${Math.ceil(value)} s`;
  return value < 7200 ? `${Math.round(value / 60)} min` : `${Math.round(value / 3600)} h`;
}

/** Columns padded to their widest cell. */
export function table(head: string[], rows: string[][]): string {
  const widths = head.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i]!.length)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
