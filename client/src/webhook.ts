import { FareboxError, badArgument } from './error.ts';
import { withAmounts } from './money.ts';
import type { WebhookEvent } from './types.ts';

/** Standard Webhooks: verifies that the service signed a notification, and did so recently. */

export interface WebhookInput {
  /** The raw body, before any parsing. */
  body: string | Uint8Array;
  headers: Headers | Record<string, string | string[] | undefined>;
  /** `whsec_…`; several while the secret is being replaced. */
  secret: string | string[] | undefined;
  /**
   * The largest allowed difference between the timestamp and the clock, either way; default 300.
   */
  toleranceSeconds?: number | undefined;
  now?: Date | undefined;
}

const usualToleranceSeconds = 300;

/**
 * Returns the event. Throws `bad_signature` if it was not signed with one of the secrets, or not
 * recently; then answer 400 and ignore the body.
 */
export async function verifyWebhook(input: WebhookInput): Promise<WebhookEvent> {
  const { body, headers, secret, toleranceSeconds = usualToleranceSeconds } = input;
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  const seconds = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) : NaN;
  const nowSeconds = (input.now ?? new Date()).getTime() / 1000;
  if (!(Math.abs(nowSeconds - seconds) <= toleranceSeconds))
    throw refused(`webhook-timestamp is not within ${toleranceSeconds} s of now`);
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(head.length + bytes.length);
  signed.set(head);
  signed.set(bytes, head.length);
  const offered = signatures.split(' ').flatMap((each) => signatureOf(each) ?? []);
  let valid = false;
  for (const each of [secret].flat()) {
    const key = await crypto.subtle.importKey(
      'raw',
      secretOf(each),
      { name: 'HMAC', hash: 'SHA-256' },
      false,
      ['verify'],
    );
    // verify() compares in constant time.
    for (const signature of offered)
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) valid = true;
  }
  if (!valid) throw refused('no signature matches the secret and the exact bytes of the body');
  try {
    return withAmounts<WebhookEvent>(JSON.parse(new TextDecoder().decode(bytes)));
  } catch (cause) {
    throw new FareboxError('bad_signature', 'The body is not JSON.', { cause });
  }
}

function isHeaders(headers: WebhookInput['headers']): headers is Headers {
  return typeof headers.get === 'function';
}

function header(headers: WebhookInput['headers'], name: string): string {
  const value = isHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== 'string' || value === '') throw refused(`${name} is missing`);
  return value;
}

function refused(why: string): FareboxError {
  return new FareboxError('bad_signature', `Not a valid notification: ${why}.`);
}

function signatureOf(text: string): Uint8Array<ArrayBuffer> | null {
  return text.startsWith('v1,') ? base64(text.slice(3)) : null;
}

function secretOf(secret: string | undefined): Uint8Array<ArrayBuffer> {
  const bytes = secret?.startsWith('whsec_') ? base64(secret.slice('whsec_'.length)) : null;
  if (!bytes || bytes.length < 24)
    throw badArgument('A webhook secret is whsec_ followed by base64.', 'secret');
  return bytes;
}

function base64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}
