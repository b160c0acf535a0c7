/** Time limit of stopping, whatever is still running. */
const stopMs = 9_500;
/**
 * When Ctrl-C is pressed, the terminal and npm both send a signal: within this time they count as
 * one.
 */
const echoMs = 500;

/**
 * The first signal stops gracefully, a second one ends the process at once. A process that waits
 * for others has `moreMs` more time.
 */
export function stopSignal(moreMs = 0): Promise<string> {
  return new Promise((resolve) => {
    let since: number | undefined;
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (since !== undefined && performance.now() - since > echoMs) process.exit(1);
        if (since !== undefined) return;
        since = performance.now();
        resolve(signal);
        // Ends the process in time even if something hangs: unfinished work is leased or reserved,
        // and goes on later.
        setTimeout(() => process.exit(1), stopMs + moreMs).unref();
      });
    }
  });
}
