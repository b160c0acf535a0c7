import type { ListedPrice } from '../core/catalog/listed-price.ts';
import type { LostHow } from '../core/request/routing.ts';
import type { Fetch } from '../lib/outbound/fetch.ts';
import type { Refusal } from '../core/catalog/upstream-key.ts';

/**
 * The interface of every upstream adapter. An upstream is an outside service that we call and pay.
 *
 * Rules for adapters: no retry of a submit inside the adapter or its HTTP client; every call obeys
 * the signal; a reply is hostile data (sizes and types are checked); no key of ours appears in an
 * error text.
 */

/**
 * How an upstream lets us avoid paying twice after a crash or a lost answer.
 * A: honours an idempotency key, so the same start may be sent again.
 * B: can be searched by a tag of ours, so the lost job is looked up before another start. C+: calls
 * back an address that carries our attempt id, so we wait for the callback. C: nothing; a start
 * whose answer was lost is never sent again.
 */
export type UpstreamClass = 'A' | 'B' | 'C+' | 'C';

/** A caller's media input, ready to be read by the adapter. */
export interface InputFile {
  content_type: string;
  size: number;
  file_name?: string;
  /** Streams the bytes; may be called more than once. */
  open(): Promise<AsyncIterable<Uint8Array>>;
  /** A short-lived address of ours that anyone may fetch; null if there is none. */
  link?: string | null;
}

/** Further arguments of adapters beside their settings. */
export interface UpstreamTools {
  /** To addresses that the operator configured: any host, connections are kept. */
  fetch: Fetch;
  /** To addresses that a reply named, on other hosts: never on the own network. */
  guarded: Fetch;
  /**
   * Downloads a caller's public address, through the guard. All addresses with the same signal
   * share a part of the time of a start. Throws `TooSlow` when that is used up, as does reading the
   * file.
   */
  download(url: string, signal: AbortSignal, startSeconds?: number): Promise<InputFile>;
  /** Unix milliseconds. */
  now(): number;
}

export interface StartJob {
  request_id: string;
  /**
   * Stays the same over every attempt at this request; sent as the upstream's idempotency key if it
   * has one.
   */
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
  /** Stored files, by the value in the input: `file_…`, or a link to an output. */
  files: Record<string, InputFile>;
  /** Where the upstream may call back about this very attempt; null if it cannot reach us. */
  callback_url: string | null;
  signal: AbortSignal;
}

/** The identity of a job at its upstream. Stored in the database: plain JSON, and small. */
export type Handle = Record<string, unknown>;

export interface OutputMedia {
  /**
   * Name of the reply's field: a plural (`images`) makes a list, a singular (`video`) an object.
   */
  field: string;
  /** Either a URL to fetch, through the guard, or the bytes. */
  source: { url: string; headers?: Record<string, string> } | { bytes: Uint8Array };
  /** As the upstream states it; the stored type is sniffed. */
  content_type?: string;
  file_name?: string;
}

/** A finished generation. */
export interface Result {
  media: OutputMedia[];
  /** Everything in the reply that is not media: `text`, `seed` … */
  fields: Record<string, unknown>;
  /**
   * Units really delivered, in the row's unit, if the upstream states them; otherwise measured from
   * the media.
   */
  quantity?: number;
  /** The upstream's charge to the operator, if it states that. Micro-USD. */
  cost_usd_micro?: bigint;
}

export type JobState =
  | { state: 'running'; progress?: number; logs?: string[]; poll_after_ms?: number }
  | { state: 'done'; result: Result }
  | { state: 'failed'; code: 'upstream_rejected' | 'upstream_failed'; message: string }
  /** It knows no such job. After three such polls in a row the job is lost. */
  | { state: 'missing'; message: string };

/** Thrown for a poll that the upstream refused: it says nothing about the job. */
export class PollRefused extends Error {
  readonly why: Refusal;
  /** How long the upstream asks to be left alone. */
  readonly retry_after_ms: number | undefined;

