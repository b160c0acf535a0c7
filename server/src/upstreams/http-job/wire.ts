import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import type { RequestCall, Reply } from '../../lib/outbound/fetch.ts';
import type { SentBody } from '../json-body.ts';
import type { UpstreamTools } from '../upstream.ts';
import type { CallForm, HttpJobOptions } from './options.ts';
import { fill, fillPath, fillTexts, type Values } from './template.ts';

/** Makes calls to the service, and removes secrets from its texts. */
export interface JobWire {
  /** The address of a call that the options describe. */
  address(call: CallForm, values: Values): string;
  send(
    call: JobCall,
    limits: Pick<RequestCall, 'maxBytes' | 'timeoutMs' | 'signal'>,
  ): Promise<Reply>;
  /** The service's message, safe to show: without our secrets and addresses, and short. */
  shown(message: string): string;
}

export interface JobCall {
  url: string;
  method: string;
  headers?: Record<string, string>;
  /** Sent as JSON if there is no `form`. */
  body?: unknown;
  /** A finished body with its own headers. */
  form?: SentBody;
}

const messageMax = 500;
/** Maximum number of characters of a service's message that are read. */
const textMax = 8192;

export function createWire(
  { url: base, key, secret }: UpstreamSettings,
  { auth }: Pick<HttpJobOptions, 'auth'>,
  { fetch }: Pick<UpstreamTools, 'fetch'>,
): JobWire {
  const withKey = (address: string): string => {
    if (key === null || typeof auth !== 'object' || !('query' in auth)) return address;
    const url = new URL(address);
    url.searchParams.set(auth.query, key);
    return url.href;
  };
  return {
    address(call, values) {
      const { path, query } = call;
      const filled = fillPath(path, values);
      const url = new URL(/^https?:/i.test(filled) ? filled : base + filled);
      for (const [name, text] of Object.entries(fillTexts(query, values)))
        url.searchParams.set(name, text);
      return url.href;
    },
    send({ url, method, headers, body, form }, limits) {
      const isJson = form === undefined && body !== undefined;
      return fetch.request({
        url: withKey(url),
        method,
        headers: {
          accept: 'application/json',
          ...(isJson && { 'content-type': 'application/json' }),
          ...form?.headers,
          ...headers,
          ...credential(auth, key),
        },
        body: form?.body ?? (isJson ? JSON.stringify(body) : null),
        ...limits,
      });
    },
    shown(message) {
      let text = message;
      for (const hidden of [key, secret]) {
        if (hidden === null || hidden === '') continue;
        text = text.replaceAll(hidden, '…').replaceAll(encodeURIComponent(hidden), '…');
      }
      text = text
        .slice(0, textMax)
        .replaceAll(/\b(?:https?|wss?|data):[^\s"'<>]*/gi, '(an address)');
      return text.replaceAll(/\s+/g, ' ').trim().slice(0, messageMax);
    },
  };
}

/** A call that the options describe, ready to be sent. */
export function sentOf(wire: JobWire, call: CallForm, values: Values): JobCall {
  const { method = 'GET', headers, body } = call;
  return {
    url: wire.address(call, values),
    method,
    headers: fillTexts(headers, values),
    ...(body !== undefined && { body: fill(body, values) }),
  };
}

function credential(auth: HttpJobOptions['auth'], key: string | null): Record<string, string> {
  if (key === null) return {};
  if (auth === 'bearer') return { authorization: `Bearer ${key}` };
  if (auth === 'key') return { authorization: `Key ${key}` };
  return 'header' in auth ? { [auth.header.toLowerCase()]: key } : {};
}
