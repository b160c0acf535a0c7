import { ApiError } from '../core/errors.ts';
import type { Countdown } from '../lib/bounded.ts';
import { openHolding, type Budget } from '../lib/budget.ts';
import { NoCapacity, type FairQueue } from '../lib/fair-queue.ts';
import { waitUntilAborted } from '../lib/until-aborted.ts';
import { InputRefused } from './inputs.ts';
import { HandOverFailed } from './replies.ts';
import type { HoldBytes, InputShares, InShare } from './upstream.ts';

/** Shares between accounts what callers' files need before they are sent on. */

interface InputResources {
  /** Bytes of callers' files in memory, by account. */
  inputBytes: Budget;
  /** Files that are measured, decoded or converted, by account. */
  decoding: Pick<FairQueue, 'run'>;
}

interface Owner {
  account_id: string;
  /** Whether someone still waits for the call. */
  isAwaited?: () => boolean;
}

/**
 * Makes one call of an adapter. Bytes that its `hold` has counted are given back when the call and
 * all that it has begun in its share are over, because work goes on after its call was given up.
 * Once it has begun such work, its next goes before new work of its account, however late, because
 * another start would repeat the first.
 */
export async function holdingInputs<T>(
  { inputBytes, decoding }: InputResources,
  { account_id, isAwaited = () => true }: Owner,
  call: (shares: InputShares) => Promise<T>,
): Promise<T> {
  const held = openHolding(inputBytes, account_id);
  let users = 1;
  const leave = () => {
    if (--users === 0) held.release();
  };
  let isBegun = false;
  const hold: HoldBytes = (bytes) => {
    if (!held.take(bytes)) throw noRoom(inputBytes, account_id, held.amount());
  };
  const inShare: InShare = async (work, wait) => {
    const begin = () => {
      if (!isAwaited()) throw new HandOverFailed({ message: 'nobody waits', unasked: true });
      isBegun = true;
      return work();
    };
    wait.signal.throwIfAborted();
    users += 1;
    // Work whose call is over keeps its place, because it cannot be stopped.
    const { signal, continues = false } = wait;
    const goesOn = { signal, continues: continues || isBegun };
    const done = decoding.run(account_id, begin, goesOn).finally(leave);
    try {
      return await waitUntilAborted(done, signal);
    } catch (error) {
      throw error instanceof NoCapacity || signal.aborted ? noShare(error) : error;
    }
  };
  try {
    return await call({ hold, inShare });
  } finally {
    leave();
  }
}

/** The same shares. Work in the share uses up nothing of the time limit. */
export function besides({ hold, inShare }: InputShares, limit: Countdown): InputShares {
  return { hold, inShare: (work, wait) => limit.aside(inShare(work, wait)) };
}

function noShare(cause: unknown): HandOverFailed {
  const message = 'the files of this request could not be converted now';
  const facts = { message, unasked: true, waited: true } as const;
  if (!(cause instanceof NoCapacity) || !cause.own) return new HandOverFailed(facts);
  const refusal = new ApiError('rate_limited', {
    message: `The pictures of this account's other calls have used its share of this server for converting pictures. Nothing was charged; send fewer pictures at once, or PNG and JPEG, and retry with backoff.`,
    reason: 'account_share',
    headers: { 'retry-after': '2' },
  });
  return new HandOverFailed({ ...facts, refusal });
}

/** `own`: the bytes that this very call holds. */
function noRoom(inputs: Budget, account_id: string, own: number): Error {
  if (inputs.free() + own === inputs.max)
    return new InputRefused(
      'The files at the addresses of this request are larger together than this server can take. ' +
        'Send fewer or smaller files, or upload them and give their file_ids.',
    );
  const held = inputs.takenBy(account_id) - own;
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
