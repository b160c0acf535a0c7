import { readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Chains } from './chains/chains.ts';
import { catalogDir, ceilings, chainsDir, ConfigError, dataDir, type Config } from './config.ts';
import { chainVariables } from './core/deposit/chain.ts';
import type { Links } from './core/request/views.ts';
import { openHints, type Hints } from './db/hints.ts';
import { databaseShares } from './http/database-share.ts';
import { judgeUrl, loopbackHosts, splitCredentials } from './lib/outbound/address.ts';
import { createBudget, type Budget } from './lib/budget.ts';
import { FairQueue } from './lib/fair-queue.ts';
import { freeBytesAt } from './lib/files/free-bytes.ts';
import { createFetch, type Fetch, type Lookup } from './lib/outbound/fetch.ts';
import { hideInLogs } from './lib/log.ts';
import { createMail, type Mail } from './lib/mail.ts';
import { createMetrics, type Metrics } from './lib/metrics.ts';
import { throttleLog } from './lib/log-throttle.ts';
import type { Tracer } from './lib/trace.ts';
import type { Database } from './lib/sql/sql.ts';
import { messageOf } from './lib/unknown.ts';
import { isKnownFolder, mediaFolder, rememberFolder } from './media-folders.ts';
import {
  batchOperations,
  type BatchBounds,
  type Operations,
} from './operations/requests/batched.ts';
import { openCircuit, type Circuit } from './operations/upstreams/circuit.ts';
import type { WebhookFetches } from './operations/requests/webhook-fetch.ts';
import { createRecorder, type Recorder } from './operations/recorder.ts';
import { openReports, type ReportEvent } from './operations/operator-events.ts';
import { openRefusals, type Refusals } from './operations/accounts/refusals.ts';
import { signingSecrets } from './secrets.ts';
import { openCatalog, type CatalogStore } from './catalog/catalog.ts';
import { openTraces } from './traces.ts';
import { openStorage } from './storage/index.ts';
import { readAtOnce } from './storage/inspect.ts';
import { Spool } from './storage/spool.ts';
import type { Storage } from './storage/storage.ts';
import { watchStorage, type WatchedStorage } from './storage/watched.ts';
import type { ServiceDatabase } from './database.ts';
import { createDownload } from './upstreams/download.ts';
import { builtIn, openUpstreams, type Upstreams } from './upstreams/index.ts';
import { createSandbox } from './upstreams/sandbox/sandbox.ts';
import type { Upstream, UpstreamTools } from './upstreams/upstream.ts';
import { lowBytes, watchSpace, type Disk } from './worker/background/disk-space.ts';
import { addGauges } from './worker/background/gauges.ts';
import { watchStandby, type WatchedStandby } from './worker/background/reader.ts';
import type { EventReceiver } from './worker/background/operator-events.ts';
import { watchOverrides, type OverridesWatch } from './worker/background/overrides.ts';
import { watchInstallation, type InstallationWatch } from './worker/background/installation.ts';
import { watchVersion, type VersionWatch } from './worker/background/version.ts';

/** HTTP clients for outbound calls, one for each source of addresses. */
interface OutboundFetches extends WebhookFetches {
  /** For outputs of upstreams, which may be on the operator's own network. */
  guarded: Fetch;
  /** For inputs of callers, which may not be at private addresses. */
  inputs: Fetch;
  /** For upstreams, at addresses that the operator gave. */
  trusted: Fetch;
}

