/** How long work that was told to stop may take to do so. */
const graceMs = 2_000;

/**
 * Runs `work` with a signal that fires when the outer one does or after `ms`, and lets go of both
 * with its end: `AbortSignal.any` and `AbortSignal.timeout` would keep each one until its time is
 * over. Work that does not obey the signal is left behind: then it rejects with its reason.
 */
export async function bounded<T>(
  outer: AbortSignal,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const left = Promise.withResolvers<never>();
  // Nobody may be waiting any more when it comes.
  left.promise.catch(() => {});
  let grace: NodeJS.Timeout | undefined;
  const end = (reason: unknown) => {
    if (own.signal.aborted) return;
    own.abort(reason);
    grace = setTimeout(() => left.reject(reason), graceMs);
  };
  const stop = () => end(outer.reason);
  const timer = setTimeout(() => end(new DOMException('It took too long.', 'TimeoutError')), ms);
  if (outer.aborted) stop();
  outer.addEventListener('abort', stop);
  try {
    return await Promise.race([work(own.signal), left.promise]);
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    outer.removeEventListener('abort', stop);
  }
}
