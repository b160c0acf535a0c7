import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CatalogStore } from '../catalog/catalog.ts';
import type { Chains } from '../chains/chains.ts';
import type { Catalog } from '../core/catalog/catalog.ts';
import type { BannerView } from './banner.ts';
import type { OperatorRight, OperatorRole } from '../core/account/operator-role.ts';
import type { EndTransition } from '../core/request/request.ts';
import type { Links } from '../core/request/views.ts';
import type { Spender } from '../db/accounts/callers.ts';
import type { Hints } from '../db/hints.ts';
import type { StatusRow } from '../db/requests/requests.ts';
import type { Budget } from '../lib/budget.ts';
import type { FairQueue } from '../lib/fair-queue.ts';
import type { Letter } from '../lib/mail.ts';
import type { Database } from '../lib/sql/sql.ts';
import type { StandbyUse } from '../lib/sql/standby.ts';
import type { Fetch, Lookup } from '../lib/outbound/fetch.ts';
import type { Author } from '../operations/operator-action.ts';
import type { Circuit } from '../operations/upstreams/circuit.ts';
import type { AccountLimits } from '../operations/requests/admit.ts';
import type { Operations } from '../operations/requests/batched.ts';
import type { LostReplies } from '../operations/requests/lost-replies.ts';
import type { WebhookFetches } from '../operations/requests/webhook-fetch.ts';
import type { QueueView } from '../operations/upstreams/queue-view.ts';
import type { RunTimes } from '../operations/upstreams/run-times.ts';
import type { Refusals } from '../operations/accounts/refusals.ts';
import type { Thumbnails } from '../storage/thumbnail.ts';
import type { WatchedStorage } from '../storage/watched.ts';
import type { Upstreams } from '../upstreams/index.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { Tracer } from '../lib/trace.ts';
import type { PageEvents } from './page-events.ts';
import type { Times } from './times.ts';
import type { Grant, StreamGrants } from './stream-grants.ts';
import type { RequestEvents } from './request-events.ts';

