import type { UpstreamSettings } from '../core/catalog/upstream-definition.ts';
import type { Reply, RequestCall } from '../lib/outbound/fetch.ts';
import type { UpstreamTools } from './upstream.ts';

/** A JSON API under one base address, called with our key as a bearer token. */

const replyMaxBytes = 1024 * 1024;
/** Time limit of a call that only reads; the default of `send`. */
export const askMs = 20_000;

interface ApiCall extends Partial<Pick<RequestCall, 'method' | 'headers' | 'body' | 'maxBytes'>> {
  /**
   * Path below the base address. Addresses from replies are never called, so the key goes nowhere
   * else.
   */
  path: string;
  /** Sent as JSON. */
  json?: unknown;
  timeoutMs?: number;
  signal: AbortSignal;
}

export interface BearerApi {
  /** Returns the reply whatever its status. @throws FetchError */
  send(call: ApiCall): Promise<Reply>;
  /** Removes our key from a text, in case a reply repeated the key. */
  redact(text: string): string;
}

export function createBearerApi(
  { url, key }: UpstreamSettings,
  { fetch }: Pick<UpstreamTools, 'fetch'>,
): BearerApi {
  return {
    send({ path, json, headers, body, ...call }) {
      return fetch.request({
        maxBytes: replyMaxBytes,
        timeoutMs: askMs,
        ...call,
        url: `${url}${path}`,
        headers: {
          ...(key !== null && { authorization: `Bearer ${key}` }),
          accept: 'application/json',
          'user-agent': 'farebox',
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: json === undefined ? (body ?? null) : JSON.stringify(json),
      });
    },
    redact: (text) => (key === null || key === '' ? text : text.replaceAll(key, '…')),
  };
}
