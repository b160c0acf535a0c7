import { createHmac } from 'node:crypto';

/**
 * Standard Webhooks: receivers prove with any of its libraries that a notification is ours. The
 * signature covers `<id>.<timestamp>.<body>` with HMAC-SHA256.
 */

export interface WebhookHeaders {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
}

const secretPrefix = 'whsec_';

/** `whsec_` and the base64 of 32 random bytes. */
export function newWebhookSecret(random: (bytes: number) => Buffer): string {
  return secretPrefix + random(32).toString('base64');
}

/**
 * The three headers of one delivery. A signature for each secret, current one first: while a secret
 * is being replaced both are active, and a receiver that knows either is content. `id` is the same
 * for every delivery of one event.
 *
 * @throws RangeError for a secret, id or time that no receiver could verify: a fault of ours, not
 * of a caller.
 */
export function signWebhook(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  body: string | Buffer,
): WebhookHeaders {
  if (secrets.length === 0) throw new RangeError('a webhook needs a secret');
  // A dot in the id would let one signature be read with two ids and times.
  if (!/^[!-\-/-~]{1,255}$/.test(id)) throw new RangeError('a webhook id is visible ASCII, no dot');
  if (!Number.isSafeInteger(timestampSeconds) || timestampSeconds < 0) {
    throw new RangeError('a webhook timestamp is whole unix seconds');
  }
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', secretBytes(secret));
    return `v1,${hmac.update(`${id}.${timestampSeconds}.`).update(body).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

/** The key behind a secret; 24 to 64 bytes, as the standard asks. Never part of an error text. */
function secretBytes(secret: string): Buffer {
  const text = secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : '';
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length < 24 || bytes.length > 64 || bytes.toString('base64') !== text) {
    throw new RangeError('a webhook secret is whsec_ and the base64 of 24 to 64 bytes');
  }
  return bytes;
}
