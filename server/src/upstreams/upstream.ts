import type { Conversation } from '../core/chat/conversation.ts';
import type { ChatRefusal } from '../core/chat/refusal.ts';
import type { ReplyEvent } from '../core/chat/reply.ts';
import type { Usage } from '../core/chat/usage.ts';
import type { ListedPrice } from '../core/catalog/listed-price.ts';
import type { ApiError } from '../core/errors.ts';
import type { InputTypes } from '../core/media/input-types.ts';
import type { LostHow } from '../core/request/routing.ts';
import type { Wait } from '../lib/fair-queue.ts';
import type { Fetch } from '../lib/outbound/fetch.ts';
import type { UpstreamRefusal } from '../core/catalog/upstream-key.ts';

/**
 * The interface of every upstream adapter. An upstream is an outside service that we call and pay.
 *
 * Rules for adapters: neither the adapter nor its HTTP client retries a submit; every call obeys
 * the signal; replies are hostile data, whose sizes and types are checked; no error text contains a
 * key of ours.
 */

/**
 * How an upstream lets us avoid paying twice after a crash or a lost answer. A: honours an
 * idempotency key, so the same start may be sent again. B: can find a job by our tag, so a lost job
 * is looked up before another start. C+: calls back an address that contains our attempt's id, so
 * we wait for the callback. C: none of these, so a start whose answer was lost is never sent again.
 */
export type UpstreamClass = 'A' | 'B' | 'C+' | 'C';

/**
 * Counts bytes of callers' files that stay in memory until the call is over.
 *
 * @throws HandOverFailed if there is no room for them now, InputRefused if there never is
 */
export type HoldBytes = (bytes: number) => void;

/**
 * Decodes or converts a caller's file in the account's share.
 *
 * @throws HandOverFailed if its share is not free in time, or if the signal fires
 */
export type InShare = <T>(
  work: () => Promise<T>,
  wait: { signal: AbortSignal } & Pick<Wait, 'continues'>,
) => Promise<T>;

/** The call's shares of what accounts share in this process. */
export interface InputShares {
  hold: HoldBytes;
  inShare: InShare;
}

/** A caller's media input, ready to be read by the adapter. */
export interface InputFile {
  content_type: string;
  size: number;
  /**
   * For a file at a caller's address. Its size is only what its server states, 0 if it states none.
   */
  hold?: HoldBytes;
  file_name?: string;
  /** Streams the bytes; may be called more than once. */
  open(): Promise<AsyncIterable<Uint8Array>>;
  /** A short-lived address of ours that anyone may fetch; null if there is none. */
  link?: string | null;
}

/** Functions that adapters get besides their settings. */
export interface UpstreamTools {
  /** For addresses that the operator configured: any host is allowed, connections are reused. */
  fetch: Fetch;
  /** For addresses that a reply names on other hosts: refuses those in our own network. */
  guarded: Fetch;
  /**
   * Downloads a caller's address; addresses in private networks are refused. All downloads with the
   * same signal share a part of the start's time. When that time is used up, `download` and reading
   * the file throw `TooSlow`.
   */
  download(url: string, signal: AbortSignal, startSeconds?: number): Promise<InputFile>;
  /** Unix milliseconds. */
  now(): number;
}

export interface StartJob extends InputShares {
  request_id: string;
  /** The same for every attempt at this request; sent to upstreams that know idempotency keys. */
  idempotency_key: string;
  /** The upstream's own name of the model, from the catalog row. */
  model: string;
  /** Task segment of the catalog row, such as `text-to-image`. */
  task: string;
  /**
   * The caller's input with defaults filled in. Media fields contain the caller's value; `files`
   * resolves it.
   */
  input: Record<string, unknown>;
  /**
   * Fields of the input that the row knows. Other fields are not priced, so media in them must not
   * be used.
   */
  fields: readonly string[];
  /** Stored files, by the input value that names them: `file_…`, or a link to an output. */
  files: Record<string, InputFile>;
  /** Where the upstream may call back about this attempt; null if it cannot reach us. */
  callback_url: string | null;
  /** The types of files that the row takes. If absent, files are handed over as they are. */
  takes?: InputTypes;
  signal: AbortSignal;
}

