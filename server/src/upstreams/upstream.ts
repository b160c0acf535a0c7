import type { ListedPrice } from '../core/catalog/listed-price.ts';
import type { LostHow } from '../core/request/routing.ts';
import type { Fetch } from '../lib/fetch.ts';

/**
 * The interface every upstream adapter fulfils. An upstream is an outside service that we call and
 * pay.
 *
 * Rules for adapters: no retry of a submit inside the adapter or its HTTP client; every call obeys
 * the signal; a reply is hostile data (sizes and types are checked); no key of ours ever leaves in
 * an error text.
 */

/**
 * How an upstream lets us avoid paying twice after a crash or a lost answer.
 * A: honours an idempotency key, so the same start may be sent again.
 * B: can be searched by a tag of ours, so the lost job is looked up before another start. C+: calls
 * back an address that carries our attempt id, so we wait for the callback. C: nothing; a start
 * whose answer was lost is never sent again.
 */
export type UpstreamClass = 'A' | 'B' | 'C+' | 'C';

/** One media input of the caller's, ready to be read by the adapter. */
export interface InputFile {
  content_type: string;
  size: number;
  file_name?: string;
  /** Streams the bytes; may be called more than once. */
  open(): Promise<AsyncIterable<Uint8Array>>;
  /** A short-lived address of ours that anyone may fetch it from; null where we have none. */
  link?: string | null;
}

/** What adapters are given beside their settings. */
export interface UpstreamTools {
  /** To addresses that the operator gave: any host, connections are kept. */
  fetch: Fetch;
  /** To addresses that a reply named, on other hosts: none on the own network, by any name. */
  guarded: Fetch;
  /**
   * Fetches a caller's public address, through the guard. All addresses with the same signal share
   * a part of the seconds that a start may take. Throws `TooSlow` where that is over, as does the
   * reading.
   */
  download(url: string, signal: AbortSignal, startSeconds?: number): Promise<InputFile>;
  /** Unix milliseconds. */
  now(): number;
}

export interface StartJob {
  request_id: string;
  /**
   * Stays the same over every attempt at this request; sent as the upstream's idempotency key where
   * it has one.
   */
  idempotency_key: string;
  /** The upstream's own name of the model, from the catalog row. */
  model: string;
  /** Task segment of the catalog row, such as `text-to-image`. */
  task: string;
  /**
   * The caller's input with defaults filled in. Media fields hold the caller's value; `files`
   * resolves it.
   */
  input: Record<string, unknown>;
  /**
   * Fields of the input that the row knows; callers may send others, which no price rests on, so
   * media in them is not to be worked with.
   */
  fields: readonly string[];
  /** What we store, by the value that stands in the input: `file_…`, or a link to an output. */
  files: Record<string, InputFile>;
  /**
   * Where the upstream may call back when something has happened to this very attempt; null where
   * it cannot reach us.
   */
  callback_url: string | null;
  signal: AbortSignal;
}

/** What the upstream knows a job by. Kept in the database, so plain JSON; small. */
export type Handle = Record<string, unknown>;

export interface OutputMedia {
  /**
   * Name of the reply's field: a plural (`images`) makes a list, a singular (`video`) an object.
   */
  field: string;
  /** Either a URL to fetch, through the guard, or the bytes. */
  source: { url: string; headers?: Record<string, string> } | { bytes: Uint8Array };
  /** What the upstream claims; the stored type is sniffed. */
  content_type?: string;
  file_name?: string;
}

/** A finished generation. */
export interface Result {
  media: OutputMedia[];
  /** Everything of the reply that is no media: `text`, `seed` … */
  fields: Record<string, unknown>;
  /**
   * Units really delivered, in the row's unit, where the upstream says so; else measured from the
   * media.
   */
  quantity?: number;
  /** What the upstream took from the operator, where it says so. Micro-USD. */
  cost_usd_micro?: bigint;
}

export type JobState =
  | { state: 'running'; progress?: number; logs?: string[]; poll_after_ms?: number }
  | { state: 'done'; result: Result }
  | { state: 'failed'; code: 'upstream_rejected' | 'upstream_failed'; message: string }
  /** It knows no such job. Seen three times in a row, it is lost. */
  | { state: 'missing'; message: string };

/**
 * Why a start was not accepted. busy: for a while. unreachable: no connection, which no input can
 * bring about. redirect: its address leads elsewhere. lost: no clear answer came, here to a call
 * before the start, which makes no job; an unknown outcome is told by this word too. account: the
 * operator's account there is out of credit. credential: it does not take our key. model: it has no
 * such model.
 */
export type Refusal =
  | 'busy'
  | 'unreachable'
  | 'redirect'
  | 'lost'
  | 'account'
  | 'credential'
  | 'model';

