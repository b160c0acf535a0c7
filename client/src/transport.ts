import { FareboxError, badArgument, checkNumber, unreadable } from './error.ts';
import { openScope, pause, type Scope } from './scope.ts';
import { fieldOf, messageOf } from './unknown.ts';
import { advice, readJson, reasonFor, refusal, type OpenResponse } from './replies.ts';

/** Calls to the service. Only this file handles the key, time limits, retries and errors. */

/** Options of every call. */
export interface Call {
  /** Aborts the call, its retries and its waits. */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds. For a single call: the limit of each attempt, default 60,000, longer for chats and
   * uploads. For `run`, `wait` and `watch`: the limit of the whole, default none.
   */
  timeoutMs?: number | undefined;
  /** Retries of a call that may be sent again; default 3. */
  maxRetries?: number | undefined;
}

export function checkCall({ signal, timeoutMs, maxRetries }: Call): void {
  checkNumber(timeoutMs ?? 1, 'timeoutMs', 1);
  checkNumber(maxRetries ?? 0, 'maxRetries', 0);
  if (signal && typeof signal.addEventListener !== 'function')
    throw badArgument('signal must be an AbortSignal: give controller.signal.', 'signal');
}

export interface CallRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** A path below the base address, or a full URL. */
  path: string;
  query?: Record<string, string | number | Date | undefined | null>;
  headers?: Record<string, string>;
  json?: unknown;
  body?: () => string | Blob | ReadableStream<Uint8Array>;
  /**
   * False: the call is sent once. A GET, a call with an idempotency key, and a call whose body can
   * be sent again may be repeated.
   */
  repeatable: boolean;
  idempotencyKey?: string;
  /** Replaces the usual time limit. */
  limitMs?: number;
  /** Time that the service was asked to wait, added to the limit. */
  waitMs?: number;
  /** False: the key is not sent, and redirects are followed. */
  keyed?: boolean;
}

/** A call, prepared once for all its attempts. */
interface PreparedCall extends CallRequest {
  url: string;
  head: Headers;
}

/** A failed attempt, and the time until the next one. */
export interface Retry {
  error: FareboxError;
  waitMs: number;
}

export interface TransportOptions {
  apiKey?: string;
  baseUrl: string;
  fetch: typeof fetch;
  timeoutMs: number | undefined;
  maxRetries: number;
  headers: Record<string, string>;
  onRetry: ((retry: Retry) => void) | undefined;
}

const usualLimitMs = 60_000;
/** The longest silence between two chunks of a reply: streams send something every 15 seconds. */
export const usualSilenceMs = 60_000;
const pauseLeastMs = 500;
const pauseMostMs = 8_000;
/** If the service asks for a longer wait, the error goes to the caller instead. */
const retryAfterMostSeconds = 60;

