/**
 * Runs `work` with a signal that fires when the outer one does or after `ms`, and lets go of both
 * with its end: `AbortSignal.any` and `AbortSignal.timeout` would keep each one until its time is
 * over.
 */
export async function bounded<T>(
  outer: AbortSignal,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const stop = () => own.abort(outer.reason);
  const timer = setTimeout(
    () => own.abort(new DOMException('It took too long.', 'TimeoutError')),
    ms,
  );
  if (outer.aborted) stop();
  outer.addEventListener('abort', stop);
  try {
    return await work(own.signal);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', stop);
  }
}
