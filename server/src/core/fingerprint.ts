import { hash } from 'node:crypto';
import { canonicalJson } from '../lib/json.ts';
import { ApiError } from './errors.ts';

/** What makes two calls under one Idempotency-Key the same call. */
export interface Call {
  /** As the router knows it: upper case. */
  method: string;
  /** Path with the prefix `/v1`, without the query. */
  path: string;
  /** The parsed body without `webhook_url`; undefined where there was none, which is not the same as null. */
  body: unknown;
  webhook_url: string | null;
}

/**
 * 32 bytes that are equal for equal calls, whatever the order of keys and the white space of the body.
 * SHA-256 over the canonical JSON of one object, so that no two calls share an encoding.
 */
export function fingerprint(call: Call): Buffer {
  const { method, path, body, webhook_url } = call;
  return hash('sha256', canonicalJson({ version: 1, method, path, body, webhook_url }), 'buffer');
}

/**
 * The value of an `Idempotency-Key` header, or null where there is none.
 * A header that was sent twice arrives as a list, or joined by a comma and a space; both are refused.
 *
 * @throws ApiError `bad_request`
 */
export function idempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && /^[!-~]{1,255}$/.test(header)) return header;
  throw new ApiError('bad_request', {
    message: 'Idempotency-Key must be sent once, with 1 to 255 visible ASCII characters, no space.',
    param: 'Idempotency-Key',
  });
}
