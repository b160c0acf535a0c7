import type { UpstreamSettings } from '../../core/upstream-definition.ts';
import type { Reply, RequestCall } from '../../lib/fetch.ts';
import type { UpstreamTools } from '../upstream.ts';

/**
 * The HTTP API of a ComfyUI server. It never gets an `Origin`, which it refuses where that is not
 * its own. It has no key by itself; one that is set is for a proxy before it.
 */

const replyMaxBytes = 1024 * 1024;
const askMs = 20_000;

interface ApiCall extends Partial<Pick<RequestCall, 'method' | 'headers' | 'body' | 'maxBytes'>> {
  path: string;
  /** Sent as JSON. */
  json?: unknown;
  timeoutMs?: number;
  signal: AbortSignal;
}

export interface Api {
  /** Any status is a reply. @throws FetchError */
  send(call: ApiCall): Promise<Reply>;
  /** Where the bytes of an output are. */
  outputSource(file: { filename: string; subfolder: string }): {
    url: string;
    headers?: Record<string, string>;
  };
  /** A text without the key, should a reply have repeated it. */
  quiet(text: string): string;
}

export function createApi({ url, key }: UpstreamSettings, { fetch }: UpstreamTools): Api {
  const auth = key === null ? null : { authorization: `Bearer ${key}` };
  return {
    send({ path, json, headers, body, ...call }) {
      return fetch.request({
        maxBytes: replyMaxBytes,
        timeoutMs: askMs,
        ...call,
        url: `${url}${path}`,
        headers: {
          ...auth,
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: json === undefined ? (body ?? null) : JSON.stringify(json),
      });
    },
    outputSource({ filename, subfolder }) {
      const query = new URLSearchParams({ filename, subfolder, type: 'output' });
      return { url: `${url}/view?${query}`, ...(auth && { headers: auth }) };
    },
    quiet: (text) => (key === null || key === '' ? text : text.replaceAll(key, '…')),
  };
}
