import { createHmac } from 'node:crypto';

/**
 * Standard Webhooks: with any library for that standard, receivers can verify that a notification
 * is ours. The signature covers `<id>.<timestamp>.<body>` with HMAC-SHA256.
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
 * The three headers of one delivery, with one signature for each secret, the current one first:
 * while a secret is being replaced, both are active, and a receiver may know either. `id` is the
 * same for every delivery of one event.
 *
 * @throws RangeError for a secret, id or time that no receiver could verify, which is our mistake
 * and not a caller's.
 */
export function signWebhook(
  secrets: readonly string[],
  id: string,
  timestampSeconds: number,
  body: string | Buffer,
): WebhookHeaders {
  if (secrets.length === 0) throw new RangeError('a webhook needs a secret');
  // With a dot in the id, one signature would fit two different pairs of id and time.
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

/** Whether webhooks can be signed with this secret. */
export function isWebhookSecret(secret: string): boolean {
  try {
    return secretBytes(secret).length > 0;
  } catch {
    return false;
  }
}

/**
 * The key bytes of a secret; 24 to 64 bytes, as the standard requires. Error messages never contain
 * the secret.
 */
function secretBytes(secret: string): Buffer {
  const text = secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : '';
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length < 24 || bytes.length > 64 || bytes.toString('base64') !== text) {
    throw new RangeError('a webhook secret is whsec_ and the base64 of 24 to 64 bytes');
  }
  return bytes;
}
