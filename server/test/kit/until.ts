import { setTimeout as pause } from 'node:timers/promises';

/**
 * Repeats the check until it returns something truthy, and returns that. Throws after `withinMs`.
 */
export async function until<T>(
  what: string,
  check: () => Promise<T> | T,
  withinMs = 5_000,
): Promise<Exclude<T, false | null | undefined>> {
  const end = performance.now() + withinMs;
  for (;;) {
    const found = await check();
    if (found) return found as Exclude<T, false | null | undefined>;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await pause(5);
  }
}
