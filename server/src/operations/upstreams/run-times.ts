import type { RunTime } from '../../db/requests/run-times.ts';
import { withTimeout } from '../../lib/with-timeout.ts';

/** Seconds that a run of each model usually takes; models that have not run have none. */
export type RunTimes = ReadonlyMap<string, number>;

const freshMs = 60_000;
/** The catalog is answered without a database too, so its callers wait no longer than this. */
const firstMs = 1_000;

/**
 * This process's copy of the run times. A copy that is too old is still given, while the next is
 * read. The same map stands for the same times. Failed reads are told to `onError`.
 */
export function createRunTimes(
  read: () => Promise<RunTime[]>,
  onError: (error: unknown) => void,
): () => Promise<RunTimes> {
  let times: RunTimes = new Map();
  let readAt = -Infinity;
  let reading: Promise<void> | null = null;
  async function load(): Promise<void> {
    try {
      const next = new Map((await read()).map((each) => [each.model_id, each.median_seconds]));
      if (!isSame(next, times)) times = next;
    } catch (error) {
      onError(error);
    }
    readAt = performance.now();
  }
  return async () => {
    if (performance.now() - readAt > freshMs) {
      const isFirst = readAt === -Infinity;
      reading ??= load().finally(() => (reading = null));
      if (isFirst) await withTimeout(reading, firstMs).catch(() => {});
    }
    return times;
  };
}

function isSame(a: RunTimes, b: RunTimes): boolean {
  return a.size === b.size && [...a].every(([id, seconds]) => b.get(id) === seconds);
}
