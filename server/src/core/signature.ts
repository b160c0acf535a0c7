import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { isUuid } from '../lib/id.ts';

/**
 * Signed output links: whoever holds one may fetch one output until `exp`, without a key.
 *
 * `sig` is unpadded base64url of HMAC-SHA256 over `v1\nGET\n<request_id>\n<index>\n<exp>\n<kid>`;
 * HEAD uses the same link. `kid`, the first 8 hex digits of the secret's SHA-256, ties a signature
 * to one secret and never stands in the link.
 */

export interface OutputLink {
  request_id: string;
  /** Position of the output, from 0. */
  index: number;
  /** Unix seconds; the link is good up to and including this second. */
  exp: number;
}

export interface PresentedLink {
  request_id: unknown;
  index: number;
  /** Query values as they came; anything but a single text is invalid. */
  exp: unknown;
  sig: unknown;
  now_seconds: number;
}

/**
 * A whole number without sign, leading zero, fraction or exponent; 12 digits reach the year 33658.
 */
const expForm = /^(?:0|[1-9][0-9]{0,11})$/;
const sigForm = /^[A-Za-z0-9_-]{43}$/;

/**
 * The query of the link: `exp=<integer>&sig=<43 characters>`.
 * @throws RangeError where the link could never be verified: a fault of ours, not of a caller.
 */
export function sign(secret: Buffer, link: OutputLink): string {
  const exp = String(link.exp);
  if (!isUuid(link.request_id) || !isIndex(link.index) || !expForm.test(exp)) {
    throw new RangeError('a link needs a UUID, an index ≥ 0 and whole unix seconds');
  }
  return `exp=${exp}&sig=${signatureOf(secret, link.request_id, link.index, exp)}`;
}

/**
 * Judges a link. `secrets`: the current one first, then those still honoured after a rotation.
 * A good signature whose time has passed is `expired`; a bad one is `invalid` whatever its `exp`.
 */
export function verify(
  secrets: readonly Buffer[],
  link: PresentedLink,
): 'valid' | 'expired' | 'invalid' {
  const { request_id, index, exp, sig } = link;
  if (!isUuid(request_id) || !isIndex(index)) return 'invalid';
  if (typeof exp !== 'string' || !expForm.test(exp)) return 'invalid';
  if (typeof sig !== 'string' || !sigForm.test(sig)) return 'invalid';
  // Texts are compared, not decoded bytes: Node's decoder takes several spellings for the same
  // bytes.
  const presented = Buffer.from(sig, 'latin1');
  let good = false;
  for (const secret of secrets) {
    const expected = Buffer.from(signatureOf(secret, request_id, index, exp), 'latin1');
    if (timingSafeEqual(presented, expected)) good = true;
  }
  if (!good) return 'invalid';
  return link.now_seconds > Number(exp) ? 'expired' : 'valid';
}

function signatureOf(secret: Buffer, request_id: string, index: number, exp: string): string {
  const kid = hash('sha256', secret, 'hex').slice(0, 8);
  const text = `v1\nGET\n${request_id}\n${index}\n${exp}\n${kid}`;
  return createHmac('sha256', secret).update(text).digest('base64url');
}

function isIndex(index: number): boolean {
  return Number.isSafeInteger(index) && index >= 0;
}
