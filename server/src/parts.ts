import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { catalogDir, dataDir, signingSecrets, type Config } from './config.ts';
import type { Links } from './core/views.ts';
import { openHints, type Hints } from './db/hints.ts';
import { openLanes, type BatchBounds, type Lanes } from './lanes.ts';
import { createFetch, type Fetch, type Lookup } from './lib/fetch.ts';
import { createMetrics, type Metrics } from './lib/metrics.ts';
import type { Database } from './lib/sql.ts';
import { openCatalog, type CatalogStore } from './storage/catalog.ts';
import { openStorage } from './storage/index.ts';
import type { Storage } from './storage/storage.ts';
import { createUpstreams } from './upstreams/index.ts';
import type { Upstream } from './upstreams/upstream.ts';

/** What the HTTP side and the worker of one process share. */
export interface Parts {
  db: Database;
  log: Logger;
  metrics: Metrics;
  storage: Storage;
  catalog: CatalogStore;
  upstreams: ReadonlyMap<string, Upstream>;
  hints: Hints;
  lanes: Lanes;
  links: Links;
  /** Calls to addresses that strangers give: inputs and outputs; and notifications. */
  fetches: { guarded: Fetch; webhooks: Fetch };
  /** True while the disk is nearly full. */
  spaceLow: () => boolean;
  close(): Promise<void>;
}

const outputTtlSeconds = 24 * 3600;
/** Below this no new work is taken, or the database on the same disk would run out first. */
const spaceLowBytes = 256 * 1024 * 1024;
const spaceLookMs = 5_000;

export interface PartsOptions {
  config: Config;
  db: Database;
  log: Logger;
  upstreams?: Map<string, Upstream>;
  batches?: BatchBounds;
  lookup?: Lookup;
}

export async function openParts({ config, db, log, ...options }: PartsOptions): Promise<Parts> {
  const metrics = createMetrics();
  const fetches = openFetches(config, options.lookup);
  const upstreams =
    options.upstreams ??
    createUpstreams(upstreamSettings(config), { download: downloader(fetches.guarded, config) });
  const catalog = await openCatalog({
    dir: catalogDir(config),
    usableUpstreams: (name) => upstreams.has(name) || `the upstream "${name}" is not set up`,
    log,
  });
  const storage = openStorage(storageAddress(config));
  const hints = openHints(db, {
    remote: config.FAREBOX_NOTIFY,
    onError: (err) => log.warn({ err }, 'hint lost'),
  });
  const lanes = openLanes({ db, hints, metrics, config, bounds: options.batches });
  const links = { baseUrl: '', secret: signingSecrets(config)[0]!, outputTtlSeconds };
  const space = watchSpace(storage, log);
  const close = async () => {
    space.stop();
    await hints.close();
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close?.()));
    await Promise.all([fetches.guarded.close(), fetches.webhooks.close(), catalog.close()]);
  };
  const shared = { db, log, metrics, storage, catalog, upstreams, hints, lanes, links, fetches };
  return { ...shared, spaceLow: space.low, close };
}

/** Where media bytes are kept. */
export function storageAddress(config: Config): string {
  const { FAREBOX_STORAGE: address } = config;
  return address === 'disk' ? `disk:${join(dataDir(config), 'media')}` : address;
}

function upstreamSettings(config: Config) {
  if (!config.FAREBOX_SANDBOX) return { sandbox: null };
  const dir = join(dataDir(config), 'sandbox');
  mkdirSync(dir, { recursive: true });
  return {
    sandbox: {
      dir,
      concurrency: config.FAREBOX_SANDBOX_CONCURRENCY,
      speed: config.FAREBOX_SANDBOX_SPEED,
    },
  };
}

/** Calls to addresses that strangers give: uploads by URL, outputs of upstreams, notifications. */
function openFetches(config: Config, lookup?: Lookup): { guarded: Fetch; webhooks: Fetch } {
  const guard = {
    allowHosts: [...config.FAREBOX_ALLOW_PRIVATE_HOSTS, ...config.FAREBOX_TEST_PUBLIC_HOSTS],
  };
  // Our own public name is no stranger's business: a request could come back through it.
  const own = ownNames(config);
  const publicOnly =
    config.FAREBOX_TEST_PUBLIC_HOSTS.length > 0
      ? { allowHosts: config.FAREBOX_TEST_PUBLIC_HOSTS }
      : true;
  return {
    guarded: createFetch({ guard: guard.allowHosts.length > 0 ? guard : true, own, lookup }),
    webhooks: createFetch({
      guard: publicOnly,
      httpsOnly: config.FAREBOX_WEBHOOK_HTTPS_ONLY,
      own,
      lookup,
    }),
  };
}

/** Names of our own that strangers' addresses must not lead back to. */
export function ownNames(config: Config): string[] {
  return config.FAREBOX_BASE_URL === null ? [] : [new URL(config.FAREBOX_BASE_URL).hostname];
}

function downloader(guarded: Fetch, config: Config) {
  return async (url: string, signal: AbortSignal) => {
    const call = { url, maxBytes: config.FAREBOX_UPLOAD_MAX_BYTES, idleTimeoutMs: 20_000, signal };
    const reply = await guarded.stream(call);
    const opened = reply.body;
    if (reply.status !== 200) {
      await opened[Symbol.asyncIterator]().return?.();
      throw new Error(`${new URL(url).host} answered ${reply.status}`);
    }
    let first = true;
    return {
      content_type: reply.headers['content-type'] ?? 'application/octet-stream',
      size: Number(reply.headers['content-length'] ?? 0),
      open: async () => {
        if (first) {
          first = false;
          return opened;
        }
        return (await guarded.stream(call)).body;
      },
    };
  };
}

function watchSpace(storage: Storage, log: Logger): { low: () => boolean; stop: () => void } {
  let isLow = false;
  const look = async () => {
    const free = await storage.freeBytes();
    const low = free !== null && free < spaceLowBytes;
    if (low !== isLow)
      log.warn(
        { free_bytes: free },
        low ? 'disk space is low: taking no new work' : 'disk space is back',
      );
    isLow = low;
  };
  const lookQuietly = () =>
    void look().catch((err) => log.warn({ err }, 'could not measure free space'));
  lookQuietly();
  const timer = setInterval(lookQuietly, spaceLookMs);
  timer.unref();
  return { low: () => isLow, stop: () => clearInterval(timer) };
}