export class Transport {
  readonly baseUrl: string;
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    checkCall(options);
    this.baseUrl = options.baseUrl;
    this.#options = options;
  }

  /** Returns the JSON of a reply. `look` gets the response before its body is read. */
  json<T>(wanted: CallRequest, call: Call = {}, look?: (response: Response) => void): Promise<T> {
    return this.#tries(wanted, call, async ({ response, scope }) => {
      try {
        look?.(response);
        const text = await response.text().catch((error: unknown) => {
          throw this.#fault(error, scope, wanted);
        });
        return readJson<T>(text, response);
      } finally {
        scope.end();
      }
    });
  }

  /**
   * Returns the reply once its headers have arrived; from then on, only the time between two chunks
   * is limited.
   */
  open(wanted: CallRequest, call: Call = {}): Promise<OpenResponse> {
    return this.#tries(wanted, call, async (held) => {
      // Starts the limit of silence, in case the caller never reads the body.
      held.scope.alive(usualSilenceMs);
      return held;
    });
  }

  async #tries<T>(
    wanted: CallRequest,
    call: Call,
    read: (held: OpenResponse) => Promise<T>,
  ): Promise<T> {
    checkCall(call);
    const most = call.maxRetries ?? this.#options.maxRetries;
    // An input that cannot be serialised is the caller's mistake, not a connection error.
    const prepared: PreparedCall = {
      ...wanted,
      body: bodyOf(wanted),
      url: urlOf(wanted, this.baseUrl),
      head: this.#head(wanted),
    };
    let lost = false;
    for (let tried = 0; ; tried++) {
      const isSent = !call.signal?.aborted;
      try {
        return await read(await this.#once(prepared, call));
      } catch (error) {
        if (!(error instanceof FareboxError)) throw error;
        lost ||= isSent && isLost(error);
        const over = call.signal?.aborted || !wanted.repeatable || tried >= most;
        if (over || !mayRepeat(error, tried === 0)) throw marked(error, wanted, lost);
        const next = this.rest(error, pauseMs(error, tried), call.signal);
        await next.catch((stopped: FareboxError) => {
          throw marked(stopped, wanted, lost);
        });
      }
    }
  }

  /** Reports the retry to the caller and waits until it is due. */
  async rest(error: FareboxError, waitMs: number, signal: AbortSignal | undefined): Promise<void> {
    this.#options.onRetry?.({ error, waitMs });
    await pause(waitMs, signal);
  }

  async #once(wanted: PreparedCall, call: Call): Promise<OpenResponse> {
    const { fetch, timeoutMs } = this.#options;
    const tryMs = call.timeoutMs ?? timeoutMs ?? wanted.limitMs ?? usualLimitMs;
    const limitMs = tryMs + (wanted.waitMs ?? 0);
    const origin = originOf(wanted, this.baseUrl);
    const late = `No answer from ${origin} within ${limitMs / 1000} s. ${again(wanted)}`;
    const scope = openScope(call.signal, limitMs, late);
    try {
      scope.signal.throwIfAborted();
      const response = await fetch(wanted.url, initOf(wanted, scope));
      if (response.ok) return { response, scope };
      throw await refusal(response);
    } catch (error) {
      scope.end();
      throw this.#fault(error, scope, wanted);
    }
  }

  #head({ headers: given, json, idempotencyKey, keyed = true }: CallRequest): Headers {
    const { apiKey, headers: always } = this.#options;
    if (idempotencyKey !== undefined && !/^[!-~]{1,255}$/.test(idempotencyKey))
      throw badArgument(
        'idempotencyKey must be 1 to 255 visible ASCII characters, without spaces.',
        'idempotencyKey',
      );
    try {
      const headers = new Headers(keyed ? always : undefined);
      for (const [name, value] of Object.entries(given ?? {})) headers.set(name, value);
      if (keyed && apiKey) headers.set('authorization', `Key ${apiKey}`);
      if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
      if (json !== undefined) headers.set('content-type', 'application/json');
      return headers;
    } catch {
      // The runtime's own message shows the value, which may be a secret.
      throw badArgument('A header has characters that are not allowed.', 'headers');
    }
  }

  #fault(error: unknown, scope: Scope, wanted: CallRequest): FareboxError {
    if (error instanceof FareboxError) return error;
    const reason: unknown = scope.signal.reason;
    if (reason instanceof FareboxError) return reason;
    const cause = fieldOf(error, 'cause') ?? error;
    if (cause instanceof FareboxError) return cause;
    // The file changed while it was sent.
    if (fieldOf(cause, 'name') === 'NotReadableError') return unreadable(cause);
    const failed = `The connection to ${originOf(wanted, this.baseUrl)} failed${reasonFor(error)}.`;
    return new FareboxError('connection_error', `${failed} ${again(wanted)}`, { cause: error });
  }
}

function initOf(wanted: PreparedCall, { signal }: Scope): RequestInit {
  const body = wanted.body?.();
  return {
    method: wanted.method,
    headers: wanted.head,
    signal,
    // The key is sent only to the address that it was given for.
    redirect: wanted.keyed === false ? 'follow' : 'manual',
    credentials: 'omit',
    ...(body !== undefined && { body }),
    ...(body instanceof ReadableStream && { duplex: 'half' }),
  };
}

