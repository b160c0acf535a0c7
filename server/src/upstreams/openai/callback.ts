import { createHmac, timingSafeEqual } from 'node:crypto';
import { isObject } from '../../lib/json.ts';
import { jsonOf } from '../replies.ts';
import { CallbackRefused, type Callback, type Handle } from '../upstream.ts';

const ageMaxSeconds = 300;

/**
 * OpenRouter's callbacks: `X-OpenRouter-Signature: t=SECONDS,v1=HEX`, an HMAC-SHA256 over the
 * seconds, a comma and the body.
 */
export function createCallback(secret: string | null, now: () => number) {
  return async ({ headers, body }: Callback): Promise<Handle | null> => {
    if (secret === null) throw new CallbackRefused('there is no secret to verify a callback with');
    const signature = headers['x-openrouter-signature'] ?? '';
    const fields = signature.split(',').map((part) => part.trim());
    const seconds = /^t=(\d{1,12})$/.exec(fields.find((each) => each.startsWith('t=')) ?? '')?.[1];
    if (seconds === undefined) throw new CallbackRefused('it is not signed');
    const proof = createHmac('sha256', secret).update(`${seconds},`).update(body).digest();
    const isProven = fields.some((each) => each.startsWith('v1=') && equals(each.slice(3), proof));
    if (!isProven) throw new CallbackRefused('its signature is wrong');
    if (Math.abs(now() / 1000 - Number(seconds)) > ageMaxSeconds)
      throw new CallbackRefused('it is too old, or a clock is wrong');
    const said = jsonOf(body);
    const data = isObject(said) ? said.data : undefined;
    return isObject(data) && typeof data.id === 'string' ? { id: data.id } : null;
  };
}

function equals(hex: string, proof: Buffer): boolean {
  const given = Buffer.from(hex, 'hex');
  return given.length === proof.length && timingSafeEqual(given, proof);
}
