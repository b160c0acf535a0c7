import type { Server } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { Chains } from './chains/chains.ts';
import { ceilings, type Config } from './config.ts';
import { sellerText } from './core/account/receipt.ts';
import { formatUsd } from './core/price/money.ts';
import * as depositLists from './db/deposits/deposit-lists.ts';
import * as keys from './db/accounts/keys.ts';
import * as people from './db/accounts/people.ts';
import * as queue from './db/requests/queue.ts';
import * as pages from './db/requests/request-pages.ts';
import * as requests from './db/requests/requests.ts';
import { runTimes } from './db/requests/run-times.ts';
import { createBannerView } from './http/banner.ts';
import { addShareGauges, databaseShares } from './http/database-share.ts';
import type { HttpDeps } from './http/deps.ts';
import { trialCall } from './http/api/play-deposit.ts';
import { falCalls } from './http/fal/routes.ts';
import { createPageEvents, type PageEvents } from './http/page-events.ts';
import { outside, routes } from './http/routes.ts';
import { createServer } from './http/server.ts';
import { openPost } from './http/session/auth-policy.ts';
import { usualTimes, type Times } from './http/times.ts';
import { createStreamGrants } from './http/stream-grants.ts';
import { createRequestEvents } from './http/request-events.ts';
import { addressOf, type Address } from './lib/address-of.ts';
import { createBudget } from './lib/budget.ts';
import { FairQueue } from './lib/fair-queue.ts';
import { createLookup, ownAddresses, type Lookup } from './lib/outbound/fetch.ts';
import type { Metrics } from './lib/metrics.ts';
import { throttleLog } from './lib/log-throttle.ts';
import type { Database } from './lib/sql/sql.ts';
import { movedSince } from './ledger/statement.ts';
import type { BatchBounds } from './operations/requests/batched.ts';
import { createQueueView } from './operations/upstreams/queue-view.ts';
import { createRunTimes } from './operations/upstreams/run-times.ts';
import { openServices, ownNames, type Services } from './services.ts';
import { createThumbnails } from './storage/thumbnail.ts';
import type { CatalogStore } from './catalog/catalog.ts';
import type { ServiceDatabase } from './database.ts';
import type { Upstream } from './upstreams/upstream.ts';
import { shownSettings } from './shown-settings.ts';
import { openWeb, webOrigin } from './web.ts';
import { warnOfMissingUpstreams } from './worker/missing-upstreams.ts';
import { watchBooks } from './worker/background/audit.ts';
import { watchChains, type ChainTask } from './worker/background/chains.ts';
import { createLostReplies } from './operations/requests/lost-replies.ts';
import { watchBalances } from './worker/background/low-balance.ts';
import { sendEvents, type EventTask } from './worker/background/operator-events.ts';
import { createWorker, type Worker } from './worker/worker.ts';
import { withTimeout } from './lib/with-timeout.ts';

/** One process: the HTTP side, a worker, or both. They share their services. */

const daySeconds = 24 * 3600;
/** A health check must answer quickly; the container image waits 5 s for it. */
const answerMs = 2_000;
/** Longer than any call may take, and than a connection stays open without one. */
const retireMaxMs = 15 * 60_000;
const retireLookMs = 100;

/** Brings the connections of a process that does not listen itself. */
export interface SharedEntrance {
  /** The address at which they arrive. */
  address: Address;
  /** The server gets every connection from now on. */
  open(server: Server): void;
  /** Number of open connections. */
  size(): number;
  /** The server gets no more connections. Resolves once all are closed. */
  close(): Promise<void>;
}

