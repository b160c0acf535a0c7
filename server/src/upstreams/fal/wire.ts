import { objectOf } from '../../lib/json.ts';
import { judgeOperatorUrl } from '../../lib/outbound/address.ts';
import { FetchError, type Reply } from '../../lib/outbound/fetch.ts';
import { fieldOf, messageOf } from '../../lib/unknown.ts';
import { jsonOf, messageIn } from '../replies.ts';
import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import type { UpstreamTools } from '../upstream.ts';

/** fal's hosts, calls to them, and the common parts of their replies. */

/** An upstream of this kind, ready to be called. */
export interface Fal {
  tools: Pick<UpstreamTools, 'fetch' | 'guarded' | 'now'>;
  /** The queue, where jobs are submitted. None of these addresses ends with a slash. */
  base: string;
  /** Storage. */
  rest: string;
  /** Models and prices. */
  api: string;
  /** The public keys that verify callbacks. */
  jwks: string;
  key: string;
}

interface FalCall {
  url: string;
  method?: string;
  json?: unknown;
  headers?: Record<string, string>;
  timeoutMs: number;
  maxBytes: number;
  signal: AbortSignal;
}

const optionNames: ReadonlySet<string> = new Set(['rest_url', 'api_url', 'jwks_url']);
const messageMax = 500;
const reasonsMax = 5;
/**
 * fal's status when the client has closed the request: a job was cancelled, or a start was cut off,
 * which does not say whether its job was made.
 */
export const clientClosed = 499;

/** Throws if there is no key, or an option is not an address. */
export function falOf(
  { url, key, options }: Pick<UpstreamSettings, 'url' | 'key' | 'options'>,
  tools: Fal['tools'],
): Fal {
  if (key === null) throw new Error('fal needs a key: name its variable in key_from');
  for (const name of Object.keys(options))
    if (!optionNames.has(name)) throw new Error(`fal has no option "${name}"`);
  const rest = addressIn(options, 'rest_url', 'https://rest.fal.ai');
  return {
    tools,
    base: url,
    rest,
    api: addressIn(options, 'api_url', 'https://api.fal.ai/v1'),
    jwks: addressIn(options, 'jwks_url', `${rest}/.well-known/jwks.json`),
    key: key.trim(),
  };
}

function addressIn(options: Record<string, unknown>, name: string, otherwise: string): string {
  const value = options[name] ?? otherwise;
  if (typeof value !== 'string')
    throw new Error(`the option "${name}" must be an http or https address`);
  const verdict = judgeOperatorUrl(value);
  if (!verdict.ok) throw new Error(`the option "${name}" ${verdict.reason}`);
  return value.replace(/\/+$/, '');
}

/** Makes a call with our key; only for addresses of the definition. */
export function callFal(fal: Fal, { json, headers, ...call }: FalCall): Promise<Reply> {
  return fal.tools.fetch.request({
    ...call,
    headers: {
      authorization: `Key ${fal.key}`,
      accept: 'application/json',
      ...(json !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: json === undefined ? null : JSON.stringify(json),
  });
}

/** fal's reason in a reply, without addresses and without our key. */
export function reasonOf(fal: Fal, reply: Pick<Reply, 'status' | 'body'>): string {
  return reasonIn(fal, jsonOf(reply.body)) ?? `answered ${reply.status}`;
}

/** fal's reason in a body, without addresses and our key; null if there is none. */
export function reasonIn(fal: Fal, body: unknown): string | null {
  const detail = fieldOf(body, 'detail');
  const words = (Array.isArray(detail) ? fieldReasons(detail) : null) ?? messageIn(body);
  return words === null ? null : presentable(fal, words);
}

/**
 * Turns `[{loc: ['body', 'prompt'], msg: 'Field required'}, …]` into `prompt: Field required; …`.
 */
function fieldReasons(detail: unknown[]): string | null {
  const reasons: string[] = [];
  for (const each of detail.slice(0, reasonsMax)) {
    const { loc, msg } = objectOf(each);
    if (typeof msg !== 'string' || msg === '') continue;
    const path = Array.isArray(loc) ? loc.filter((step) => step !== 'body').join('.') : '';
    reasons.push(path === '' ? msg : `${path}: ${msg}`);
  }
  return reasons.length === 0 ? null : reasons.join('; ');
}

function presentable({ key }: Pick<Fal, 'key'>, text: string): string {
  // A key may have the form `id:secret`, and neither half may be logged.
  const secrets = [key, ...key.split(':')].filter((part) => part.length >= 6);
  const without = secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text);
  return without.replaceAll(/\b(?:https?|wss?):\/\/[^\s"'<>]+/gi, '…').slice(0, messageMax);
}

/** The error of a call, in words for the operator. */
export function faultWords(fal: Fal, error: unknown): string {
  return error instanceof FetchError ? error.message : presentable(fal, messageOf(error));
}
