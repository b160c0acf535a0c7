import { FetchError, isSuccess, type Fetch } from '../lib/outbound/fetch.ts';
import { faultIn, faults } from '../lib/outbound/fetch-error.ts';
import { isObject } from '../lib/json.ts';
import { redact } from '../lib/log.ts';

/** JSON-RPC over HTTP, as the endpoints of blockchains speak it. */

const timeoutMs = 15_000;
const maxBytes = 16 * 1024 * 1024;
/** Maximum number of characters of a reply in an error. */
const shownMax = 300;

interface RpcErrorFacts extends ErrorOptions {
  retry_after_seconds?: number | null;
}

/** An endpoint refused a call, or sent no usable reply. */
export class RpcError extends Error {
  readonly method: string;
  /** JSON-RPC's code; the HTTP status if the reply has none; null: no reply came. */
  readonly code: number | null;
  /** The endpoint's own words, or ours. */
  readonly text: string;
  /** The time that the endpoint asks its callers to wait; null: it names none. */
  readonly retry_after_seconds: number | null;

  constructor(method: string, code: number | null, text: string, facts: RpcErrorFacts = {}) {
    super(`${method}: ${code === null ? '' : `${code} `}${text}`, { cause: facts.cause });
    this.name = 'RpcError';
    this.method = method;
    this.code = code;
    this.text = text;
    this.retry_after_seconds = facts.retry_after_seconds ?? null;
  }
}

export interface RpcEndpoint {
  /** Often contains a key, so it is never shown. */
  url: string;
  headers?: Record<string, string>;
}

/** Calls a method. Throws `RpcError`. */
export type Rpc = (method: string, params?: readonly unknown[]) => Promise<unknown>;

export function openRpc(fetch: Fetch, endpoint: RpcEndpoint, signal?: AbortSignal): Rpc {
  let lastId = 0;
  return async (method, params = []) => {
    const id = (lastId += 1);
    const reply = await fetch
      .request({
        url: endpoint.url,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...endpoint.headers },
        body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
        maxBytes,
        timeoutMs,
        ...(signal && { signal }),
      })
      .catch((error: unknown) => {
        if (!(error instanceof FetchError)) throw error;
        throw new RpcError(method, null, noReply(error), { cause: error });
      });
    const { status, headers } = reply;
    const wait = retryAfterSeconds(headers['retry-after']);
    const refusal = (code: number, words: string) =>
      new RpcError(method, code, shorten(words), { retry_after_seconds: wait });
    if (reply.truncated) throw refusal(413, 'the reply is too large');
    const text = Buffer.from(reply.body).toString('utf8');
    const body = parseJson(text);
    // Some services answer with a list of one.
    const [answer] = Array.isArray(body) ? body : [body];
    if (isObject(answer) && answer.error != null)
      throw refusal(codeOf(answer.error) ?? status, wordsOf(answer.error));
    if (!isSuccess(status)) throw refusal(status, text);
    // A cached page, or a proxy that mixes replies up, must not be taken for the answer.
    // Some services send the number of the call as a text.
    // guard: reply-is-to-this-call
    if (!isObject(answer) || String(answer.id) !== String(id) || !('result' in answer))
      throw refusal(status, `not the reply to this call${body === undefined ? `: ${text}` : ''}`);
    return answer.result;
  };
}

/** Why no reply came, without the host: it may contain a key. */
function noReply({ kind, message }: FetchError): string {
  const fault = faultIn(message);
  return `no reply (${kind})${fault === null ? '' : `: ${faults[fault]}`}`;
}

function codeOf(error: unknown): number | null {
  const code = isObject(error) ? Number(error.code ?? NaN) : NaN;
  return Number.isSafeInteger(code) ? code : null;
}

/** The words of an error. Some endpoints give the reason in `data` only. */
function wordsOf(error: unknown): string {
  if (!isObject(error)) return String(error);
  const { message, data } = error;
  const words = [message, data].filter((each) => each != null && each !== '');
  if (words.length === 0) return JSON.stringify(error);
  return words.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join(': ');
}

/** The seconds that a service asks callers to wait; null: it asks nothing, or names a date. */
function retryAfterSeconds(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The text in one line. Whole pages of HTML come, too. */
function shorten(text: string): string {
  // Hides secrets before the cut, because half a secret would not be recognised.
  const line = redact(text.replace(/[\s\p{Cc}]+/gu, ' ').trim());
  return line.length > shownMax ? `${line.slice(0, shownMax)}…` : line;
}