function bodyOf({ json, body }: CallRequest): CallRequest['body'] {
  if (json === undefined) return body;
  let text: string;
  try {
    text = JSON.stringify(json);
  } catch (error) {
    throw badArgument(`The input cannot be written as JSON: ${messageOf(error)}`, 'input');
  }
  return () => text;
}

/** Whether the service may have accepted the call, although the attempt failed. */
function isLost({ status, code, retryAfterSeconds }: FareboxError): boolean {
  // With Retry-After, this same call is still running; without it, another call has used the key.
  if (code === 'idempotency_conflict') return retryAfterSeconds !== undefined;
  if (code === 'capacity_unavailable' || code === 'submit_failed') return false;
  return status === null || status < 400 || status >= 500;
}

/**
 * Adds to the error the idempotency key, and whether any attempt may have been accepted: even if
 * the last one was refused, the reply to an earlier accepted one may have been lost.
 */
function marked(error: FareboxError, wanted: CallRequest, lost: boolean): FareboxError {
  const { idempotencyKey } = wanted;
  if (idempotencyKey === undefined) return error;
  error.idempotencyKey ??= idempotencyKey;
  if (!lost) return error;
  error.mayHaveBeenAccepted = true;
  if (!error.message.includes(idempotencyKey)) error.message += ` ${again(wanted)}`;
  return error;
}

/** The advice to the caller if the outcome is unknown. */
function again({ idempotencyKey, method }: CallRequest): string {
  if (idempotencyKey !== undefined) {
    return `It is unknown whether the call was accepted: send it again with idempotencyKey "${idempotencyKey}", and it will not run twice.`;
  }
  return method === 'GET'
    ? 'Check the address and that the service runs, then try again.'
    : 'Check that the service runs, then try again.';
}

export function urlOf(
  { path, query }: Pick<CallRequest, 'path' | 'query'>,
  baseUrl: string,
): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === null) continue;
    if (value instanceof Date && isNaN(value.valueOf()))
      throw badArgument(`${name} is not a date.`, name);
    params.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  const address = path.startsWith('/') ? baseUrl + path : path;
  const search = String(params);
  return search === '' ? address : `${address}?${search}`;
}

function originOf({ path }: CallRequest, baseUrl: string): string {
  return new URL(path.startsWith('/') ? baseUrl : path).origin;
}

/**
 * Encodes a path segment, or all segments of a model id. Throws on segments that would leave the
 * path, such as `..`.
 */
export function segments(id: string, what: string): string {
  const parts = String(id).split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..'))
    throw badArgument(`"${id}" is not a valid ${what}.`, what);
  return parts.map(encodeURIComponent).join('/');
}

function mayRepeat(error: FareboxError, first: boolean): boolean {
  const { code, status, retryAfterSeconds } = error;
  if (retryAfterSeconds !== undefined && retryAfterSeconds > retryAfterMostSeconds) return false;
  // Our own first attempt is still running, and we want its reply.
  if (code === 'idempotency_conflict') return !first && retryAfterSeconds !== undefined;
  if (status === 402 || status === 409) return false;
  return advice.get(error) ?? isPassing(status, code);
}

/** True if a retry soon may succeed. */
export function isPassing(status: number | null, code: string): boolean {
  if (status === null) return code === 'connection_error' || code === 'timeout';
  return status === 408 || status === 429 || status >= 500;
}

function pauseMs({ retryAfterSeconds }: FareboxError, tried: number): number {
  return retryAfterSeconds === undefined
    ? backoffMs(tried)
    : retryAfterSeconds * 1000 + Math.random() * 250;
}

/**
 * Milliseconds to wait: doubles with each attempt, half of it random, so that callers do not return
 * all at once.
 */
export function backoffMs(tried: number): number {
  const most = Math.min(pauseMostMs, pauseLeastMs * 2 ** tried);
  return most / 2 + Math.random() * (most / 2);
}