export interface App {
  /** The address the process listens on; null for a worker without a port. */
  address: Address | null;
  baseUrl: string;
  db: Database;
  worker: Worker | null;
  /** Reads blockchains; null without a worker. */
  chains: ChainTask | null;
  /** Sends events to the operator. */
  events: EventTask;
  catalog: CatalogStore;
  metrics: Metrics;
  /**
   * For a process that gets no more connections: serves those that it has until they close, which
   * each reply asks for. Event streams may be left; they end when the process stops.
   */
  retire(): Promise<void>;
  /**
   * Stops taking work, finishes or hands back running work, and ends streams. Takes at most about
   * `graceMs`.
   */
  stop(graceMs?: number): Promise<void>;
}

export interface AppOptions {
  config: Config;
  database: ServiceDatabase;
  log: Logger;
  http: boolean;
  worker: boolean;
  /** In place of HOST and PORT: a listening socket of this process, or one that it shares. */
  entrance?: { fd: number } | SharedEntrance | undefined;
  /** The metrics of all processes at the address, as text. Default: those of this process. */
  figures?: (() => Promise<string>) | undefined;
  /** False: the worker runs a round only when `runOnce` is called. */
  running?: boolean;
  /** Used in place of the configured upstreams. */
  upstreams?: Map<string, Upstream>;
  /** Used in place of the configured chains. */
  chains?: Chains | undefined;
  /** Used in place of the usual time limits. */
  times?: Times;
  /** Used in place of the system's look-up of host names that strangers give. */
  lookup?: Lookup;
  /** Replaces the limits of each batch; `max: 1` gives each call its own transaction. */
  batches?: BatchBounds;
}

export async function startApp(options: AppOptions): Promise<App> {
  const { config, database, log } = options;
  const { db } = database;
  const times = options.times ?? usualTimes;
  const { storageMs: probeMs } = times;
  const services = await openServices({ ...times, ...options, db, probeMs });
  const { catalog, metrics, links } = services;
  const { leaving, stopping, draining, cutoff, signals } = openEnding();
  const lookup = options.lookup ?? createLookup();
  const { entrance, figures = () => metrics.registry.metrics() } = options;
  const deps = httpDeps(services, config, { ...signals, times, lookup, figures });
  addShareGauges(deps);
  const worker = options.worker ? createWorker(workerDeps(services, config, times)) : null;
  const port = options.http ? config.PORT : config.FAREBOX_WORKER_PORT;
  const table = options.http ? tableOf(deps) : outside;
  const web = options.http && config.FAREBOX_WEB ? openWeb(services, config, deps) : null;
  const server = port === null ? null : createServer(deps, log, table, web);
  const close = async () => {
    deps.requestEvents.close();
    deps.pageEvents.close();
    deps.streamGrants.close();
    await services.close();
  };
  try {
    const shared = entrance && 'open' in entrance ? entrance : null;
    const at = entrance && 'fd' in entrance ? entrance : { port: port!, host: config.HOST };
    const address = server && (shared ? await enter(server, shared) : await listen(server, at));
    links.listensOn(options.http ? address!.port : config.PORT);
    const working = options.running === false ? undefined : worker?.run();
    const tasks = await startTasks(services, options, deps);
    logStart(services, config);

    const retire = async () => {
      leaving.abort();
      if (shared) await untilLeft(shared, deps);
    };
    const stop = async (graceMs = 8_000) => {
      const takesCalls = options.http && !leaving.signal.aborted;
      leaving.abort();
      stopping.abort();
      const ended = tasks.stop();
      const last = setTimeout(() => cutoff.abort(), graceMs * 0.75);
      const over = new AbortController();
      const force = setTimeout(() => over.abort(), graceMs);
      over.signal.addEventListener('abort', () => server?.server.closeAllConnections());
      const drain = async () => {
        if (takesCalls) await halfDrain(config, cutoff.signal);
        draining.abort();
        if (takesCalls) await halfDrain(config, cutoff.signal);
        await Promise.all([server?.close(), shared?.close()]);
      };
      await Promise.all([worker?.stop(graceMs * 0.6), drain()]);
      // Chats whose callers have left still have to be charged.
      const rest = Promise.allSettled([...deps.chats, ended]);
      await Promise.race([rest, aborted(over.signal)]);
      clearTimeout(last);
      clearTimeout(force);
      await working;
      await close();
    };
    const { chains, events } = tasks;
    const { baseUrl } = links;
    const parts = { db, worker, chains, events, catalog, metrics };
    return { address, baseUrl, ...parts, retire, stop };
  } catch (error) {
    await server?.close();
    await close();
    throw error;
  }
}