/** Each call needs these. */
export interface CallDeps {
  /** Each call uses its owner's share of it. */
  db: Database;
  settings: HttpSettings;
  log: {
    debug(fields: object, message: string): void;
    error(fields: object, message: string): void;
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
  metrics: Metrics;
  /** Null: traces are off. */
  tracer: Tracer | null;
  /** The metrics of all processes at this address, as text. */
  figures: () => Promise<string>;
  links: Links;
}

/** Whether this process is about to stop, or may not work. */
export interface StopDeps {
  /** Fires when each connection shall close after its next reply. */
  leaving: AbortSignal;
  /** Fires when the process is told to stop; until it drains, calls are accepted as usual. */
  stopping: AbortSignal;
  /** Fires when the process begins to stop: no new work, streams end. */
  draining: AbortSignal;
  /** Fires shortly before a stopping process ends: open streams announce it and close. */
  cutoff: AbortSignal;
  /** The database's newest migration if another version has migrated it, otherwise null. */
  version: { moved: () => number | null };
  /** The part that is not ready, or null. */
  unready: () => Promise<string | null>;
}

/** The models on offer. */
export interface CatalogDeps {
  catalog: () => Catalog;
  runTimes: () => Promise<RunTimes>;
}

/** The shares that callers take before their work begins. */
export interface ShareDeps extends CallDeps {
  /** Calls in progress: by network until the key or session is known, then by account or person. */
  calls: Budget;
  /** Calls with a body that the web pages can make without a session, by network. */
  strangers: Budget;
  /** Calls whose body is still being read, by account or person. */
  reading: Budget;
  /** Large bodies that are parsed, by account. */
  parsing: FairQueue;
  /** Bytes of bodies and their files in memory, until their calls are over; by account. */
  bodies: Budget;
  /** Statements and transactions of calls, by account, person or network. */
  statements: FairQueue;
  /** The same at the standby. */
  standbyReads: FairQueue;
  /** Calls of the sign-in library, by network. */
  signIns: FairQueue;
  /** Sums over many rows, by account or person. */
  sums: FairQueue;
  /** The standby, for calls whose reply may be some seconds old; null if there is none. */
  reader: StandbyUse | null;
  /** Exports of whole accounts under way, by person or operator key. */
  exports: Budget;
}

/** Replies that stay open while nothing happens. */
export interface StreamDeps extends CallDeps, StopDeps {
  /** Open event streams and waiting calls, by account. */
  streams: Budget;
  streamGrants: StreamGrants;
  requestEvents: RequestEvents;
  pageEvents: PageEvents;
}

/** Requests: to submit, follow and end them. */
export interface RequestDeps extends CallDeps, CatalogDeps, StopDeps {
  operations: Operations;
  queue: QueueView;
  /** Records how calls to upstreams went. */
  circuit: Circuit;
  hints: Pick<Hints, 'tellChanged' | 'work'>;
  /** Records ended requests in the log and the metrics. */
  recorder: { noteEnd(ending: EndTransition): void };
  upstreams: ReadonlyMap<string, Upstream>;
  /** The reason why this process takes nothing new, or null. Chat needs no storage. */
  blocked: (needsStorage: boolean) => string | null;
  lookup: Lookup;
  own: ReadonlySet<string>;
  /** Host:port pairs that count as public. */
  publicHosts: readonly string[];
  fetches: WebhookFetches;
  lostReplies: LostReplies;
  /** Signing secrets that are accepted, newest first. */
  secrets: readonly Buffer[];
  refusals: Refusals;
}

/** Chat calls that are under way in this process. */
export interface OpenChatDeps {
  /** Chat calls that are not settled yet, even if their callers have left. */
  chats: Set<Promise<unknown>>;
  /** Open chat calls in this process, by key. */
  openChats: Budget;
  /** Open chat calls in this process, by account. */
  accountChats: Budget;
  /** Chat calls that are read on for their usage although the caller has left, by account. */
  drains: Budget;
  /** Bytes of callers' files that are fetched before they are sent on; by account. */
  inputBytes: Budget;
  /** The same database for work that may not be refused: to settle, and calls of upstreams. */
  wholeDb: Database;
}

/** Callers' files and the outputs of requests. */
export interface FileDeps extends RequestDeps {
  storage: WatchedStorage;
  thumbnails: Thumbnails;
  /** Files that are measured, decoded or converted, by account. */
  decoding: FairQueue;
  openUploads: Budget;
}

/** Only for operators: catalog files, upstreams and settings of the service. */
export interface ConsoleDeps extends RequestDeps {
  /** The contents of the catalog files, and their problems. */
  files: Pick<CatalogStore, 'contents' | 'problems' | 'warnings' | 'current'>;
  /** Brings operators' changes of the catalog into this process. */
  overrides: { reload(): Promise<void> };
  /** The setup of the upstreams. */
  connected: Pick<Upstreams, 'about' | 'usable'>;
  /** For calls to upstreams. */
  trusted: Fetch;
  /** The database itself: why it is on hold, and by how many seconds its clock is ahead. */
  installation: { held: () => string | null; skew: () => number | null };
  banner: BannerView;
  /** All settings, for the operator; values of secrets are left out. */
  shownSettings: () => ShownSetting[];
}

/** How customers pay, and whom. */
export interface PaymentDeps extends CallDeps {
  /** The chains on which customers can pay. */
  chains: Pick<Chains, 'live' | 'play'>;
  /** The operator, as receipts name them. */
  seller: () => string;
}

/** Letters with links to the web pages. */
export interface MailDeps {
  /** Origin of the web pages, without a path. */
  origin: () => string;
  /** Sends mail without waiting for it; a failure is logged. Null: no mail server is set up. */
  post: ((letter: Letter) => void) | null;
}

/** Everything; a handler names the part that it takes. */
export interface HttpDeps
  extends ShareDeps, StreamDeps, OpenChatDeps, FileDeps, ConsoleDeps, PaymentDeps, MailDeps {}

/** A setting as the operator sees it. */
export interface ShownSetting {
  name: string;
  /** Null: it is not set, or it is a secret. */
  value: string | null;
  from: 'default' | 'environment' | 'file';
  secret: boolean;
  /** Whether it has a value; of a secret, only this is shown. */
  set: boolean;
  /** The sentence about it, in Markdown. */
  says: string;
}

/** Settings that calls read, by their names in `config.ts`, and what follows from them. */
export interface HttpSettings {
  /** This and the next apply to keys without their own limits. */
  FAREBOX_RPM: number;
  FAREBOX_OPEN_JOBS: number;
  /** Open chat calls of each key in this process. */
  FAREBOX_OPEN_CHATS: number;
  /** Limits over all keys of an account. */
  account: AccountLimits & { open_chats: number; cancels_an_hour: number };
  /** Per account. */
  FAREBOX_OPEN_UPLOADS: number;
  FAREBOX_UPLOAD_MAX_BYTES: number;
  fileTtlSeconds: number;
  /** Maximum size of all uploaded files of an account together. */
  FAREBOX_FILES_MAX_BYTES: number;
  /** Maximum number of uploaded files of an account. */
  FAREBOX_FILES_MAX: number;
  /** If an account's oldest job at an upstream has waited longer, its submits there are refused. */
  FAREBOX_QUEUE_AGE_SECONDS: number;
  /** Origins whose pages may make calls with a key. */
  FAREBOX_CORS_ORIGINS: readonly string[];
  FAREBOX_WEBHOOK_HTTPS_ONLY: boolean;
  FAREBOX_METRICS_TOKEN: string | null;
  /** All history is proved again within so many days. */
  FAREBOX_PROOF_DAYS: number;
  /** The people who may sign up. */
  signUp: 'open' | 'invite' | 'closed';
  /** Whether this service has web pages. */
  FAREBOX_WEB: boolean;
  /** Number of the operator's own proxies in front of this service. */
  FAREBOX_TRUSTED_PROXIES: number;
  times: Times;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller's address behind the operator's proxies. Fastify's own `ip` is a proxy's. */
    readonly address: string;
    /** The network, person or account in whose share the call is. */
    owner: string;
    /** Moves the call into the share of this account or person. */
    belongsTo: (owner: string) => void;
    /** For a call that waits for the database: fires when its caller has left or has the reply. */
    left?: AbortSignal;
    /** Settles when the owner's first statement gets its place in the share, or is refused. */
    entry?: { owner: string; entered: Promise<void> };
    /** Gives the call's slot to another call, because this one only waits from now on. */
    yieldSlot: () => void;
    /** Called when the work is over and the caller has left. Null: no work runs. */
    atEnd: (() => void)[] | null;
    /** The key's holder, once the key was accepted. */
    caller?: Spender;
    /** An operator, once the key or session was accepted. */
    operator?: OperatorAsker;
    /** For a poll: the row, requested while the key was checked. */
    row?: Promise<StatusRow | null>;
    /** The job or chat that the call made or repeated; for the log. */
    made?: string;
    /** The model that the call asks for, also if it is refused; for the log. */
    model_id?: string;
  }
}

/** A call whose key was accepted. */
export type KeyedRequest = FastifyRequest & {
  caller: Spender;
  /** Streams of the call end when this key or person loses access. */
  grant: Grant;
};

/** An operator's key or an operator's session. */
export interface OperatorAsker {
  /** The author of rows in the operator's log. */
  by: Author;
  scopes: readonly OperatorRight[];
  /** The role of the person; null for a key. */
  role: OperatorRole | null;
}

/**
 * `operators`: only owners of the service make the call about an account, a key or a person of
 * those who run it.
 */
export interface SpareRule {
  spares?: 'operators';
}

/** A call of the operator's API, with a key or with a session. */
export type OperatorRequest = FastifyRequest & { operator: OperatorAsker };

export type Handler = (req: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
