import { startApp, type App } from '../app.ts';
import { openStore } from '../store.ts';
import { dataDir, ConfigError, type Config } from '../config.ts';
import { claimFolder } from '../db/embedded.ts';
import { createLog } from '../lib/log.ts';
import { Refused } from '../operations/account.ts';
import type { Context } from './output.ts';

/** Within this a stopping process is gone, whatever is under way. */
const stopMs = 9_500;

export async function serve(
  context: Context,
  options: { worker: boolean; embedded?: boolean },
): Promise<void> {
  const { config } = context;
  if (!options.embedded) demand(config, ['DATABASE_URL', 'FAREBOX_SECRET', 'FAREBOX_BASE_URL']);
  await live(config, { http: true, worker: options.worker && config.FAREBOX_WORKER }, (app) => {
    console.log(`Farebox serves ${app.baseUrl} on ${app.address!.host}:${app.address!.port}.`);
  });
}

export async function work(context: Context, options: { embedded?: boolean }): Promise<void> {
  const { config } = context;
  if (!options.embedded) demand(config, ['DATABASE_URL', 'FAREBOX_SECRET', 'FAREBOX_BASE_URL']);
  await live(config, { http: false, worker: true }, () => console.log('Farebox works.'));
}

function demand(config: Config, names: (keyof Config)[]): void {
  const missing = names.filter((name) => config[name] === null);
  if (missing.length === 0) return;
  throw new ConfigError(
    `Set ${missing.join(', ')}, or say --embedded for the embedded PostgreSQL and a generated secret.`,
  );
}

/** Starts, tells, and stays until a signal ends it. */
export async function live(
  config: Config,
  parts: { http: boolean; worker: boolean },
  started: (app: App) => void | Promise<void>,
): Promise<void> {
  const log = createLog(config.FAREBOX_LOG_LEVEL);
  const folder = config.DATABASE_URL === null && parts.http ? await claim(config) : null;
  const store = await openStore(config, parts.http ? 'farebox serve' : 'farebox worker', log);
  const app = await startApp({ config, store, log, ...parts }).catch(async (error: unknown) => {
    await store.close();
    folder?.release();
    throw inUse(error, config);
  });
  await started(app);
  const signal = await stopSignal();
  log.info({ signal }, 'stopping');
  // Whatever hangs, the process ends in time: what is under way is leased or reserved, and comes
  // back by itself.
  setTimeout(() => process.exit(1), stopMs).unref();
  await app.stop();
  await store.close();
  folder?.release();
  log.info({}, 'stopped');
}

async function claim(config: Config): Promise<{ release(): void }> {
  const claimed = await claimFolder(dataDir(config), `pid ${process.pid}, port ${config.PORT}`);
  if ('held_by' in claimed) {
    throw new Refused(
      `Another Farebox runs in ${dataDir(config)} (${claimed.held_by}). Stop it, or set FAREBOX_DATA_DIR to another folder.`,
    );
  }
  return claimed;
}

function inUse(error: unknown, config: Config): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error;
  return new Refused(`Port ${config.PORT} is taken by another program. Set PORT to a free one.`);
}

/** The first signal stops in order, a second one at once. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.once(signal, () => {
        resolve(signal);
        process.once(signal, () => process.exit(1));
      });
    }
  });
}
