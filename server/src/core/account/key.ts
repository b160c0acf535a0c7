import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { encodeBase62, randomBase62 } from '../../lib/base62.ts';

/**
 * Keys: a prefix, 32 random base62 characters (190 bits), and 6 base62 characters of the CRC-32 of
 * those first 36. With the checksum, mistyped and made-up keys are refused without asking the
 * database, and secret scanners can be certain that a text is a key.
 */

/** `fbx_`: the key of an account. `fbo_`: a key of the operator, for the operator's API. */
export type KeyPrefix = 'fbx_' | 'fbo_';

const prefixLength = 4;
const randomLength = 32;
const checksumLength = 6;
const checkedLength = prefixLength + randomLength;
const keyLength = checkedLength + checksumLength;
const form = /^fb[xo]_[0-9A-Za-z]{38}$/;

/** A new key. `random` must be a cryptographic source, such as `randomBytes`. */
export function newKey(random: (bytes: number) => Buffer, prefix: KeyPrefix = 'fbx_'): string {
  const checked = prefix + randomBase62(randomLength, random);
  return checked + checksumOf(checked);
}

/**
 * The key itself if form and checksum are right, otherwise null. Does not check whether the key
 * exists.
 */
export function parseKey(text: unknown, prefix: KeyPrefix = 'fbx_'): string | null {
  if (typeof text !== 'string' || text.length !== keyLength || !form.test(text)) return null;
  if (!text.startsWith(prefix)) return null;
  // guard: key-checksum (off: true)
  return text.endsWith(checksumOf(text.slice(0, checkedLength))) ? text : null;
}

/** The stored form of a key, by which it is looked up. 190 random bits need no slow hash. */
export function hashKey(key: string): Buffer {
  // A buffer that `hash` returns has its own memory outside the heap, which is slower.
  return Buffer.from(hash('sha256', key, 'hex'), 'hex');
}

/**
 * The parts of a key that are still shown after its creation, so that its owner can recognise it.
 */
export function keyHint(key: string): { prefix: string; last4: string } {
  return { prefix: key.slice(0, prefixLength + 2), last4: key.slice(-4) };
}

/**
 * The visible parts of a key, read from its beginning, its hint (`fbx_ab…wxyz`) or the full key;
 * null for any other text.
 */
export function keyHintIn(text: string): { prefix: string; last4: string | null } | null {
  if (form.test(text) && text.startsWith('fbx_')) return keyHint(text);
  const [, known, last4 = null] = /^(fbx_\w{2})(?:\w*|(?:…|\.{2,3})(\w{4}))$/.exec(text) ?? [];
  return known === undefined ? null : { prefix: known, last4 };
}

/**
 * The well-formed key of an `Authorization` header, or null.
 *
 * Accepted: the word `Key` or `Bearer` in any case, one or more spaces (RFC 9110), a key with the
 * right checksum, and nothing else. Two values are refused, as a list (`headersDistinct`) or joined
 * by a comma. A list with one value is accepted.
 */
export function parseAuthorization(
  header: string | readonly string[] | undefined,
  prefix: KeyPrefix = 'fbx_',
): string | null {
  const value = typeof header === 'object' && header.length === 1 ? header[0] : header;
  if (typeof value !== 'string') return null;
  // `toLowerCase` is not used here, because it turns the Kelvin sign into a k.
  return parseKey(/^(?:key|bearer) +(\S*)$/i.exec(value)?.[1], prefix);
}

const advice: Record<KeyPrefix, { placeholder: string; other: string }> = {
  fbx_: {
    placeholder: 'put your own key there. Create one on the Keys page of the dashboard.',
    other:
      "This is an operator key, which works only below /v1/operator. Use an account's key; it begins with fbx_.",
  },
  fbo_: {
    placeholder: 'put an operator key there. "farebox operator-key create" makes one.',
    other:
      "This is an account's key. Calls below /v1/operator need an operator key; it begins with fbo_.",
  },
};

/**
 * Why `parseAuthorization` found no key in a header; null if nothing more precise can be said.
 * Never contains any part of the key.
 */
export function whyNoKey(header: readonly string[], prefix: KeyPrefix = 'fbx_'): string | null {
  const [value] = header;
  if (header.length !== 1 || value === undefined) return null;
  const [, scheme = '', text = ''] = /^(?:([a-z-]+)(?: +|$))?(.*)$/i.exec(value.trim()) ?? [];
  const { placeholder, other } = advice[prefix];
  if (/^(key|bearer)$/i.test(scheme)) {
    if (text === '') return null;
    if (text.startsWith(prefix)) {
      return /^_\.+$/.test(text.slice(prefixLength - 1))
        ? `${prefix}... is only a placeholder: ${placeholder}`
        : 'This key is mistyped or incomplete: its checksum is wrong. Copy it again.';
    }
    if (/^fb[xo]_/.test(text)) return other;
    return `This is not a key of this service: its keys begin with ${prefix}.`;
  }
  return scheme === '' && text.startsWith(prefix)
    ? 'The Authorization header has no scheme. Write the word Key before the key.'
    : 'The scheme of the Authorization header must be Key or Bearer.';
}

function checksumOf(checked: string): string {
  return encodeBase62(crc32(checked), checksumLength);
}
