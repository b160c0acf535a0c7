/** How long aborted work may take to stop. */
const graceMs = 2_000;

/**
 * Runs `work` with a signal that fires with `outer` or after `ms`. Work that ignores the signal is
 * abandoned after `graceMs`, and the promise rejects with the signal's reason.
 *
 * The listener and the timer are removed when the work ends. `AbortSignal.any` with
 * `AbortSignal.timeout` would keep both until the time is over, and might never fire, because the
 * timeout's signal may be garbage-collected.
 */
export async function bounded<T>(
  outer: AbortSignal | undefined,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
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
  const timer = setTimeout(
    () => end(new DOMException('The step took too long.', 'TimeoutError')),
    ms,
  );
  if (outer?.aborted) stop();
  outer?.addEventListener('abort', stop);
  try {
    return await Promise.race([work(own.signal), left.promise]);
  } finally {
    clearTimeout(timer);
    clearTimeout(grace);
    outer?.removeEventListener('abort', stop);
  }
}
