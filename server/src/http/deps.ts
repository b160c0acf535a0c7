import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CatalogStore } from '../catalog/catalog.ts';
import type { Chains } from '../chains/chains.ts';
import type { Catalog } from '../core/catalog/catalog.ts';
import type { Scope } from '../core/account/scope.ts';
import type { EndTransition } from '../core/request/request.ts';
import type { Links } from '../core/request/views.ts';
import type { Spender } from '../db/accounts/callers.ts';
import type { Hints } from '../db/hints.ts';
import type { StatusRow } from '../db/requests/requests.ts';
import type { Budget } from '../lib/budget.ts';
import type { FairQueue } from '../lib/fair-queue.ts';
import type { Letter } from '../lib/mail.ts';
import type { Database } from '../lib/sql/sql.ts';
import type { Fetch, Lookup } from '../lib/outbound/fetch.ts';
import type { Author } from '../operations/operator-action.ts';
import type { Circuit } from '../operations/upstreams/circuit.ts';
import type { AccountLimits } from '../operations/requests/admit.ts';
import type { Operations } from '../operations/requests/batched.ts';
import type { LostReplies } from '../operations/requests/lost-replies.ts';
import type { WebhookFetches } from '../operations/requests/webhook-fetch.ts';
import type { QueueView } from '../operations/upstreams/queue-view.ts';
import type { Refusals } from '../operations/accounts/refusals.ts';
import type { WatchedStorage } from '../storage/watched.ts';
import type { Upstreams } from '../upstreams/index.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { Metrics } from '../lib/metrics.ts';
import type { PageEvents } from './page-events.ts';
import type { Times } from './times.ts';
import type { Grant, StreamGrants } from './stream-grants.ts';
import type { RequestEvents } from './request-events.ts';

/** Dependencies of the routes. */
export interface HttpDeps {
  /** Each call uses its owner's share of it. */
  db: Database;
  /** The same database for work that may not be refused: to settle, and calls of upstreams. */
  wholeDb: Database;
  storage: WatchedStorage;
  catalog: () => Catalog;
  upstreams: ReadonlyMap<string, Upstream>;
  /** The contents of the catalog files, and their problems. */
  files: Pick<CatalogStore, 'contents' | 'problems' | 'warnings' | 'current'>;
  /** The setup of the upstreams. */
  connected: Pick<Upstreams, 'about' | 'usable'>;
  /** For calls to upstreams. */
  trusted: Fetch;
  hints: Pick<Hints, 'changed' | 'work'>;
  /** Records ended requests in the log and the metrics. */
  events: { ended(ending: EndTransition): void };
  links: Links;
  /** Origin of the web pages, without a path. */
  origin: () => string;
  /** The operator, as receipts name them. */
  seller: () => string;
  /** Sends mail without waiting for it; a failure is logged. Null: no mail server is set up. */
  post: ((letter: Letter) => void) | null;
  /** The chains on which customers can pay. */
  chains: Pick<Chains, 'live' | 'play'>;
  /** Signing secrets that are accepted, newest first. */
  secrets: readonly Buffer[];
  operations: Operations;
  refusals: Refusals;
  /** Records how calls to upstreams went. */
  circuit: Circuit;
  requestEvents: RequestEvents;
  pageEvents: PageEvents;
  streamGrants: StreamGrants;
  lostReplies: LostReplies;
  queue: QueueView;
  lookup: Lookup;
  own: ReadonlySet<string>;
  /** Host:port pairs that count as public. */
  publicHosts: readonly string[];
  fetches: WebhookFetches;
  metrics: Metrics;
  /** Fires when the process begins to stop: no new work, streams end. */
  draining: AbortSignal;
  /** Fires when the process is told to stop; until it drains, calls are accepted as usual. */
  leaving: AbortSignal;
  /** Fires shortly before a stopping process ends: open streams announce it and close. */
  cutoff: AbortSignal;
  /** Chat calls that are not settled yet, even if their callers have left. */
  chats: Set<Promise<unknown>>;
  /** Open chat calls in this process, by key. */
  openChats: Budget;
  /** Open chat calls in this process, by account. */
  accountChats: Budget;
  /** Chat calls that are read on for their usage although the caller has left, by account. */
  drains: Budget;
  /** Open uploads, by account. */
  openUploads: Budget;
  /** Statements and transactions of calls, by account, person or network. */
  statements: FairQueue;
  /** Calls of the sign-in library, by network. */
  signIns: FairQueue;
  /** Sums over many rows, by account or person. */
  sums: FairQueue;
  /** Calls in progress: by network until the key or session is known, then by account or person. */
  calls: Budget;
  /** Calls whose body is still being read, by account or person. */
  reading: Budget;
  /** Large bodies that are parsed, by account. */
  parsing: FairQueue;
  /** Open event streams and waiting calls, by account. */
  streams: Budget;
  /** Calls with a body that the web pages can make without a session, by network. */
  strangers: Budget;
  /** Bytes of bodies and their files in memory, until their calls are over; by account. */
  bodies: Budget;
  /** Bytes of callers' files that are fetched before they are sent on; by account. */
  inputs: Budget;
  /** Files that are measured, decoded or converted, by account. */
  decoding: FairQueue;
  /** The database itself: why it is on hold, and by how many seconds its clock is ahead. */
  installation: { held: () => string | null; skew: () => number | null };
  /** The database's newest migration if another version has migrated it, otherwise null. */
  version: { moved: () => number | null };
  /** The reason why this process takes nothing new, or null. Chat needs no storage. */
  blocked: (needsStorage: boolean) => string | null;
  settings: HttpSettings;
  /** The part that is not ready, or null. */
  unready: () => Promise<string | null>;
  log: {
    debug(fields: object, message: string): void;
    error(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

/** Settings that calls read, by their names in `config.ts`, and what follows from them. */
export interface HttpSettings {
  /** These two apply to keys without their own limits. */
  FAREBOX_RPM: number;
  FAREBOX_OPEN_JOBS: number;
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
    /** Fires when the caller has left or has its reply; of a call that waits for the database. */
    left?: AbortSignal;
    /** Settles when the first statement in this owner's share has a place, or is refused one. */
    entry?: { owner: string; entered: Promise<void> };
    /** Gives the call's slot to another call, because this one only waits from now on. */
    yieldSlot: () => void;
    /** Called when the work that runs is over, if the caller has left too. Null: none runs. */
    atEnd: (() => void)[] | null;
    /** The key's holder, once the key was accepted. */
    caller?: Spender;
    /** An operator, once the key or session was accepted. */
    operator?: OperatorAsker;
    /** For a poll: the row, requested while the key was checked. */
    row?: Promise<StatusRow | null>;
    /** The job or chat that the call made or repeated; for the log. */
    made?: string;
    /** The model of `made`, also if the request was refused; for the log. */
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
  scopes: readonly Scope[];
}

/** A call of the operator's API, with a key or with a session. */
export type OperatorRequest = FastifyRequest & { operator: OperatorAsker };

export type Handler = (req: FastifyRequest, reply: FastifyReply) => Promise<unknown>;