/** Objects shared by the HTTP side and the worker of one process. */
export interface Services {
  db: Database;
  /** The standby; null if there is none, or if the process takes no calls. */
  reader: WatchedStandby | null;
  log: Logger;
  metrics: Metrics;
  storage: WatchedStorage;
  /** Stores results while the storage is away. */
  spool: Spool;
  catalog: CatalogStore;
  /** Brings operators' changes of the catalog into this process. */
  overrides: Pick<OverridesWatch, 'reload'>;
  upstreams: ReadonlyMap<string, Upstream>;
  /** Tells which upstreams exist, and which are set up. */
  connected: Pick<Upstreams, 'about' | 'usable'>;
  hints: Hints;
  operations: Operations;
  recorder: Recorder;
  circuit: Circuit;
  refusals: Refusals;
  links: OwnLinks;
  /** Signing secrets that are accepted, newest first. */
  secrets: readonly Buffer[];
  fetches: OutboundFetches;
  /** The blockchains that are read for deposits. */
  chains: Chains;
  /** Null: traces are off. */
  tracer: Tracer | null;
  /** Sends e-mail; null if no server is configured. */
  mail: Mail['send'] | null;
  /** Delivers events to the operator; null if no receiver is configured. */
  receiver: EventReceiver | null;
  /** Detects a restored copy. */
  installation: InstallationWatch;
  /** Detects that another version has migrated the database. */
  version: VersionWatch;
  /** False while nothing may be started or sent. */
  mayWork: () => boolean;
  blocked: WhyBlocked;
  /** Bytes of callers' files that are fetched before they are sent on; by account. */
  inputBytes: Budget;
  /** Files that are measured, decoded or converted, by account. */
  decoding: FairQueue;
  close(): Promise<void>;
}

/** Why no new request is accepted; null if all is well. Chats need no storage. */
export type WhyBlocked = (needsStorage: boolean) => string | null;

const outputTtlSeconds = 24 * 3600;

export interface ServicesOptions {
  config: Config;
  db: Database;
  /** Has the folder of the embedded database, if there is one. */
  database?: Pick<ServiceDatabase, 'embedded'>;
  log: Logger;
  /** False: the process is a worker only. */
  http: boolean;
  upstreams?: Map<string, Upstream>;
  /** Used in place of the configured chains. */
  chains?: Chains | undefined;
  batches?: BatchBounds;
  lookup?: Lookup;
  /** Time between two checks of a working storage. */
  probeMs: number;
  /** Time between two signs of life, and checks whether the database was replaced or migrated. */
  beatMs: number;
  /** A standby that is further behind answers no calls. */
  standbyLagMs: number;
  /** How long spans of traces are gathered before they are sent. */
  tracesMs: number;
  /** How long a call waits for its account's share to have a file decoded. */
  shareWaitMs: number;
}

/**
 * Opens the services that the parts of a process share. Parts that depend only on settings come
 * first: if one of them throws, nothing is left open.
 */
export async function openServices({
  config,
  db,
  log,
  ...options
}: ServicesOptions): Promise<Services> {
  const secrets = signingSecrets(config);
  const media = openMedia(config);
  const metrics = createMetrics();
  const fetches = openFetches(config, options);
  const chains = options.chains ?? (await openDeposits(config, fetches.trusted));
  const tracer = await openTraces(config, fetches.trusted, log, options.tracesMs);
  const connected = connect(config, fetches, options.upstreams, tracer);
  const upstreams = connected.live;
  const known = [...builtIn, ...(options.upstreams?.keys() ?? [])];
  const catalog = await openModels(config, connected, known, log);
  const overrides = await watchOverrides({ db, log, catalog, connected, secrets });
  const hints = openHints(db, {
    remote: config.FAREBOX_NOTIFY,
    onError: throttleLog((told) => log.warn(told, 'a hint to other processes was lost')),
  });
  const spool = await openSpool(config);
  rememberFolder(config);
  const storage = watchMedia(media, log, options.probeMs);
  const disks = disksOf(config, storage, options.database?.embedded?.cluster ?? null);
  const { watched, stop } = await watchDatabase({ config, db, log, metrics, ...options });
  addGauges(metrics, { db, upstreams, catalog, disks, storage, spool, chains, config, ...watched });
  const report = openReports(db, log);
  const recorder = createRecorder(metrics, log, upstreams, report);
  const operations = batchOperations({
    db,
    hints,
    metrics,
    recorder,
    quotas: { key: config.FAREBOX_RPM, account: ceilings(config).rpm },
    leaseSeconds: config.FAREBOX_LEASE_SECONDS,
    bounds: options.batches,
  });
  const circuit = openCircuit(db, upstreams, recorder);
  const refusals = openRefusals(
    db,
    throttleLog((told) => log.warn(told, 'could not count refused calls')),
  );
  const links = linksOf(config, secrets[0]!);
  const space = watchSpace(disks, log, lowDisk(report));
  const { FAREBOX_SMTP_URL: url, FAREBOX_MAIL_FROM: from } = config;
  const mail = url === null ? null : createMail({ url, from });
  const asked = mail && askMail(mail, log);
  const blocked: WhyBlocked = (needsStorage) => {
    if (watched.version.moved() !== null) return 'version';
    if (watched.installation.held() !== null) return 'restored copy';
    if (space.low(needsStorage ? undefined : 'data')) return 'disk space';
    return needsStorage && storage.isAway() ? 'storage' : null;
  };
  const close = async () => {
    space.stop();
    storage.stop();
    await Promise.all([stop(), overrides.stop()]);
    asked?.stop();
    await refusals.flush();
    await hints.close();
    await Promise.all([connected.close(), tracer?.close()]);
    await Promise.all([...Object.values(fetches).map((each) => each?.close()), catalog.close()]);
  };
  const models = { catalog, overrides, upstreams, connected };
  const stores = { db, storage, spool, log, metrics, tracer };
  const outside = { fetches, chains, mail: mail?.send ?? null, receiver: receiverOf(config) };
  const addresses = { links, secrets };
  const work = { operations, recorder, hints, circuit, refusals, blocked, ...watched };
  const limits = {
    inputBytes: createBudget(2 * config.FAREBOX_BODIES_MAX_BYTES, null),
    decoding: placesForDecoding(options.shareWaitMs),
  };
  return { ...models, ...stores, ...outside, ...addresses, ...work, ...limits, close };
}

