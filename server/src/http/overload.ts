import { ApiError } from '../core/errors.ts';
import type { Budget } from '../lib/budget.ts';
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
  const held = budget.held(owner);
  metrics.overload.inc({ reason: held === 0 ? 'in_flight' : 'share' });
  if (held === 0) throw new ApiError('capacity_unavailable', { message: tooMuch, expected: true });
  throw new ApiError('rate_limited', {
    message: `You have ${held} ${what} on this server, the most that your share allows now. Nothing was charged; wait until one has ended, and retry with backoff.`,
    details: { held },
    headers: { 'retry-after': '1' },
  });
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
