import { mkdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { catalogDir, dataDir, signingSecrets, type Config } from './config.ts';
import type { Ending, Moving, Transition } from './core/request.ts';
import type { Links } from './core/views.ts';
import { startEmbedded, type Embedded } from './db/embedded.ts';
import { openHints, type Hints } from './db/hints.ts';
import { authenticateMany } from './db/keys.ts';
import { migrate, unsafeSettings } from './db/migrate.ts';
import * as queue from './db/queue.ts';
import * as requests from './db/requests.ts';
import type { HttpDeps } from './http/deps.ts';
import { openapiText } from './http/openapi.ts';
import { createQueueView } from './http/queue-view.ts';
import { createServer } from './http/server.ts';
import { createWatch } from './http/watch.ts';
import { audit } from './ledger/audit.ts';
import { batch, type BatchOptions } from './lib/batch.ts';
import { createFetch, createLookup, ownAddresses, type Fetch } from './lib/fetch.ts';
import { createMetrics, type Metrics } from './lib/metrics.ts';
import { isDataError, openDatabase, rawSql, type Database } from './lib/sql.ts';
import { endMany, moveMany } from './operations/advance.ts';
import { submitMany, type Submit, type Submitted } from './operations/submit.ts';
import { openCatalog, type CatalogStore } from './storage/catalog.ts';
import { openStorage } from './storage/index.ts';
import type { Storage } from './storage/storage.ts';
import { createUpstreams } from './upstreams/index.ts';
import type { Upstream } from './upstreams/upstream.ts';
import { createWorker, type Worker } from './worker/worker.ts';

/** Everything is put together here, once; every part is given what it needs and knows nothing of the rest. */

const outputTtlSeconds = 24 * 3600;
const daySeconds = 24 * 3600;
const statementTimeoutMs = 15_000;
/** Below this the service takes no new work, so that the database on the same disk does not run out first. */
const spaceLowBytes = 256 * 1024 * 1024;
const spaceLookMs = 5_000;
const auditMs = 15 * 60_000;
/** Failures in a row after which an upstream rests, and for how long. */
const circuit = { threshold: 5, rest_seconds: 30 };

export interface Store {
  db: Database;
  embedded: Embedded | null;
  close(): Promise<void>;
}

/** Connects to the configured database, starting the embedded one where none is; brings the schema up to date. */
export async function openStore(config: Config, name: string, log: Logger): Promise<Store> {
  const embedded = config.DATABASE_URL === null
    ? await startEmbedded({ dataDir: dataDir(config), log: (message) => log.info(message) })
    : null;
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
    if (unsafe.length > 0) throw new Error(unsafe.join('\n'));
    return { db, embedded, close };
  } catch (error) {
    await close();
    throw error;
  }
}

export interface App {
  /** Where it listens; null for a process that only works. */
  address: { host: string; port: number } | null;
  baseUrl: string;
  db: Database;
  worker: Worker | null;
  catalog: CatalogStore;
  metrics: Metrics;
  /** Takes no more work, finishes or hands back what is under way, ends streams; at most about `graceMs`. */
  stop(graceMs?: number): Promise<void>;
}

export interface AppOptions {
  config: Config;
  store: Store;
  log: Logger;
  http: boolean;
  worker: boolean;
  /** False: the worker claims only when it is told to. */
  running?: boolean;
  /** In place of the configured ones. */
  upstreams?: Map<string, Upstream>;
  /** Bounds of every batch, in place of each lane's own: `max: 1` gives each call a transaction of its own. */
  batches?: { max: number; concurrency: number };
}