/**
 * The last in order, because work that has a place in another queue may have a file to decode.
 * Nobody rests: an account alone may use its place all the time.
 */
function placesForDecoding(waitMs: number): FairQueue {
  return new FairQueue({ order: 5, capacity: readAtOnce, perOwner: 1, waitMs, waitingMax: 200 });
}

/** Loads the catalog. Throws `ConfigError` if a setting of one of its upstreams cannot work. */
async function openModels(
  config: Config,
  connected: Upstreams,
  knownUpstreams: string[],
  log: Logger,
): Promise<CatalogStore> {
  const catalog = await openCatalog({
    dir: catalogDir(config),
    usableUpstreams: connected.usable,
    knownUpstreams,
    definitionFault: connected.faultOf,
    unsupportedRowOf: connected.unsupportedRowOf,
    define: connected.define,
    log,
  });
  const wrong = connected.wrongSettings();
  if (wrong.length === 0) return catalog;
  await catalog.close();
  throw new ConfigError(wrong.join('\n'));
}

/**
 * Watches whether the database was replaced or migrated beneath this process, and how far its
 * standby is behind.
 */
async function watchDatabase({
  config,
  db,
  log,
  metrics,
  http,
  beatMs: everyMs,
  standbyLagMs: lagMaxMs,
}: Pick<ServicesOptions, 'config' | 'db' | 'log' | 'http' | 'beatMs' | 'standbyLagMs'> & {
  metrics: Metrics;
}) {
  const [installation, version] = await Promise.all([
    watchInstallation({ db, log, dir: dataDir(config), everyMs }),
    watchVersion({ db, log, kind: http ? 'serve' : 'worker', everyMs }),
  ]);
  const mayWork = () => version.moved() === null && installation.mayWork();
  const { DATABASE_READ_URL: url, FAREBOX_DATABASE_POOL: pool } = config;
  // As many calls as may read from the primary at once may read from the standby.
  const max = databaseShares(pool).statements.capacity;
  const read = { max, lagMaxMs, primary: db, log, registry: metrics.registry };
  const reader = url === null || !http ? null : watchStandby({ url, ...read });
  const stop = async () => {
    installation.stop();
    await reader?.close();
    await version.stop();
  };
  return { watched: { installation, version, mayWork, reader }, stop };
}

/** Several processes may notice the same disk; the subject (disk and host) makes it one event. */
function lowDisk(report: ReportEvent): Parameters<typeof watchSpace>[2] {
  return (disk, free_bytes) => {
    const data = { host: hostname(), disk, free_bytes };
    report({ type: 'disk.low', account_id: null, data }, `${disk} ${data.host}`);
  };
}

/**
 * The disks to watch. `cluster`: the folder of the embedded database, whose disk stores the books;
 * null if there is none, and then only media are written to the data folder.
 */
