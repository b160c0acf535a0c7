import { FetchError, isSuccess, type Fetch } from '../lib/outbound/fetch.ts';
import { isObject } from '../lib/json.ts';

/** JSON-RPC over HTTP, as the endpoints of blockchains speak it. */

const timeoutMs = 15_000;
const maxBytes = 16 * 1024 * 1024;
/** Maximum number of characters of a reply in an error. */
const shownMax = 300;

/** An endpoint refused a call, or sent no usable reply. */
export class RpcError extends Error {
  readonly method: string;
  /** JSON-RPC's code; the HTTP status if the reply has none; null: no reply came. */
  readonly code: number | null;
  /** The endpoint's own words, or ours. */
  readonly text: string;

  constructor(method: string, code: number | null, text: string, options?: ErrorOptions) {
    super(`${method}: ${code === null ? '' : `${code} `}${text}`, options);
    this.name = 'RpcError';
    this.method = method;
    this.code = code;
    this.text = text;
  }
}

export interface Endpoint {
  /** Often contains a key, so it is never shown. */
  url: string;
  headers?: Record<string, string>;
}

/** Calls a method. Throws `RpcError`. */
export type Rpc = (method: string, params?: readonly unknown[]) => Promise<unknown>;

export function openRpc(fetch: Fetch, endpoint: Endpoint, signal?: AbortSignal): Rpc {
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
        throw new RpcError(method, null, `no reply (${error.kind})`, { cause: error });
      });
    if (reply.truncated) throw new RpcError(method, 413, 'the reply is too large');
    const text = Buffer.from(reply.body).toString('utf8');
    const body = parsed(text);
    const { status } = reply;
    if (isObject(body) && isObject(body.error)) {
      const { code, message } = body.error;
      throw new RpcError(method, typeof code === 'number' ? code : status, shown(String(message)));
    }
    if (!isSuccess(status)) throw new RpcError(method, status, shown(text));
    // A cached page, or a proxy that mixes replies up, must not be taken for the answer.
    // guard: reply-is-to-this-call
    if (!isObject(body) || body.id !== id || !('result' in body))
      throw new RpcError(method, status, 'not the reply to this call');
    return body.result;
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function shown(text: string): string {
  return text.length > shownMax ? `${text.slice(0, shownMax)}…` : text;
}
