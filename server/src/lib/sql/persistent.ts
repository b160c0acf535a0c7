import { setTimeout as pause } from 'node:timers/promises';

export interface PersistentOptions {
  /** True for a failure that may end by itself. */
  isPassing: (error: unknown) => boolean;
  /**
   * Limit of all repeats, measured from the first of several failures in succession. After this
   * time work is tried only once, until it succeeds or nothing has failed for this long.
   */
  patienceMs: number;
  pauseMs: number;
}

export type Persister = <T>(work: (isRepeat: boolean) => Promise<T>) => Promise<T>;

/**
 * Repeats work until it succeeds or `patienceMs` is over. `isRepeat` is true if the work was tried
 * before; the failed try may have taken effect.
 */
export function persistent({ isPassing, patienceMs, pauseMs }: PersistentOptions): Persister {
  let failingSince: number | null = null;
  let failedLast = -Infinity;
  return async (work) => {
    for (let isRepeat = false; ; isRepeat = true) {
      try {
        const value = await work(isRepeat);
        failingSince = null;
        return value;
      } catch (error) {
        if (!isPassing(error)) throw error;
        const now = performance.now();
        if (failingSince === null || (!isRepeat && now - failedLast > patienceMs))
          failingSince = now;
        failedLast = now;
        if (now - failingSince > patienceMs) throw error;
        await pause(pauseMs);
      }
    }
  };
}
