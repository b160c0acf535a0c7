import { startApp, type App, type AppOptions } from '../app.ts';
import type { Chains } from '../chains/chains.ts';
import { openServiceDatabase } from '../database.ts';
import { dataDir, ConfigError, type Config } from '../config.ts';
import { claimFolder } from '../db/embedded.ts';
import { createLog } from '../lib/log.ts';
import type { Database } from '../lib/sql/sql.ts';
import { CommandFailed } from '../operations/refusal.ts';
import { inWords } from './start-errors.ts';
import { stopSignal } from './stop-signal.ts';

/** A process that runs until it is told to stop. */

/**
 * Customers get the sandbox, which costs the operator nothing, only if the operator has enabled it.
 */
export function withoutSandbox(config: Config): Config {
  return { ...config, FAREBOX_SANDBOX: config.FAREBOX_SANDBOX ?? false };
}

interface LiveParts extends Pick<AppOptions, 'http' | 'worker' | 'entrance' | 'figures'> {
  /** The number of this process among several at one address. */
  number?: number;
  /** Resolves when the process shall retire. */
  retired?: Promise<void>;
  /** Used in place of the configured chains. */
  chains?: Chains;
  /** Throws if this database is not suitable. Nothing has been written to it before this. */
  judge?: (db: Database) => Promise<void>;
}

/** Starts the service, reports the start, and runs until a signal ends it. */
export async function live(
  config: Config,
  { judge, number, retired, ...parts }: LiveParts,
  started: (app: App) => void | Promise<void>,
): Promise<void> {
  const own = createLog(config.FAREBOX_LOG_LEVEL);
  const log = number === undefined ? own : own.child({ process: number });
  // Signals are caught from here on, so that stopping during the start leaves no PostgreSQL
  // running.
  // guard: stop-during-start
  const asked = stopSignal();
  // Asked now, because a terminal that has closed is none.
  const { isTTY } = process.stdin;
  if (number === undefined)
    process.on('SIGHUP', () => {
      // A terminal that closes ends what runs in it.
      if (isTTY) process.kill(process.pid, 'SIGTERM');
      else log.warn({}, 'SIGHUP changes nothing here: restart, or use serve --processes');
    });
  const folder = config.DATABASE_URL === null && parts.http ? await claim(config) : null;
  const database = await openServiceDatabase(
    config,
    parts.http ? 'farebox serve' : 'farebox worker',
    log,
  );
  let app: App | undefined;
  try {
    await judge?.(database.db);
    // Migrations take their time, and what follows would, too.
    const early = await Promise.race([asked, null]);
    if (early !== null) return log.info({ signal: early }, 'stopped during the start');
    app = await startApp({ config, database: database, log, ...parts }).catch((error: unknown) => {
      throw inWords(error, config, parts.http ? 'PORT' : 'FAREBOX_WORKER_PORT');
    });
    await started(app);
    const over = retired?.then(() => app!.retire()).then(() => null);
    log.info({ signal: await Promise.race(over ? [asked, over] : [asked]) }, 'stopping');
  } finally {
    await app?.stop();
    await database.close();
    folder?.release();
  }
  log.info({}, 'stopped');
}

async function claim(config: Config): Promise<{ release(): void }> {
  const dir = dataDir(config);
  const me = `pid ${process.pid}, port ${config.PORT}`;
  const claimed = await claimFolder(dir, me).catch((cause: Error) => {
    throw new ConfigError(`FAREBOX_DATA_DIR: cannot use ${dir}: ${cause.message}`, { cause });
  });
  // guard: one-service-a-folder
  if ('held_by' in claimed) {
    throw new CommandFailed(
      `Another Farebox runs in ${dir} (${claimed.held_by}). Stop it, or set FAREBOX_DATA_DIR to another folder.`,
    );
  }
  return claimed;
}
