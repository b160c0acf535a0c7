import { setTimeout as pause } from 'node:timers/promises';

/**
 * Repeats the check until it returns a truthy value, which it returns. Throws after `withinMs`. A
 * check that throws, such as by a failed assertion, ends it at once.
 */
export async function until<T>(
  what: string,
  check: () => Promise<T> | T,
  withinMs = 120_000,
): Promise<Exclude<T, false | null | undefined>> {
  const start = performance.now();
  for (;;) {
    const found = await check();
    if (found) return found as Exclude<T, false | null | undefined>;
    const ms = performance.now() - start;
    if (ms > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    // Less and less often, because many checks may slow down the awaited work.
    await pause(Math.min(5 + ms / 20, 50));
  }
}