export function disksOf(config: Config, storage: Storage, cluster: string | null): Disk[] {
  const dir = cluster ?? dataDir(config);
  const data: Disk = {
    holds: 'data',
    isGuarded: cluster !== null,
    free: () => freeBytesAt(dir),
  };
  const media: Disk = { holds: 'media', isGuarded: true, free: () => storage.freeBytes() };
  return config.FAREBOX_STORAGE.startsWith('disk') ? [data, media] : [data];
}

/** The operator's webhook; null if it is not configured. */
function receiverOf(config: Config): EventReceiver | null {
  const { FAREBOX_OPERATOR_WEBHOOK_URL: url, FAREBOX_OPERATOR_WEBHOOK_SECRET: secret } = config;
  if (url === null || secret === null) return null;
  return { ...splitCredentials(url), secrets: secret.split(/\s+/) };
}

/** The configured chains. The libraries that derive addresses are loaded only if needed. */
export async function openDeposits(config: Config, fetch: Fetch): Promise<Chains> {
  const { variable, FAREBOX_XPUB_EVM: evm, FAREBOX_XPUB_TRON: tron } = config;
  const dir = chainsDir(config);
  demandChains(dir);
  const named = variable.named(chainVariables);
  if (evm === null && tron === null && named.length === 0)
    return { live: [], play: null, hangUp: () => {} };
  const { openChains } = await import('./chains/chains.ts');
  const options = { dir, variable, named, fetch, xpubs: { evm, tron }, hide: hideInLogs };
  const { faults, ...chains } = openChains(options);
  if (faults.length > 0) throw new ConfigError(faults.join('\n'));
  return chains;
}

function demandChains(dir: string): void {
  try {
    readdirSync(dir);
  } catch (error) {
    const why = messageOf(error);
    throw new ConfigError(`FAREBOX_CHAINS: cannot read ${dir}: ${why}`, { cause: error });
  }
}

/** The spool is on this machine's own disk, wherever media are kept. */
function openSpool(config: Config): Promise<Spool> {
  const maxBytes = config.FAREBOX_SPOOL_MAX_BYTES;
  return Spool.open(dataDir(config, 'spool'), { maxBytes, keepFreeBytes: lowBytes });
}

function watchMedia(media: Storage, log: Logger, everyMs: number): WatchedStorage {
  return watchStorage(media, {
    everyMs,
    onAway: (err) =>
      log.error({ err }, 'the storage does not answer as it should: see FAREBOX_STORAGE'),
    onBack: (seconds) => log.warn({ seconds: Math.round(seconds) }, 'the storage is back'),
  });
}

/** The storage of media. Throws `ConfigError` if it cannot be used. */
export function openMedia(config: Config): Storage {
  const folder = mediaFolder(config);
  const address = folder === null ? config.FAREBOX_STORAGE : `disk:${folder}`;
  try {
    return openStorage(address, { isKnown: isKnownFolder(config) });
  } catch (cause) {
    throw new ConfigError(`FAREBOX_STORAGE: ${messageOf(cause)}`, { cause });
  }
}

/**
 * For checks of the catalog without a service: which upstreams exist, and which are set up. Close
 * the result if upstreams were called.
 */
export function upstreamsOf(config: Config) {
  const fetches = openFetches(config);
  const connected = connect(config, fetches, new Map());
  const { define, faultOf: definitionFault, unsupportedRowOf, usable, about, live } = connected;
  const { storeKeys } = connected;
  const { close: hangUp } = connected;
  const sandboxIsOn = config.FAREBOX_SANDBOX ?? config.DATABASE_URL === null;
  const isSandbox = (name: string) => name === 'sandbox' && sandboxIsOn;
  const usableUpstreams = (name: string) => isSandbox(name) || usable(name);
  const close = async () => {
    await hangUp();
    await Promise.all(Object.values(fetches).map((each) => each?.close()));
  };
  const tools = toolsOf(config, fetches);
  const known = { knownUpstreams: builtIn, usableUpstreams };
  return {
    ...known,
    definitionFault,
    unsupportedRowOf,
    define,
    storeKeys,
    about,
    live,
    tools,
    close,
  };
}

function toolsOf(config: Config, fetches: OutboundFetches): UpstreamTools {
  const download = createDownload(fetches.inputs, {
    maxBytes: config.FAREBOX_UPLOAD_MAX_BYTES,
    stepSeconds: config.FAREBOX_STEP_TIMEOUT_SECONDS,
  });
  const { trusted: fetch, guarded } = fetches;
  return { fetch, guarded, download, now: Date.now };
}