export async function startApp(options: AppOptions): Promise<App> {
  const { config, store, log } = options;
  const { db } = store;
  const metrics = createMetrics();
  const draining = new AbortController();
  const cutoff = new AbortController();
  const fetches = openFetches(config);
  const upstreams = options.upstreams ?? createUpstreams(upstreamSettings(config), { download: downloader(fetches.guarded, config) });
  const catalog = await openCatalog({
    dir: catalogDir(config),
    usableUpstreams: (name) => upstreams.has(name) || `the upstream "${name}" is not set up`,
    log,
  });
  const storage = openStorage(config.FAREBOX_STORAGE === 'disk' ? `disk:${join(dataDir(config), 'media')}` : config.FAREBOX_STORAGE);
  const hints = openHints(db, { remote: config.FAREBOX_NOTIFY, onError: (err) => log.warn({ err }, 'hint lost') });
  const lanes = openLanes(db, hints, metrics, config, options.batches);
  const links: Links = { baseUrl: '', secret: signingSecrets(config)[0]!, outputTtlSeconds };
  const worker = options.worker
    ? createWorker({
        db, storage, upstreams, catalog: () => catalog.current(), ...fetches, log, hints,
        advance: lanes.advance,
        circuit: openCircuit(db),
        observe: (step, seconds, failed) => metrics.stepSeconds.observe({ step, result: failed ? 'failed' : 'ok' }, seconds),
        settings: workerSettings(config, links),
      })
    : null;
  const space = watchSpace(storage, log);
  const deps: HttpDeps = {
    db, storage, upstreams, links, metrics, log,
    catalog: () => catalog.current(),
    secrets: signingSecrets(config),
    ...lanes,
    watch: createWatch(hints, (ids) => requests.findMany(db, ids), (err) => log.warn({ err }, 'could not look at watched requests')),
    queue: createQueueView((names, limit) => queue.queueStates(db, names, limit), config.FAREBOX_QUEUE_AGE_SECONDS),
    lookup: createLookup(),
    own: ownAddresses(ownNames(config)),
    publicHosts: config.FAREBOX_TEST_PUBLIC_HOSTS,
    draining: draining.signal,
    cutoff: cutoff.signal,
    spaceLow: space.low,
    settings: {
      openJobs: config.FAREBOX_OPEN_JOBS,
      uploadMaxBytes: config.FAREBOX_UPLOAD_MAX_BYTES,
      fileTtlSeconds: config.FAREBOX_FILE_DAYS * daySeconds,
      inFlightMax: config.FAREBOX_IN_FLIGHT_MAX,
      streamsMax: config.FAREBOX_STREAMS_MAX,
      webhookHttpsOnly: config.FAREBOX_WEBHOOK_HTTPS_ONLY,
      metricsToken: config.FAREBOX_METRICS_TOKEN,
      openapi: '',
    },
    unready: () => unready(db, catalog, space.low),
  };
  const server = options.http ? createServer(deps, log) : null;
  let address: App['address'] = null;
  if (server) {
    await server.listen({ port: config.PORT, host: config.HOST });
    const { port } = server.server.address() as AddressInfo;
    address = { host: config.HOST, port };
  }
  links.baseUrl = config.FAREBOX_BASE_URL ?? `http://localhost:${address?.port ?? config.PORT}/v1`;
  deps.settings.openapi = openapiText(links.baseUrl);
  const working = options.running === false ? undefined : worker?.run();
  const auditor = setInterval(() => void auditOnline(db, metrics, log), auditMs);
  auditor.unref();

  async function stop(graceMs = 8_000): Promise<void> {
    draining.abort();
    clearInterval(auditor);
    const deadline = setTimeout(() => cutoff.abort(), graceMs * 0.75);
    const force = setTimeout(() => server?.server.closeAllConnections(), graceMs);
    await Promise.all([worker?.stop(graceMs * 0.6), server?.close()]);
    clearTimeout(deadline);
    clearTimeout(force);
    await working;
    space.stop();
    deps.watch.close();
    await hints.close();
    await Promise.all([...upstreams.values()].map((upstream) => upstream.close?.()));
    await Promise.all([fetches.guarded.close(), fetches.webhooks.close(), catalog.close()]);
  }
  return { address, baseUrl: links.baseUrl, db, worker, catalog, metrics, stop };
}

function upstreamSettings(config: Config) {
  if (!config.FAREBOX_SANDBOX) return { sandbox: null };
  const dir = join(dataDir(config), 'sandbox');
  mkdirSync(dir, { recursive: true });
  return { sandbox: { dir, concurrency: config.FAREBOX_SANDBOX_CONCURRENCY, speed: config.FAREBOX_SANDBOX_SPEED } };
}

function workerSettings(config: Config, links: Links) {
  return {
    concurrency: config.FAREBOX_WORKER_CONCURRENCY,
    leaseSeconds: config.FAREBOX_LEASE_SECONDS,
    stepTimeoutSeconds: config.FAREBOX_STEP_TIMEOUT_SECONDS,
    pollSeconds: config.FAREBOX_POLL_SECONDS,
    outputMaxBytes: config.FAREBOX_OUTPUT_MAX_BYTES,
    outputTtlSeconds,
    links,
  };
}

/** Calls to addresses that strangers give: uploads by URL, outputs of upstreams, notifications. */
function openFetches(config: Config): { guarded: Fetch; webhooks: Fetch } {
  const guard = { allowHosts: [...config.FAREBOX_ALLOW_PRIVATE_HOSTS, ...config.FAREBOX_TEST_PUBLIC_HOSTS] };
  // Our own public name is no stranger's business: a request could come back through it.
  const own = ownNames(config);
  const publicOnly = config.FAREBOX_TEST_PUBLIC_HOSTS.length > 0 ? { allowHosts: config.FAREBOX_TEST_PUBLIC_HOSTS } : true;
  return {
    guarded: createFetch({ guard: guard.allowHosts.length > 0 ? guard : true, own }),
    webhooks: createFetch({ guard: publicOnly, httpsOnly: config.FAREBOX_WEBHOOK_HTTPS_ONLY, own }),
  };
}

