import { startApp, type App } from '../app.ts';
import type { Chains } from '../chains/chains.ts';
import { codeOf, fieldOf } from '../lib/unknown.ts';
import { openServiceDatabase } from '../database.ts';
import { catalogDir, dataDir, ConfigError, type Config } from '../config.ts';
import { claimFolder } from '../db/embedded.ts';
import { createLog } from '../lib/log.ts';
import type { Database } from '../lib/sql/sql.ts';
import { CommandFailed } from '../operations/refused.ts';
import { print, type Context } from './output.ts';

/** Time limit of stopping, whatever is still running. */
const stopMs = 9_500;
/**
 * When Ctrl-C is pressed, the terminal and npm both send a signal: within this time they count as
 * one.
 */
const echoMs = 500;

export async function serve(
  given: { worker: boolean; embedded?: boolean },
  context: Context,
): Promise<void> {
  const { config } = context;
  demand(config, given.embedded);
  // guard: no-worker (off: true)
  const worker = given.worker && config.FAREBOX_WORKER;
  const parts = { http: true, worker };
  await live(withoutSandbox(config), parts, (app) => {
    const { address, baseUrl: base_url } = app;
    const text = `Farebox serves ${base_url} on ${address!.host}:${address!.port}.`;
    print(context, { json: { base_url, ...address, pid: process.pid }, text });
  });
}

export async function work({ embedded }: { embedded?: boolean }, context: Context): Promise<void> {
  const { config } = context;
  demand(config, embedded);
  await live(withoutSandbox(config), { http: false, worker: true }, ({ address }) => {
    const where = address ? ` Health and metrics: ${address.host}:${address.port}.` : '';
    print(context, { json: { ...address, pid: process.pid }, text: `Farebox works.${where}` });
  });
}

/**
 * Customers get the sandbox, which costs the operator nothing, only if the operator has enabled it.
 */
function withoutSandbox(config: Config): Config {
  return { ...config, FAREBOX_SANDBOX: config.FAREBOX_SANDBOX ?? false };
}

const demanded = ['DATABASE_URL', 'FAREBOX_SECRET', 'FAREBOX_BASE_URL'] as const;

function demand(config: Config, embedded = false): void {
  if (embedded && config.DATABASE_URL !== null) {
    throw new ConfigError(
      'DATABASE_URL and --embedded name two different databases. Leave --embedded out, or unset DATABASE_URL.',
    );
  }
  const missing = embedded ? [] : demanded.filter((name) => config[name] === null);
  if (missing.length === 0) return;
  throw new ConfigError(
    `Set ${missing.join(', ')}, or use --embedded for the embedded PostgreSQL and a generated secret.`,
  );
}

interface LiveParts {
  http: boolean;
  worker: boolean;
  /** Used in place of the configured chains. */
  chains?: Chains;
  /** Throws if this database is not suitable. Nothing has been written to it before this. */
  judge?: (db: Database) => Promise<void>;
}

/** Starts the service, reports the start, and runs until a signal ends it. */
export async function live(
  config: Config,
  { judge, ...parts }: LiveParts,
  started: (app: App) => void | Promise<void>,
): Promise<void> {
  const log = createLog(config.FAREBOX_LOG_LEVEL);
  // Signals are caught from here on, so that stopping during the start leaves no PostgreSQL
  // running.
  // guard: stop-during-start
  const asked = stopSignal();
  const folder = config.DATABASE_URL === null && parts.http ? await claim(config) : null;
  const database = await openServiceDatabase(
    config,
    parts.http ? 'farebox serve' : 'farebox worker',
    log,
  );
  let app: App | undefined;
  try {
    await judge?.(database.db);
    app = await startApp({ config, database: database, log, ...parts }).catch((error: unknown) => {
      throw inWords(error, config, parts.http ? 'PORT' : 'FAREBOX_WORKER_PORT');
    });
    await started(app);
    log.info({ signal: await asked }, 'stopping');
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

/** Explains errors that an operator can correct; others are bugs and keep their stack. */
function inWords(error: unknown, config: Config, setting: 'PORT' | 'FAREBOX_WORKER_PORT'): unknown {
  const { HOST, [setting]: port } = config;
  const code = codeOf(error);
  const syscall = fieldOf(error, 'syscall');
  if (code === 'EADDRINUSE') {
    return new CommandFailed(
      `Port ${port} is taken by another program. Set ${setting} to a free one.`,
    );
  }
  if (syscall === 'listen' || syscall === 'getaddrinfo') {
    return new CommandFailed(
      `Cannot listen on ${HOST}:${port} (${code}). Set HOST and ${setting}.`,
    );
  }
  if (syscall === 'scandir') {
    return new CommandFailed(
      `Cannot read the catalog folder ${catalogDir(config)} (${code}). Set FAREBOX_CATALOG.`,
    );
  }
  return error;
}

/** The first signal stops gracefully, a second one ends the process at once. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    let since: number | undefined;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (since !== undefined && performance.now() - since > echoMs) process.exit(1);
        if (since !== undefined) return;
        since = performance.now();
        resolve(signal);
        // Ends the process in time even if something hangs: unfinished work is leased or reserved,
        // and goes on later.
        setTimeout(() => process.exit(1), stopMs).unref();
      });
    }
  });
}