/** `given` replaces the upstreams that come with Farebox. */
function connect(
  config: Config,
  fetches: OutboundFetches,
  given?: ReadonlyMap<string, Upstream>,
  tracer: Tracer | null = null,
): Upstreams {
  const { variable, FAREBOX_TRACE_UPSTREAMS: told } = config;
  const tools = toolsOf(config, fetches);
  const own = given ?? ownUpstreams(config, tools.download);
  const traces = tracer && { tracer, tellsContext: (name: string) => told.includes(name) };
  return openUpstreams(own, variable, tools, hideInLogs, traces);
}

function ownUpstreams(config: Config, download: UpstreamTools['download']): Map<string, Upstream> {
  if (config.FAREBOX_SANDBOX === false) return new Map();
  const sandbox = createSandbox({
    dir: dataDir(config, 'sandbox'),
    concurrency: config.FAREBOX_SANDBOX_CONCURRENCY,
    speed: config.FAREBOX_SANDBOX_SPEED,
    download,
  });
  return new Map([[sandbox.name, sandbox]]);
}

function openFetches(
  config: Config,
  { lookup, chains }: Pick<ServicesOptions, 'lookup' | 'chains'> = {},
): OutboundFetches {
  // guard: local-webhooks-in-the-trial (off: true)
  const isTrial = chains?.play != null;
  const guard = {
    allowHosts: [...config.FAREBOX_ALLOW_PRIVATE_HOSTS, ...config.FAREBOX_TEST_PUBLIC_HOSTS],
  };
  // Strangers' addresses must not lead to this service, or a request could call it in a loop.
  const own = ownNames(config);
  const httpsOnly = config.FAREBOX_WEBHOOK_HTTPS_ONLY;
  const publicOnly =
    config.FAREBOX_TEST_PUBLIC_HOSTS.length > 0
      ? { allowHosts: config.FAREBOX_TEST_PUBLIC_HOSTS }
      : true;
  return {
    guarded: createFetch({ guard: guard.allowHosts.length > 0 ? guard : true, own, lookup }),
    inputs: createFetch({ guard: publicOnly, own, lookup }),
    webhooks: createFetch({
      // guard: webhook-judged-when-sent
      guard: publicOnly,
      httpsOnly,
      own,
      lookup,
    }),
    localWebhooks: isTrial
      ? createFetch({ guard: { allowHosts: loopbackHosts }, httpsOnly, own, lookup })
      : null,
    trusted: createFetch({ guard: false }),
  };
}

type OwnLinks = Links & { listensOn(port: number): void };

/** With `PORT=0` the base address is unknown until `listensOn` is told the port. */
function linksOf(config: Config, secret: Buffer): OwnLinks {
  const { FAREBOX_BASE_URL: given, PORT } = config;
  const atPort = (port: number) => given ?? `http://localhost:${port}/v1`;
  let known = given === null && PORT === 0 ? null : atPort(PORT);
  return {
    get baseUrl() {
      if (known === null) throw new Error('the base address is unknown until the service listens');
      return known;
    },
    listensOn: (port) => (known = atPort(port)),
    secret,
    outputTtlSeconds,
    isPublic: isPublicBase(config),
  };
}

/** Whether upstreams can reach the base address. False if that is only guessed, not configured. */
function isPublicBase({ FAREBOX_BASE_URL: base, FAREBOX_TEST_PUBLIC_HOSTS: test }: Config) {
  if (base === null) return false;
  return test.includes(new URL(base).host) || judgeUrl(base, { httpsOnly: true }).ok;
}

/** This service's own names, to which strangers' addresses must not lead. */
export function ownNames(config: Config): string[] {
  return config.FAREBOX_BASE_URL === null ? [] : [new URL(config.FAREBOX_BASE_URL).hostname];
}

/** Checks the mail server once, without delaying the start, so that mistakes show early. */
function askMail(mail: Mail, log: Logger): { stop: () => void } {
  let isOver = false;
  mail.checkConnection().catch((err: unknown) => {
    const sentence = 'the mail server does not answer as it should: see FAREBOX_SMTP_URL';
    if (!isOver) log.warn({ err }, sentence);
  });
  return { stop: () => void (isOver = true) };
}
