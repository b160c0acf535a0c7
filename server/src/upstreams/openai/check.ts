import { FetchError, isSuccess } from '../../lib/outbound/fetch.ts';
import { isObject } from '../../lib/json.ts';
import { jsonOf, messageIn } from '../replies.ts';
import { callMs, listMaxBytes } from './listing.ts';
import type { Wire } from './wire.ts';

/** Tries our key with a call that costs nothing. Null: it works; otherwise what is wrong. */
export async function checkKey(
  wire: Wire,
  path: string,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const reply = await wire.request(path, { maxBytes: listMaxBytes, timeoutMs: callMs, signal });
    if (!isSuccess(reply.status)) {
      const said = messageIn(jsonOf(reply.body));
      return wire.clean(`answered ${reply.status}${said === null ? '' : `: ${said}`}`);
    }
    const value = jsonOf(reply.body);
    if (value === undefined) return 'its answer is not JSON: is the address right?';
    return isSpent(value) ? 'the credit of its key is used up' : null;
  } catch (error) {
    if (!(error instanceof FetchError)) throw error;
    return wire.clean(error.message);
  }
}

/** Whether a key's spending limit is used up; OpenRouter reports what is left. */
function isSpent(value: unknown): boolean {
  const data = isObject(value) ? value.data : undefined;
  const left = isObject(data) ? data.limit_remaining : undefined;
  return typeof left === 'number' && left <= 0;
}
