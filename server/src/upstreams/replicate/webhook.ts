import { createHmac, timingSafeEqual } from 'node:crypto';
import { objectOf } from '../../lib/json.ts';
import { jsonOf } from '../replies.ts';
import { CallbackRefused, type Callback } from '../upstream.ts';
import type { BearerApi } from '../bearer-api.ts';

/** Replicate's callbacks, signed as Standard Webhooks define, with one secret for the account. */

const ageMaxSeconds = 300;
/** Limits how often wrong signatures can make us fetch the secret. */
const secretAgainMs = 60_000;
const keyMinBytes = 16;

/** @throws CallbackRefused; any other error if the secret cannot be fetched now */
export type Verify = (call: Callback) => Promise<void>;

/** If no secret is set, it is fetched from Replicate, and again if a signature does not match. */
export function createVerify(secret: string | null, api: BearerApi, now: () => number): Verify {
  const own = secret === null ? null : keyOf(secret);
  if (secret !== null && own === null)
    throw new Error('its secret is not a signing secret of Replicate, which begins with whsec_');
  let known: { at: number; key: Promise<Buffer> } | null = null;

  function fetched(signal: AbortSignal): Promise<Buffer> {
    known = { at: now(), key: fetchKey(api, signal) };
    known.key.catch(() => {});
    return known.key;
  }

  async function isSigned(call: Callback): Promise<boolean> {
    if (own !== null) return isGood(call, own);
    const isFresh = known !== null && now() - known.at < secretAgainMs;
    if (known !== null) {
      const key = await known.key.catch((error: unknown) => {
        if (isFresh) throw error;
        return null;
      });
      if (key !== null && isGood(call, key)) return true;
      if (isFresh) return false;
    }
    return isGood(call, await fetched(call.signal));
  }

  return async (call) => {
    const seconds = Number(call.headers['webhook-timestamp'] ?? NaN);
    if (!call.headers['webhook-id'] || !call.headers['webhook-signature'])
      throw new CallbackRefused('it is not signed');
    if (!(Math.abs(now() / 1000 - seconds) <= ageMaxSeconds))
      throw new CallbackRefused('its timestamp differs too much from our clock');
    if (!(await isSigned(call))) throw new CallbackRefused('its signature is wrong');
  };
}

function isGood({ headers, body }: Callback, key: Buffer): boolean {
  const signed = createHmac('sha256', key)
    .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`)
    .update(body)
    .digest('base64');
  // Compares the base64 texts, because several texts decode to the same bytes.
  const expected = Buffer.from(signed);
  let good = false;
  for (const each of headers['webhook-signature']!.split(' ').slice(0, 10)) {
    const [version, text = ''] = each.split(',', 2);
    const presented = Buffer.from(text);
    if (version !== 'v1' || presented.length !== expected.length) continue;
    if (timingSafeEqual(presented, expected)) good = true;
  }
  return good;
}

async function fetchKey(api: BearerApi, signal: AbortSignal): Promise<Buffer> {
  const reply = await api.send({ path: '/webhooks/default/secret', signal });
  const { key } = objectOf(jsonOf(reply.body));
  const secret = reply.status === 200 && typeof key === 'string' ? keyOf(key) : null;
  if (secret === null)
    throw new Error(`the request for the callback secret was answered with ${reply.status}`);
  return secret;
}

function keyOf(secret: string): Buffer | null {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim()) ?? [];
  const key = Buffer.from(text ?? '', 'base64');
  return key.length < keyMinBytes ? null : key;
}
