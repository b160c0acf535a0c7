import { ApiError } from '../core/errors.ts';
import type { Budget } from '../lib/budget.ts';
import { NoCapacity, type FairQueue, type Wait } from '../lib/fair-queue.ts';
import type { HttpDeps } from './deps.ts';

/** Refusals of calls beyond the limits of this process. */

export const tooMuch = 'This server is overloaded. Nothing was charged; retry with backoff.';

/**
 * Takes one unit of a budget that all accounts share. Throws `rate_limited` if this account holds
 * its share, and `capacity_unavailable` if it holds nothing and others hold everything.
 */
export function takeShare(
  budget: Budget,
  owner: string,
  what: string,
  { metrics }: Pick<HttpDeps, 'metrics'>,
): void {
  if (budget.take(owner, 1)) return;
  const held = budget.takenBy(owner);
  metrics.overload.inc({ reason: held === 0 ? 'in_flight' : 'share' });
  if (held === 0) throw new ApiError('capacity_unavailable', { message: tooMuch, expected: true });
  throw new ApiError('rate_limited', {
    message: `You have ${held} ${what} on this server, the most that your share allows now. Nothing was charged; wait until one has ended, and retry with backoff.`,
    reason: 'account_share',
    details: { held },
    headers: { 'retry-after': '1' },
  });
}

interface ShareBounds extends Pick<HttpDeps, 'metrics'>, Wait {
  /** Details of the refusal. */
  details?: Record<string, unknown>;
}

/**
 * Runs `work` in the account's or person's share of the places; it may wait for one while the
 * caller is there. Throws `rate_limited` if its own other calls have used the share, and
 * `capacity_unavailable` if others hold all places.
 */
export async function runInShare<T>(
  queue: FairQueue,
  owner: string,
  what: string,
  work: () => T | Promise<T>,
  { metrics, details, ...wait }: ShareBounds,
): Promise<T> {
  return withShareRefusals(queue.run(owner, work, wait), what, {
    metrics,
    ...(details && { details }),
  });
}

/** The result of work that has waited for a place, with the refusals of `runInShare`. */
export async function withShareRefusals<T>(
  work: Promise<T>,
  what: string,
  { metrics, details }: Pick<ShareBounds, 'metrics' | 'details'>,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof NoCapacity)) throw error;
    metrics.overload.inc({ reason: error.own ? 'share' : 'in_flight' });
    if (!error.own)
      throw new ApiError('capacity_unavailable', { message: tooMuch, expected: true });
    throw new ApiError('rate_limited', {
      message: `Your other calls have used your share of this server for ${what}. Nothing was charged; make fewer of them at once, and retry with backoff.`,
      reason: 'account_share',
      ...(details && { details }),
      headers: { 'retry-after': '2' },
    });
  }
}

const everyMs = 5_000;

/** Logs refused calls: the first at once, then their number every few seconds. */
export function createOverloadLog(log: HttpDeps['log']): (reason: string) => void {
  const counts = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;
  function tell(): void {
    timer = undefined;
    if (counts.size === 0) return;
    log.warn({ refused: Object.fromEntries(counts) }, 'calls refused: this process is full');
    counts.clear();
    timer = setTimeout(tell, everyMs);
    timer.unref();
  }
  return (reason) => {
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
    if (timer === undefined) tell();
  };
}