/** The identity of a job at its upstream. Stored in the database: plain JSON, and small. */
export type Handle = Record<string, unknown>;

export interface OutputMedia {
  /**
   * Name of the field in our reply: a plural (`images`) makes a list, a singular (`video`) an
   * object. Null: the kind of its bytes names it.
   */
  field: string | null;
  /** The bytes, or a URL to fetch them from. */
  source: { url: string; headers?: Record<string, string> } | { bytes: Uint8Array };
  /** The type that the upstream states; the stored type is detected from the bytes. */
  content_type?: string;
  file_name?: string;
}

/** A finished generation. */
export interface JobResult {
  media: OutputMedia[];
  /** Everything in the reply that is not media: `text`, `seed` … */
  fields: Record<string, unknown>;
  /**
   * Units that the upstream says it delivered, in the row's unit. If absent, they are measured from
   * the media.
   */
  quantity?: number;
  /** The upstream's charge to the operator, if the reply states it. Micro-USD. */
  cost_usd_micro?: bigint;
}

export type JobFailure = 'upstream_rejected' | 'upstream_failed';

/** The job was stopped before its end. If nobody asked for that, it has failed with this code. */
export interface StoppedJob {
  state: 'stopped';
  code: JobFailure;
  message: string;
  /** The upstream's bill, if it states one: units in the row's unit, or micro-USD. */
  quantity?: number;
  cost_usd_micro?: bigint;
}

export type JobState =
  | { state: 'running'; progress?: number; logs?: string[]; poll_after_ms?: number }
  | { state: 'done'; result: JobResult }
  | { state: 'failed'; code: JobFailure; message: string }
  | StoppedJob
  /** The upstream does not know the job. After three of these replies in a row, the job is lost. */
  | { state: 'missing'; message: string };

/** Thrown when the upstream refused a poll. The refusal says nothing about the job. */
export class PollRefused extends Error {
  readonly why: UpstreamRefusal;
  /** How long the upstream asks us to wait. */
  readonly retry_after_ms: number | undefined;

  constructor(message: string, why: UpstreamRefusal, retry_after_ms?: number) {
    super(message);
    this.name = 'PollRefused';
    this.why = why;
    this.retry_after_ms = retry_after_ms;
  }
}

/** Refused for good: bad input or policy. */
export interface Rejection {
  outcome: 'rejected';
  message: string;
  /** No job was requested, so the refusal says nothing about the upstream. */
  unasked?: true;
  /** The field of a chat call that could not be passed on to the upstream. */
  param?: string | undefined;
  /** Why an upstream refused a chat. */
  refusal?: ChatRefusal;
  /** The upstream's model cannot read a part of a chat, which another one may. */
  lacking?: boolean;
}

export interface NotAccepted {
  outcome: 'not_accepted';
  /** Default: busy. */
  why?: UpstreamRefusal;
  message: string;
  retry_after_ms?: number;
  /**
   * For `busy`. `limited`: a rate limit (429) is the reason. `account_wide`: that limit is for our
   * whole account at the upstream, not for one model.
   */
  limited?: boolean;
  account_wide?: boolean;
  /** We could not prepare the call, so the outcome says nothing about the upstream. */
  unasked?: true;
  /** The call has waited for its account's share as long as it may; no other route helps. */
  waited?: true;
  /** The error for the caller of a chat; default: `capacity_unavailable`. */
  refusal?: ApiError;
}

/**
 * Bytes were sent, and no clear answer came back. `answer` is `slow` if the answer did not come in
 * time, `unreadable` if it makes no sense, `oversized` if it is larger than we read. If `answer` is
 * absent, the connection broke or a server on the way failed, and the next route may be tried.
 */
export interface LostAnswer {
  outcome: 'unknown';
  message: string;
  answer?: LostHow;
  /** The usage of a chat that failed before its first piece: the upstream did answer. */
  reportedUsage?: Usage;
}

export type StartOutcome =
  /** Accepted: poll by this handle. */
  | { outcome: 'accepted'; handle: Handle; poll_after_ms?: number }
  /** Accepted and finished in the same reply. */
  | { outcome: 'done'; result: JobResult }
  | Rejection
  /** Certainly not accepted (DNS, refused connection, TLS, 429, 503): safe to try elsewhere. */
  | NotAccepted
  | LostAnswer;

