import { join } from 'node:path';
import type { Logger } from 'pino';
import { catalogDir, ConfigError, dataDir, type Config } from './config.ts';
import type { Links } from './core/views.ts';
import { openHints, type Hints } from './db/hints.ts';
import { addFigures } from './figures.ts';
import { tellHappenings, type Happenings } from './happenings.ts';
import { openLanes, type BatchBounds, type Lanes } from './lanes.ts';
import { createFetch, type Fetch, type Lookup } from './lib/fetch.ts';
import { createMetrics, type Metrics } from './lib/metrics.ts';
import type { Database } from './lib/sql.ts';
import { signingSecrets } from './secrets.ts';
import { openCatalog, type CatalogStore } from './storage/catalog.ts';
import { openStorage } from './storage/index.ts';
import type { Storage } from './storage/storage.ts';
import { adapters, createUpstreams } from './upstreams/index.ts';
import type { Upstream } from './upstreams/upstream.ts';

/** Calls to addresses that strangers give. */
interface Fetches {
  /** Outputs of upstreams, which may stand on the own network. */
  guarded: Fetch;
  /** Inputs of callers, who may reach nothing private. */
  inputs: Fetch;
  /** Notifications. */
  webhooks: Fetch;
}

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
  happenings: Happenings;
  links: Links;
  /** Signing secrets that are honoured, newest first. */
  secrets: readonly Buffer[];
  fetches: Fetches;
  /** True while the disk is nearly full. */
  spaceLow: () => boolean;
  close(): Promise<void>;
}

const outputTtlSeconds = 24 * 3600;
/** Below this no new work is taken, or the database on the same disk would run out first. */
const spaceLowBytes = 256 * 1024 * 1024;
const spaceLookMs = 5_000;
/** Of a worker's step: how long the files of one input may take to arrive. */
const inputShare = 2 / 3;

export interface PartsOptions {
  config: Config;
  db: Database;
  log: Logger;
  upstreams?: Map<string, Upstream>;
  batches?: BatchBounds;
  lookup?: Lookup;
}

/** Throws with nothing left open: what is settings only is read first. */
export async function openParts({ config, db, log, ...options }: PartsOptions): Promise<Parts> {
  const secrets = signingSecrets(config);
  const storage = openMedia(config);
  const metrics = createMetrics();
  const fetches = openFetches(config, options.lookup);
  const upstreams =
    options.upstreams ??
    createUpstreams(upstreamSettings(config), { download: downloader(fetches.inputs, config) });
  const catalog = await openCatalog({
    dir: catalogDir(config),
    usableUpstreams: (name) => upstreams.has(name) || notSetUp(name),
    knownUpstreams: [...new Set([...Object.keys(adapters), ...upstreams.keys()])],
    log,
  });
  const hints = openHints(db, {
    remote: config.FAREBOX_NOTIFY,
    onError: (err) => log.warn({ err }, 'hint lost'),
  });
  addFigures(metrics, { db, upstreams: [...upstreams.keys()], dir: dataDir(config) });
  const happenings = tellHappenings(metrics, log, upstreams);
  const lanes = openLanes({ db, hints, metrics, config, happenings, bounds: options.batches });
  const links = { baseUrl: '', secret: secrets[0]!, outputTtlSeconds };
  const space = watchSpace(storage, log);
  const close = async () => {
    space.stop();
    await hints.close();
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close?.()));
    await Promise.all([...Object.values(fetches).map((each) => each.close()), catalog.close()]);
  };
  const shared = { db, log, metrics, storage, catalog, upstreams, hints, lanes, links, fetches };
  return { ...shared, happenings, secrets, spaceLow: space.low, close };
}

/** Where media bytes are kept. Throws `ConfigError` where that cannot be used. */
export function openMedia(config: Config): Storage {
  const { FAREBOX_STORAGE: address } = config;
  const folder = join(dataDir(config), 'media');
  try {
    return openStorage(address === 'disk' ? `disk:${folder}` : address);
  } catch (cause) {
    throw new ConfigError(`FAREBOX_STORAGE: ${(cause as Error).message}`, { cause });
  }
}

/** For a look at the catalog without a service: which upstreams there are, and which are set up. */
export function upstreamsOf(config: Config) {
  const isSetUp = (name: string) => name === 'sandbox' && config.FAREBOX_SANDBOX;
  return {
    knownUpstreams: Object.keys(adapters),
    usableUpstreams: (name: string) => isSetUp(name) || notSetUp(name),
  };
}

function notSetUp(name: string): string {
  const needs = adapters[name];
  return `the upstream "${name}" is not set up${needs ? `: it needs ${needs}` : ''}`;
}

function upstreamSettings(config: Config) {
  if (!config.FAREBOX_SANDBOX) return { sandbox: null };
  const dir = dataDir(config, 'sandbox');
  return {
    sandbox: {
      dir,
      concurrency: config.FAREBOX_SANDBOX_CONCURRENCY,
      speed: config.FAREBOX_SANDBOX_SPEED,
      // What is left of the step is for looking into the files.
      inputSeconds: config.FAREBOX_STEP_TIMEOUT_SECONDS * inputShare,
    },
  };
}

function openFetches(config: Config, lookup?: Lookup): Fetches {
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
    inputs: createFetch({ guard: publicOnly, own, lookup }),
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

function downloader(inputs: Fetch, config: Config) {
  return async (url: string, signal: AbortSignal) => {
    const call = { url, maxBytes: config.FAREBOX_UPLOAD_MAX_BYTES, idleTimeoutMs: 20_000, signal };
    const reply = await inputs.stream(call);
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
        return (await inputs.stream(call)).body;
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