/** Signals that tell the parts of a process, step by step, that it ends. */
function openEnding() {
  const [leaving, stopping] = [new AbortController(), new AbortController()];
  const [draining, cutoff] = [new AbortController(), new AbortController()];
  const signals = {
    leaving: leaving.signal,
    stopping: stopping.signal,
    draining: draining.signal,
    cutoff: cutoff.signal,
  };
  return { leaving, stopping, draining, cutoff, signals };
}

function tableOf({ chains }: HttpDeps) {
  return [...routes, ...falCalls, ...(chains.play === null ? [] : [trialCall])];
}

/** Logs the settings of deposits and operator events: a forgotten one shows nowhere else. */
function logStart({ log, chains, receiver }: Services, config: Config): void {
  const review = config.FAREBOX_DEPOSIT_REVIEW_USD;
  const facts = {
    chains: chains.live.map(({ chain }) => chain.name),
    deposit_review_usd: review === null ? null : formatUsd(review),
    operator_webhook: receiver !== null,
  };
  log.info(facts, 'started');
}

/**
 * Waits for one half of the drain time. During the first half only the health check reports the
 * stop to the load balancer, and calls are served as usual. During the second half further calls
 * are refused with a reason instead of being cut off. Running work has its own time limits, so this
 * does not prolong a stop.
 */