/** Thrown for a look that the upstream refused: it tells nothing of the job. */
export class LookRefused extends Error {
  readonly why: Refusal;
  /** How long the upstream asks to be left alone. */
  readonly retry_after_ms: number | undefined;

  constructor(message: string, why: Refusal, retry_after_ms?: number) {
    super(message);
    this.name = 'LookRefused';
    this.why = why;
    this.retry_after_ms = retry_after_ms;
  }
}

/** Refused for good: bad input or policy. */
export interface Rejected {
  outcome: 'rejected';
  message: string;
  /** Before a job was asked for, mostly by ourselves: it tells nothing of how the upstream is. */
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
  /** Of busy: a limit was met (429), and that is of our whole account there, not of one model. */
  limited?: boolean;
  account_wide?: boolean;
}

/**
 * Bytes were written, and no clear answer came back. `answer`: slow, it did not come in time;
 * unreadable, it came and cannot be made out; oversized, it is larger than we take. Else the
 * connection broke or a server failed on the way, and then the next route may be tried.
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
  | Rejected
  /** Surely not accepted (DNS, refused connection, TLS, 429, 503): safe to try again elsewhere. */
  | NotAccepted
  | LostAnswer;

export interface ChatCall {
  request_id: string;
  model: string;
  /** OpenAI's body, through the allow-list; `max_tokens` is always set. */
  body: Record<string, unknown>;
  /** What we store of the media in the messages, by the value that stands there. */
  files?: Readonly<Record<string, InputFile>>;
  /** The row's window: the tokens that a prompt may have at most. */
  context_tokens: number;
  stream: boolean;
  /** Streams only: the outcome is told once the first chunk has come, and that in this time. */
  first_byte_seconds?: number;
  signal: AbortSignal;
}

/** OpenAI-shaped reply as a plain object; for streams, the chunk objects one by one. */
export type ChatOutcome =
  | { outcome: 'reply'; reply: Record<string, unknown> }
  | { outcome: 'stream'; chunks: AsyncIterable<Record<string, unknown>> }
  | Rejected
  | NotAccepted
  | LostAnswer;

/** A call that came in at a job's `callback_url`. */
export interface Callback {
  /** The upstream's own name of the job's model; empty where the catalog names it no more. */
  model: string;
  /** Names in lower case; of a name that came several times, the first value. */
  headers: Record<string, string>;
  body: Buffer;
  signal: AbortSignal;
}

/** Thrown for a callback that is not the upstream's, or too old. */
export class CallbackRefused extends Error {}

/** What an upstream lists of one of its models. */
export interface ModelTerms {
  price?: ListedPrice;
  /** The day on which it shuts the model down, such as 2026-12-11. */
  shutdown?: string;
}

export interface Upstream {
  name: string;
  /** Which of several keys it is called with. */
  key?: string;
  /** The same upstream as it is called with each of its keys, by the names of these. */
  keys?: ReadonlyMap<string, Upstream>;
  /** Where the operator says it is: what it serves there is fetched, also on the own network. */
  origin?: string;
  class: UpstreamClass;
  /** Jobs of ours it may run at the same time, over all our processes. */
  concurrency: number;
  /** How long a start may take, where it is answered with the result only. */
  start_seconds?: number;
  /** Tasks whose start is answered with the result only: a lost answer is found nowhere again. */
  synchronous?: ReadonlySet<string>;
  start(job: StartJob): Promise<StartOutcome>;
  /**
   * May throw, as `find` may: a poll that fails is tried again until the request's deadline.
   *
   * @throws LookRefused where the upstream says that it is not to be asked now.
   */
  poll(handle: Handle, signal: AbortSignal): Promise<JobState>;
  /** Best effort; resolves whatever happens. */
  cancel?(handle: Handle, signal: AbortSignal): Promise<void>;
  /** Class B: finds the job that carries our key, or null where there surely is none. */
  find?(idempotency_key: string, signal: AbortSignal): Promise<Handle | null>;
  chat?(call: ChatCall): Promise<ChatOutcome>;
  /**
   * Proves that a callback is the upstream's, and says by which handle it knows the job, where the
   * call says so. What it tells of the job is not believed: it only wakes the next poll.
   *
   * @throws CallbackRefused
   */
  callback?(call: Callback): Promise<Handle | null>;
  /** Calls it with our credential, at no cost. Null: all is well; else what is wrong, in words. */
  check?(signal: AbortSignal): Promise<string | null>;
  /** Its own names of the models it has, where it can tell. */
  models?(signal: AbortSignal): Promise<string[]>;
  /**
   * Whether it has this model, asked where `models` does not name it; left out where that list is
   * the whole truth.
   */
  hasModel?(model: string, signal: AbortSignal): Promise<boolean>;
  /** What it lists of these models; those of which it lists nothing may be left out. */
  terms?(models: string[], signal: AbortSignal): Promise<ReadonlyMap<string, ModelTerms>>;
  close?(): Promise<void>;
}