function ownNames(config: Config): string[] {
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

/** The batched, singular forms of the hot paths. */
function openLanes(db: Database, hints: Hints, metrics: Metrics, config: Config, bounds?: AppOptions['batches']) {
  const lane = <T, R>(name: string, many: (items: T[]) => Promise<(R | Error)[]>, options: BatchOptions) =>
    batch<T, R>((items) => {
      metrics.batchSize.observe({ batch: name }, items.length);
      return many(items);
    }, { split: isDataError, ...options, ...bounds });
  const byId = <Row extends { id: string }>(find: (ids: string[]) => Promise<Row[]>) => async (ids: string[]) => {
    const rows = new Map((await find([...new Set(ids)])).map((row) => [row.id, row]));
    return ids.map((id) => rows.get(id) ?? null);
  };
  const submit = lane<Submit, Submitted>('submit', (submits) => submitMany(db, submits), { max: 128 });
  const move = lane('move', (moves: Moving[]) => moveMany(db, moves), { max: 256 });
  const endLane = lane<Ending, boolean>('end', (endings) => endMany(db, endings), { max: 128 });

  async function end(ending: Ending): Promise<boolean> {
    const ended = await endLane(ending);
    if (!ended) return fenced(ending);
    hints.changed([ending.id]);
    // Its place at the upstream is free.
    hints.work();
    return true;
  }
  async function moveOne(moving: Moving): Promise<boolean> {
    if (!(await move(moving))) return fenced(moving);
    if (moving.to === 'begin' || (moving.to === 'wait' && moving.progress !== null)) hints.changed([moving.id]);
    return true;
  }
  function fenced(transition: Transition): false {
    if (transition.attempt !== null) metrics.fencedWrites.inc({ to: transition.to });
    return false;
  }
  return {
    authenticate: lane('authenticate', (hashes: Buffer[]) => authenticateMany(db, hashes, config.FAREBOX_RPM), { max: 256 }),
    status: lane('status', byId((ids) => requests.findMany(db, ids)), { max: 256 }),
    card: lane('card', byId((ids) => requests.findCards(db, ids)), { max: 64 }),
    submit: async (wanted: Submit) => {
      const submitted = await submit(wanted);
      if (!submitted.replayed && wanted.row.call_seconds === null) hints.work();
      return submitted;
    },
    end,
    advance: (transition: Transition) =>
      transition.to === 'COMPLETED' || transition.to === 'FAILED' || transition.to === 'CANCELLED'
        ? end(transition)
        : moveOne(transition),
  };
}

function openCircuit(db: Database) {
  const failing = new Set<string>();
  return {
    async failed(upstream: string, message: string, pause_seconds: number) {
      failing.add(upstream);
      await queue.noteFailure(db, upstream, { message, pause_seconds, ...circuit });
    },
    async succeeded(upstream: string) {
      // Only after a failure is there anything to write.
      if (failing.delete(upstream)) await queue.noteSuccess(db, upstream);
    },
  };
}

function watchSpace(storage: Storage, log: Logger): { low: () => boolean; stop: () => void } {
  let isLow = false;
  const look = async () => {
    const free = await storage.freeBytes();
    const low = free !== null && free < spaceLowBytes;
    if (low !== isLow) log.warn({ free_bytes: free }, low ? 'disk space is low: taking no new work' : 'disk space is back');
    isLow = low;
  };
  const lookQuietly = () => void look().catch((err) => log.warn({ err }, 'could not measure free space'));
  lookQuietly();
  const timer = setInterval(lookQuietly, spaceLookMs);
  timer.unref();
  return { low: () => isLow, stop: () => clearInterval(timer) };
}

async function unready(db: Database, catalog: CatalogStore, spaceLow: () => boolean): Promise<string | null> {
  if (spaceLow()) return 'disk space';
  if (catalog.current().models.size === 0) return 'catalog';
  try {
    await db.run(rawSql('select 1'));
    return null;
  } catch {
    return 'database';
  }
}

async function auditOnline(db: Database, metrics: Metrics, log: Logger): Promise<void> {
  try {
    const { ok, violations } = await audit(db);
    metrics.booksOk.set(ok ? 1 : 0);
    if (!ok) log.error({ violations }, 'the books do not balance');
  } catch (err) {
    log.warn({ err }, 'the audit could not run');
  }
}
