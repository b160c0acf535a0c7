import { objectOf } from '../../lib/json.ts';
import { isSuccess } from '../../lib/outbound/fetch.ts';
import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto';
import { fieldOf } from '../../lib/unknown.ts';
import { jsonOf, objectIn } from '../replies.ts';
import { CallbackRefused, type Callback, type Handle } from '../upstream.ts';
import { isRequestId } from './job.ts';
import type { Fal } from './wire.ts';

/** fal's callbacks when a job has ended, signed with Ed25519; fal publishes the public keys. */

const skewSeconds = 300;
const keysMax = 20;
const keysKeptMs = 86_400_000;
/**
 * A signature that matches no known key may come from a new key or from a stranger, so the keys are
 * fetched again, but at most this often.
 */
const keysPauseMs = 300_000;
const keysTimeoutMs = 10_000;
const keysMaxBytes = 64 * 1024;

/**
 * Verifies a callback and returns the handle of its job; null if the job's id or model is unknown,
 * because its address at fal contains both. If the keys cannot be fetched now, throws an error
 * other than `CallbackRefused`, so that fal sends the callback again.
 */
export function callbacks(fal: Fal): (call: Callback) => Promise<Handle | null> {
  const keys = keyStore(fal);
  return async ({ headers, body, signal, model }) => {
    const { message, signature } = signedPart(fal, headers, body);
    const isBy = (key: KeyObject) => verify(null, message, key, signature);
    if (!(await keys.some(isBy, signal))) throw new CallbackRefused('its signature is wrong');
    const said = fieldOf(jsonOf(body), 'request_id');
    const request_id = isRequestId(said) ? said : headers['x-fal-webhook-request-id'];
    return model !== '' && isRequestId(request_id) ? { request_id, model } : null;
  };
}

function signedPart(fal: Fal, headers: Callback['headers'], body: Buffer) {
  const read = (name: string) => headers[`x-fal-webhook-${name}`] ?? '';
  const [request_id, user_id, timestamp] = [read('request-id'), read('user-id'), read('timestamp')];
  if (!/^\d{1,12}$/.test(timestamp)) throw new CallbackRefused('it has no timestamp');
  const ageSeconds = Math.abs(fal.tools.now() / 1000 - Number(timestamp));
  if (ageSeconds > skewSeconds)
    throw new CallbackRefused('its timestamp is too old, or in the future');
  if (!/^[0-9a-f]{128}$/i.test(read('signature'))) throw new CallbackRefused('it has no signature');
  const digest = createHash('sha256').update(body).digest('hex');
  return {
    message: Buffer.from([request_id, user_id, timestamp, digest].join('\n')),
    signature: Buffer.from(read('signature'), 'hex'),
  };
}

function keyStore(fal: Fal) {
  let kept: KeyObject[] = [];
  let readAt = -Infinity;
  let triedAt = -Infinity;

  async function read(signal: AbortSignal): Promise<void> {
    triedAt = fal.tools.now();
    const limits = { timeoutMs: keysTimeoutMs, maxBytes: keysMaxBytes, signal };
    const reply = await fal.tools.fetch.request({ url: fal.jwks, ...limits });
    const found = isSuccess(reply.status) ? keysOf(objectIn(reply)?.keys) : [];
    if (found.length === 0) throw new Error("fal's keys for callbacks could not be read");
    kept = found;
    readAt = fal.tools.now();
  }

  return {
    async some(isBy: (key: KeyObject) => boolean, signal: AbortSignal): Promise<boolean> {
      if (fal.tools.now() - readAt > keysKeptMs) {
        await read(signal);
        return kept.some(isBy);
      }
      if (kept.some(isBy)) return true;
      if (fal.tools.now() - triedAt < keysPauseMs) return false;
      await read(signal);
      return kept.some(isBy);
    },
  };
}

function keysOf(list: unknown): KeyObject[] {
  if (!Array.isArray(list)) return [];
  return list.slice(0, keysMax).flatMap((each): KeyObject[] => {
    const { kty, crv, x } = objectOf(each);
    if (kty !== 'OKP' || crv !== 'Ed25519' || typeof x !== 'string') return [];
    try {
      return [createPublicKey({ key: { kty, crv, x }, format: 'jwk' })];
    } catch {
      return [];
    }
  });
}