  constructor(message: string, why: Refusal, retry_after_ms?: number) {
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
  /**
   * Refused before a job was requested, mostly by ourselves: it says nothing about the upstream.
   */
  unasked?: true;
  /** The field of a chat call that cannot be handed over. */
  param?: string | undefined;
}

export interface NotAccepted {
  outcome: 'not_accepted';
  /** Default: busy. */
  why?: Refusal;
  message: string;
  retry_after_ms?: number;
  /** For `busy`: a rate limit (429), and it covers our whole account there, not one model. */
  limited?: boolean;
  account_wide?: boolean;
}

/**
 * Bytes were sent, and no clear answer came back. `answer`: slow, it did not come in time;
 * unreadable, it came and makes no sense; oversized, it is larger than we read. Otherwise the
 * connection broke or a server failed on the way, and the next route may be tried.
 */
export interface LostAnswer {
  outcome: 'unknown';
  message: string;
  answer?: LostHow;
}

export type StartOutcome =
  /** Accepted: poll by this handle. */
  | { outcome: 'accepted'; handle: Handle; poll_after_ms?: number }
  /** Accepted and finished in the same reply. */
  | { outcome: 'done'; result: Result }
  | Rejection
  /** Surely not accepted (DNS, refused connection, TLS, 429, 503): safe to try again elsewhere. */
  | NotAccepted
  | LostAnswer;

export interface ChatCall {
  request_id: string;
  model: string;
  /** OpenAI's body, with allowed fields only; `max_tokens` is always set. */
  body: Record<string, unknown>;
  /** Stored files of the media in the messages, by the value that names them. */
  files?: Readonly<Record<string, InputFile>>;
  /** The row's window: the most tokens of a prompt. */
  context_tokens: number;
  stream: boolean;
  /**
   * Streams only: the outcome is returned once the first chunk has come, which must be within this
   * time.
   */
  first_byte_seconds?: number;
  signal: AbortSignal;
}

/** OpenAI-shaped reply as a plain object; for streams, the chunk objects one by one. */
export type ChatOutcome =
  | { outcome: 'reply'; reply: Record<string, unknown> }
  | { outcome: 'stream'; chunks: AsyncIterable<Record<string, unknown>> }
  | Rejection
  | NotAccepted
  | LostAnswer;

/** A call that came in at a job's `callback_url`. */
export interface Callback {
  /** The upstream's own name of the job's model; empty if the catalog no longer has it. */
  model: string;
  /** Names in lower case; for a name that came several times, the first value. */
  headers: Record<string, string>;
  body: Buffer;
  signal: AbortSignal;
}

/** Thrown for a callback that is not the upstream's, or too old. */
export class CallbackRefused extends Error {}

/** The terms that an upstream lists for one of its models. */
export interface ModelTerms {
  price?: ListedPrice;
  /** The day on which the model is shut down, such as 2026-12-11. */
  shutdown?: string;
}

export interface Upstream {
  name: string;
  /** Which of several keys it is called with. */
  key?: string;
  /** The same upstream with each of its keys, by the names of the keys. */
  keys?: ReadonlyMap<string, Upstream>;
  /**
   * The address that the operator configured: what it serves there is fetched, also on the own
   * network.
   */
  origin?: string;
  class: UpstreamClass;
  /** Jobs that it may run at the same time, over all our processes. */
  concurrency: number;
  /** How long a start may take if only its answer carries the result. */
  start_seconds?: number;
  /** Tasks whose start is answered with the result: a lost answer cannot be found again. */
  synchronous?: ReadonlySet<string>;
  start(job: StartJob): Promise<StartOutcome>;
  /**
   * May throw, as `find` may: a failed poll is repeated until the request's deadline.
   *
   * @throws PollRefused if the upstream asks not to be polled now.
   */
  poll(handle: Handle, signal: AbortSignal): Promise<JobState>;
  /** Best effort; resolves whatever happens. */
  cancel?(handle: Handle, signal: AbortSignal): Promise<void>;
  /** Class B: finds the job that carries our key, or null if there surely is none. */
  find?(idempotency_key: string, signal: AbortSignal): Promise<Handle | null>;
  chat?(call: ChatCall): Promise<ChatOutcome>;
  /**
   * Verifies that a callback is the upstream's, and returns the handle of the job if the call
   * states it. Its other content is not believed: it only makes the next poll due.
   *
   * @throws CallbackRefused
   */
  callback?(call: Callback): Promise<Handle | null>;
  /**
   * Calls it with our credential, at no cost. Null: it works; otherwise what is wrong, in words.
   */
  check?(signal: AbortSignal): Promise<string | null>;
  /** The upstream's own names of its models, if it lists them. */
  models?(signal: AbortSignal): Promise<string[]>;
  /**
   * Whether it has this model, asked if `models` does not name it; left out if that list is
   * complete.
   */
  hasModel?(model: string, signal: AbortSignal): Promise<boolean>;
  /** The terms of these models; models it says nothing about may be missing. */
  terms?(models: string[], signal: AbortSignal): Promise<ReadonlyMap<string, ModelTerms>>;
  close?(): Promise<void>;
}
