import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { isUuid } from '../../lib/id.ts';

/**
 * Signed output links: anyone with the link may fetch one output until `exp`, without a key.
 *
 * `sig` is unpadded base64url of HMAC-SHA256 over `v1\nGET\n<request_id>\n<index>\n<exp>\n<kid>`;
 * HEAD uses the same link. `kid`, the first 8 hex digits of the secret's SHA-256, ties a signature
 * to one secret; it is not part of the link.
 */

export interface OutputLink {
  request_id: string;
  /** From 0. */
  index: number;
  /** Unix seconds; the link is valid up to and including this second. */
  exp: number;
}

/** The part of a link that states when it expires, and its signature. */
interface PresentedSignature {
  /** Query values as received; anything but a single text is invalid. */
  exp: unknown;
  sig: unknown;
  now_seconds: number;
}

export interface PresentedLink extends PresentedSignature {
  request_id: unknown;
  index: number;
}

type Verdict = 'valid' | 'expired' | 'invalid';

/**
 * A whole number without sign, leading zero, fraction or exponent. Twelve digits reach the year
 * 33658.
 */
const expForm = /^(?:0|[1-9][0-9]{0,11})$/;
const sigForm = /^[A-Za-z0-9_-]{43}$/;

/**
 * The query of the link: `exp=<integer>&sig=<43 characters>`.
 *
 * @throws RangeError if the link could never be verified, which is our mistake and not a caller's.
 */
export function sign(secret: Buffer, link: OutputLink): string {
  const exp = String(link.exp);
  if (!isUuid(link.request_id) || !isIndex(link.index) || !expForm.test(exp)) {
    throw new RangeError('a link needs a UUID, an index ≥ 0 and whole unix seconds');
  }
  return `exp=${exp}&sig=${signatureOf(secret, outputLines(link.request_id, link.index, exp))}`;
}

/**
 * Checks a link. `secrets`: the current one first, then older ones that are still accepted after a
 * rotation. A valid signature past its `exp` is `expired`; a wrong signature is `invalid` whatever
 * its `exp`.
 */
export function verify(secrets: readonly Buffer[], link: PresentedLink): Verdict {
  const { request_id, index } = link;
  if (!isUuid(request_id) || !isIndex(index)) return 'invalid';
  return judge(secrets, link, (exp) => outputLines(request_id, index, exp));
}

/** The query of a link to an uploaded file, for upstreams: `exp=…&sig=…`. `id` is its UUID. */
export function signFile(secret: Buffer, { id, exp }: { id: string; exp: number }): string {
  return `exp=${exp}&sig=${signatureOf(secret, fileLines(id, String(exp)))}`;
}

/** Checks such a link as `verify` does. */
export function verifyFile(
  secrets: readonly Buffer[],
  link: { id: string } & PresentedSignature,
): Verdict {
  return judge(secrets, link, (exp) => fileLines(link.id, exp));
}

/** A file that is not uploaded yet, and the key that the upload will be counted for. */
export interface UploadLink {
  /** Both are UUIDs. */
  id: string;
  key_id: string;
}

/** The query of an address that accepts one upload without a key: `key_id=…&exp=…&sig=…`. */
export function signUpload(secret: Buffer, link: UploadLink & { exp: number }): string {
  const { key_id, exp } = link;
  return `key_id=${key_id}&exp=${exp}&sig=${signatureOf(secret, uploadLines(link, String(exp)))}`;
}

/** Checks such an address as `verify` does. */
export function verifyUpload(
  secrets: readonly Buffer[],
  link: UploadLink & PresentedSignature,
): Verdict {
  if (!isUuid(link.key_id)) return 'invalid';
  return judge(secrets, link, (exp) => uploadLines(link, exp));
}

/** The attempt that an upstream calls back about. */
export interface CallbackLink {
  upstream: string;
  request_id: string;
  /** The attempt that started the job. */
  attempt: number;
}

/** The last segment of a callback's address; it proves that we made the address. */
export function signCallback(secret: Buffer, link: CallbackLink): string {
  return signatureOf(secret, callbackLines(link));
}

export function verifyCallback(
  secrets: readonly Buffer[],
  link: CallbackLink,
  sig: string,
): boolean {
  return sigForm.test(sig) && isSigned(secrets, sig, callbackLines(link));
}

/**
 * A signed value for a browser that has signed in with this address. `id` is the browser's UUID.
 */
export function signDevice(secret: Buffer, id: string, email: string): string {
  return `${id}.${signatureOf(secret, deviceLines(id, email))}`;
}

/** The id of the browser if the value was signed for this address, otherwise null. */
export function verifyDevice(
  secrets: readonly Buffer[],
  presented: string,
  email: string,
): string | null {
  const [id = '', sig = '', ...rest] = presented.split('.');
  if (rest.length > 0 || !isUuid(id) || !sigForm.test(sig)) return null;
  return isSigned(secrets, sig, deviceLines(id, email)) ? id : null;
}

function judge(
  secrets: readonly Buffer[],
  { exp, sig, now_seconds }: PresentedSignature,
  linesOf: (exp: string) => string[],
): Verdict {
  if (typeof exp !== 'string' || !expForm.test(exp)) return 'invalid';
  if (typeof sig !== 'string' || !sigForm.test(sig)) return 'invalid';
  // guard: output-link-signed
  if (!isSigned(secrets, sig, linesOf(exp))) return 'invalid';
  return now_seconds > Number(exp) ? 'expired' : 'valid';
}

function outputLines(request_id: string, index: number, exp: string): string[] {
  return ['v1', 'GET', request_id, String(index), exp];
}

function fileLines(id: string, exp: string): string[] {
  return ['v1', 'GET', 'file', id, exp];
}

function uploadLines({ id, key_id }: UploadLink, exp: string): string[] {
  return ['v1', 'PUT', 'file', id, key_id, exp];
}

function callbackLines({ upstream, request_id, attempt }: CallbackLink): string[] {
  return ['v1', 'POST', upstream, request_id, String(attempt)];
}

function deviceLines(id: string, email: string): string[] {
  return ['v1', 'DEVICE', id, email];
}

/**
 * Compares the texts instead of the decoded bytes, because Node's decoder accepts several spellings
 * of the same bytes.
 */
function isSigned(secrets: readonly Buffer[], sig: string, lines: string[]): boolean {
  const presented = Buffer.from(sig, 'latin1');
  let good = false;
  for (const secret of secrets) {
    const expected = Buffer.from(signatureOf(secret, lines), 'latin1');
    if (timingSafeEqual(presented, expected)) good = true;
  }
  return good;
}

function signatureOf(secret: Buffer, lines: string[]): string {
  const kid = hash('sha256', secret, 'hex').slice(0, 8);
  return createHmac('sha256', secret)
    .update([...lines, kid].join('\n'))
    .digest('base64url');
}

function isIndex(index: number): boolean {
  return Number.isSafeInteger(index) && index >= 0;
}