export interface ChatCall extends InputShares {
  request_id: string;
  model: string;
  conversation: Conversation;
  /** The most tokens of the reply. */
  max_tokens: number;
  /** Whether marks for the cache may be sent. */
  cacheControl: boolean;
  /** Stored files in the conversation, by the value that names them. */
  files?: Readonly<Record<string, InputFile>>;
  /** The row's context window: the most tokens of a prompt. */
  context_tokens: number;
  stream: boolean;
  /**
   * For streams: the time limit for the first chunk. The outcome is returned when the chunk comes.
   */
  first_byte_seconds?: number;
  signal: AbortSignal;
}

/** A reply whose events throw if it breaks off. */
export interface ChatReply {
  outcome: 'reply';
  events: AsyncIterable<ReplyEvent>;
  /** The usage before the first piece. */
  reportedUsage: Usage | null;
  /** The caller's names of what the upstream could not be told. */
  ignored?: readonly string[];
}

export type ChatOutcome = ChatReply | Rejection | NotAccepted | LostAnswer;

/** A call that came in at a job's `callback_url`. */
export interface Callback {
  /** The upstream's own name of the job's model; empty if the catalog no longer has it. */
  model: string;
  /** By names in lower case; if a header came several times, its first value. */
  headers: Record<string, string>;
  body: Buffer;
  signal: AbortSignal;
}

/** Thrown for a callback that does not come from the upstream or is too old. */
export class CallbackRefused extends Error {}

/** The terms that an upstream lists for one of its models. */
export interface ModelTerms {
  price?: ListedPrice;
  /** The day on which the model is shut down, such as 2026-12-11. */
  shutdown?: string;
}

export interface Upstream {
  name: string;
  /** The name of the key that this instance uses, if the upstream has several. */
  key?: string;
  /** One instance of this upstream for each of its keys, by the key's name. */
  keys?: ReadonlyMap<string, Upstream>;
  /**
   * The origin that the operator configured. Files there are fetched even if it is in our own
   * network.
   */
  origin?: string;
  class: UpstreamClass;
  /** Maximum number of jobs at the upstream at the same time, for all our processes together. */
  concurrency: number;
  /**
   * Time limit of a start that takes longer than usual: it uploads files, or its answer is the
   * result.
   */
  start_seconds?: number;
  /** Tasks whose start is answered with the result, so a lost answer cannot be recovered. */
  synchronous?: ReadonlySet<string>;
  start(job: StartJob): Promise<StartOutcome>;
  /**
   * May throw, and so may `find`: a failed poll is repeated until the request's deadline.
   *
   * @throws PollRefused if the upstream asks not to be polled now.
   */
  poll(handle: Handle, signal: AbortSignal): Promise<JobState>;
  /**
   * Asks the upstream to stop the job; polls show how it ends. Resolves also if it is too late for
   * that. Absent if the upstream cannot stop jobs.
   *
   * @throws Error if another call may succeed
   */
  cancel?(handle: Handle, signal: AbortSignal): Promise<void>;
  /** Class B only: finds the job with this idempotency key. Null: there is certainly none. */
  find?(idempotency_key: string, signal: AbortSignal): Promise<Handle | null>;
  chat?(call: ChatCall): Promise<ChatOutcome>;
  /**
   * Verifies that a callback comes from the upstream, and returns the job's handle if the callback
   * states it. The rest of its content is ignored: a callback only makes the next poll due.
   *
   * @throws CallbackRefused
   */
  callback?(call: Callback): Promise<Handle | null>;
  /**
   * Tries our key with a call that costs nothing. Null: it works; otherwise what is wrong, in
   * words.
   */
  check?(signal: AbortSignal): Promise<string | null>;
  /** The upstream's own names of its models, if it lists them. */
  models?(signal: AbortSignal): Promise<string[]>;
  /** Whether the upstream has a model that `models` leaves out. Absent if `models` names all. */
  hasModel?(model: string, signal: AbortSignal): Promise<boolean>;
  /** The terms of these models; models without any may be missing. */
  terms?(models: string[], signal: AbortSignal): Promise<ReadonlyMap<string, ModelTerms>>;
  close?(): Promise<void>;
}
