/** How long aborted work may take to stop. */
const graceMs = 2_000;

/** A time limit that stands still while something is done aside. */
export interface Countdown {
  aside<T>(work: Promise<T>): Promise<T>;
  leftMs(): number;
  stop(): void;
}

/** Calls `late` when `ms` have passed, without the time of what is done aside. */
export function countdown(ms: number, late: () => void): Countdown {
  let left = ms;
  let since: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  let asides = 0;
  let isOver = false;
  const leftMs = () => (since === null ? left : left - (performance.now() - since));
  const go = () => {
    since = performance.now();
    timer = setTimeout(late, left);
  };
  const halt = () => {
    left = leftMs();
    since = null;
    clearTimeout(timer);
  };
  go();
  return {
    leftMs,
    async aside(work) {
      if (asides++ === 0) halt();
      try {
        return await work;
      } finally {
        if (--asides === 0 && !isOver) go();
      }
    },
    stop() {
      halt();
      isOver = true;
    },
  };
}

/**
 * Runs `work` with a signal that fires with `outer` or when the `limit` of `ms` is used up. Work
 * that ignores the signal is abandoned after `graceMs`, and the promise rejects with the signal's
 * reason.
 *
 * The listener and the timer are removed when the work ends. `AbortSignal.any` with
 * `AbortSignal.timeout` would keep both until the time is over, and might never fire, because the
 * timeout's signal may be garbage-collected.
 */
export async function runBounded<T>(
  outer: AbortSignal | undefined,
  ms: number,
  work: (signal: AbortSignal, limit: Countdown) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const left = Promise.withResolvers<never>();
  // Nobody may be waiting for this promise when it rejects.
  left.promise.catch(() => {});
  let grace: NodeJS.Timeout | undefined;
  const end = (reason: unknown) => {
    if (own.signal.aborted) return;
    own.abort(reason);
    grace = setTimeout(() => left.reject(reason), graceMs);
  };
  const stop = () => end(outer!.reason);
  const late = () => end(new DOMException('The step took too long.', 'TimeoutError'));
  const limit = countdown(ms, late);
  if (outer?.aborted) stop();
  outer?.addEventListener('abort', stop);
  try {
    return await Promise.race([work(own.signal, limit), left.promise]);
  } finally {
    limit.stop();
    clearTimeout(grace);
    outer?.removeEventListener('abort', stop);
  }
}
