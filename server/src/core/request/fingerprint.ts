import { hash } from 'node:crypto';
import { canonicalJson } from '../../lib/json.ts';
import { ApiError } from '../errors.ts';

/** Two calls with one Idempotency-Key are the same call if all these fields are equal. */
export interface Call {
  /** Upper case, as the router gives it. */
  method: string;
  /** As the router gives it, without the query; always in the same form. */
  path: string;
  /**
   * The parsed body without `webhook_url`; undefined, which differs from null, if there was no
   * body.
   */
  body: unknown;
  webhook_url: string | null;
}

/**
 * 32 bytes that are equal for equal calls, whatever the order of keys and the white space in the
 * body. Uses SHA-256 over the canonical JSON of one object, so that different calls never have the
 * same encoding.
 */
export function fingerprint(call: Call): Buffer {
  const { method, path, body, webhook_url } = call;
  return hash('sha256', canonicalJson({ version: 1, method, path, body, webhook_url }), 'buffer');
}

/**
 * The value of an `Idempotency-Key` header, or null if there is none. A header that was sent twice
 * is refused, as a list (`headersDistinct`) or joined by a comma and a space. A list with one value
 * is accepted.
 *
 * @throws ApiError `bad_request`
 */
export function idempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined || (typeof header === 'object' && header.length === 0)) return null;
  const value = typeof header === 'object' && header.length === 1 ? header[0] : header;
  // guard: one-idempotency-key (off: true)
  if (typeof value === 'string' && /^[!-~]{1,255}$/.test(value)) return value;
  throw new ApiError('bad_request', {
    message: 'Idempotency-Key must be sent once, with 1 to 255 visible ASCII characters, no space.',
    param: 'Idempotency-Key',
  });
}