async function halfDrain(config: Config, cutoff: AbortSignal): Promise<void> {
  const ms = config.FAREBOX_DRAIN_SECONDS * 500;
  if (ms > 0) await pause(ms, undefined, { signal: cutoff }).catch(() => {});
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function listen(
  server: FastifyInstance,
  at: { port: number; host: string } | { fd: number },
): Promise<Address> {
  const inherited = 'fd' in at;
  // Fastify would take a missing host for `localhost`, and listen there, too.
  await server.listen(inherited ? { ...at, host: '' } : at);
  const { host, port } = addressOf(server.server);
  return { host: inherited ? host : at.host, port };
}

async function enter(server: FastifyInstance, shared: SharedEntrance): Promise<Address> {
  await server.ready();
  shared.open(server.server);
  return shared.address;
}

/** Waits while calls are under way, or may still come by an open connection. */
async function untilLeft(shared: SharedEntrance, { metrics, chats }: HttpDeps): Promise<void> {
  const last = performance.now() + retireMaxMs;
  while (performance.now() < last) {
    const streams = (await metrics.streams.get()).values[0]?.value ?? 0;
    if (shared.size() <= streams && chats.size === 0) return;
    await pause(retireLookMs);
  }
}

function workerDeps(services: Services, config: Config, times: Times) {
  const { db, storage, spool, upstreams, log, hints, operations, links, metrics } = services;
  return {
    db,
    storage,
    spool,
    upstreams,
    log,
    tracer: services.tracer,
    hints,
    ...services.fetches,
    catalog: () => services.catalog.current(),
    operations,
    circuit: services.circuit,
    inputBytes: services.inputBytes,
    decoding: services.decoding,
    missingUpstream: warnOfMissingUpstreams(services),
    mayWork: services.mayWork,
    observe: (step: string, seconds: number, failed: boolean) =>
      metrics.stepSeconds.observe({ step, result: failed ? 'failed' : 'ok' }, seconds),
    settings: {
      ...config,
      outputTtlSeconds: links.outputTtlSeconds,
      webhookMs: times.webhookMs,
      links,
      secrets: services.secrets,
    },
  };
}

/** Work that a process repeats besides serving calls and requests. */
async function startTasks(
  services: Services,
  { config, log, ...options }: AppOptions,
  { origin, settings: { times } }: HttpDeps,
) {
  const { db, metrics, version, hints } = services;
  const isCurrent = () => version.moved() === null;
  const auditor = watchBooks({
    db,
    metrics,
    log,
    isCurrent,
    days: config.FAREBOX_PROOF_DAYS,
    firstMs: times.auditFirstMs,
  });
  const balances = watchBalances({
    db,
    log,
    ...services.fetches,
    webhookMs: times.webhookMs,
    mail: services.mail,
    origin,
    mayTell: services.mayWork,
  });
  const chains = options.worker
    ? watchChains({
        db,
        log,
        chains: services.chains.live,
        noteFailed: (chain) => metrics.chainReadsFailed.inc({ chain }),
        noteCredited: (chain, amount) => metrics.chainDeposits.inc({ chain }, Number(amount) / 1e6),
        hangUp: services.chains.hangUp,
        mayWork: services.mayWork,
        onDeposits: () => hints.deposits(),
        running: options.running !== false,
        chainSeconds: config.FAREBOX_CHAIN_SECONDS,
        reviewUsdMicro: config.FAREBOX_DEPOSIT_REVIEW_USD,
      })
    : null;
  const events = await sendEvents({
    db,
    log,
    receiver: services.receiver,
    fetch: services.fetches.trusted,
    webhookMs: times.webhookMs,
    mail: services.mail,
    origin,
    mayWork: services.mayWork,
    running: options.running !== false,
  });
  const stop = () =>
    Promise.allSettled([auditor.stop(), balances.stop(), chains?.stop(), events.stop()]);
  return { chains, events, stop };
}

function httpDeps(
  services: Services,
  config: Config,
  given: Pick<HttpDeps, 'leaving' | 'stopping' | 'draining' | 'cutoff' | 'figures' | 'lookup'> & {
    times: Times;
  },
): HttpDeps {
  const { db, log, catalog } = services;
  const { times, ...rest } = given;
  const account = ceilings(config);
  const view = createQueueView(
    (names, limit) => queue.queueStates(db, names, limit),
    (upstream, accountId) => queue.readWaitedSeconds(db, upstream, accountId),
    config.FAREBOX_QUEUE_AGE_SECONDS,
  );
  const { FAREBOX_LEGAL_NAME: name, FAREBOX_RECEIPT_TEXT: lines } = config;
  const origin = () => webOrigin(config, services.links);
  return {
    ...services,
    wholeDb: db,
    files: catalog,
    thumbnails: createThumbnails(services.storage, services.decoding),
    catalog: () => catalog.current(),
    trusted: services.fetches.trusted,
    requestEvents: createRequestEvents(
      services.hints,
      {
        find: (ids) => requests.findMany(db, ids),
        position: ({ upstream, id }) => view.readPosition(upstream, id),
      },
      throttleLog((told) => log.warn(told, 'could not poll watched requests')),
      times,
    ),
    pageEvents: pageEvents(services, times),
    streamGrants: createStreamGrants({
      areStillThere: (viewers) => people.areStillThere(db, viewers),
      areGood: (hashes) => keys.areGood(db, hashes),
      onError: throttleLog((told) =>
        log.warn(told, 'could not check whether open streams may continue'),
      ),
      everyMs: times.streamGrantsMs,
    }),
    lostReplies: createLostReplies(
      db,
      throttleLog((told) => log.warn(told, 'could not note a reply that was lost')),
    ),
    queue: view,
    runTimes: createRunTimes(
      () => runTimes(db, [...catalog.current().models.keys()]),
      throttleLog((told) => log.warn(told, 'could not read how long runs take')),
    ),
    own: ownAddresses(ownNames(config)),
    publicHosts: config.FAREBOX_TEST_PUBLIC_HOSTS,
    ...rest,
    origin,
    seller: () => sellerText(name, lines, new URL(origin()).host),
    post: openPost(services.mail, services).post,
    chats: new Set(),
    ...budgets(config, times),
    settings: {
      ...config,
      account: {
        open_jobs: account.openJobs,
        open_chats: account.openChats,
        bytes_a_day: config.FAREBOX_INPUT_BYTES_A_DAY,
        cancels_an_hour: config.FAREBOX_ACCOUNT_CANCELS,
      },
      fileTtlSeconds: config.FAREBOX_FILE_DAYS * daySeconds,
      signUp: config.FAREBOX_SIGN_UP ?? 'invite',
      times,
    },
    banner: createBannerView(services.db),
    shownSettings: () => shownSettings(config),
    unready: () => unready(services),
  };
}

/** Limits that callers share in this process. */
function budgets(config: Config, { shareWaitMs }: Times) {
  const calls = config.FAREBOX_IN_FLIGHT_MAX;
  const bytes = config.FAREBOX_BODIES_MAX_BYTES;
  const shares = databaseShares(config.FAREBOX_DATABASE_POOL);
  const places = { order: 3, ...shares.statements, waitMs: shareWaitMs, waitingMax: 100 };
  return {
    openChats: createBudget(Infinity, config.FAREBOX_OPEN_CHATS),
    accountChats: createBudget(Infinity, ceilings(config).openChats),
    drains: createBudget(config.FAREBOX_DRAINING_CHATS, null),
    openUploads: createBudget(Math.ceil(calls / 4), config.FAREBOX_OPEN_UPLOADS),
    signIns: new FairQueue({ order: 1, ...shares.signIns, waitMs: shareWaitMs }),
    // Each sum may hold a database connection for seconds, so an account gets one at most half of
    // the time.
    sums: new FairQueue({
      order: 2,
      capacity: 2,
      perOwner: 1,
      cooldownFactor: 1,
      waitMs: shareWaitMs,
      waitingMax: 10,
    }),
    statements: new FairQueue(places),
    standbyReads: new FairQueue(places),
    // Each may hold a request's longest input and output in memory.
    exports: createBudget(2, 1),
    calls: createBudget(calls, null),
    reading: createBudget(Math.ceil(calls / 2), null),
    // Parsing is about an eighth of the CPU time that a large body takes in all, so with this
    // cooldown an account gets at most half of the time. Bodies in several places are parsed in
    // turns.
    parsing: new FairQueue({
      order: 4,
      capacity: 4,
      perOwner: 1,
      waitMs: shareWaitMs,
      cooldownFactor: 7,
    }),
    streams: createBudget(config.FAREBOX_STREAMS_MAX, null),
    strangers: createBudget(Math.ceil(calls / 8), null),
    bodies: createBudget(bytes, bytes / 4),
  };
}

function pageEvents({ db, hints, links, log, chains }: Services, times: Times): PageEvents {
  return createPageEvents(
    hints,
    {
      entries: (ids, accountIds) => pages.findEntries(db, ids, accountIds),
      moved: (known, limit) => movedSince(db, known, limit),
      open: (accountIds, newest) => pages.openAmongNewest(db, accountIds, newest),
      deposits: async (accountIds, newest) =>
        chains.live.length === 0 ? [] : depositLists.readVersions(db, accountIds, newest),
    },
    {
      links,
      times,
      onError: throttleLog((told) =>
        log.warn(told, 'could not read changes for the open web pages'),
      ),
    },
  );
}

/** Names what is missing to serve calls; null if nothing is. Text models need no storage. */
async function unready({ db, catalog, blocked }: Services): Promise<string | null> {
  const { models } = catalog.current();
  const why = blocked([...models.values()].some(({ kind }) => kind !== 'text'));
  if (why !== null) return why;
  if (models.size === 0) return 'catalog';
  try {
    await withTimeout(db.demandWrites(), answerMs);
    return null;
  } catch {
    return 'database';
  }
}
