import { ApiError } from '../core/errors.ts';
import { openHolding, type Budget } from '../lib/budget.ts';
import { InputRefused } from './inputs.ts';
import { HandOverFailed } from './replies.ts';
import type { Hold } from './upstream.ts';

/** Limits the memory for callers' files that have to be read before they are sent on. */

/**
 * Makes one call of an adapter. Bytes that its `hold` has counted are given back when the call is
 * over, whether or not somebody still waits for it.
 */
export async function holdingInputs<T>(
  inputs: Budget,
  account_id: string,
  call: (hold: Hold) => Promise<T>,
): Promise<T> {
  const held = openHolding(inputs, account_id);
  const hold: Hold = (bytes) => {
    if (!held.take(bytes)) throw noRoom(inputs, account_id, held.amount());
  };
  try {
    return await call(hold);
  } finally {
    held.release();
  }
}

/** `own`: the bytes that this very call holds. */
function noRoom(inputs: Budget, account_id: string, own: number): Error {
  if (inputs.free() + own === inputs.max)
    return new InputRefused(
      'The files at the addresses of this request are larger together than this server can take. ' +
        'Send fewer or smaller files, or upload them and give their file_ids.',
    );
  const held = inputs.held(account_id) - own;
  const message = 'there is no memory for the files of this request now';
  if (held === 0) return new HandOverFailed({ message, unasked: true });
  const refusal = new ApiError('rate_limited', {
    message: `The files at the addresses of this account's other open calls have ${held} bytes, and the files of this call do not fit beside them. Nothing was charged; make fewer such calls at once, and retry with backoff.`,
    reason: 'account_share',
    details: { held },
    headers: { 'retry-after': '1' },
  });
  return new HandOverFailed({ message, unasked: true, refusal });
}
