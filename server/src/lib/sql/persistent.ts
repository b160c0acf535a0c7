import { setTimeout as pause } from 'node:timers/promises';

export interface PersistentOptions {
  /** True for a failure that may end by itself. */
  isPassing: (error: unknown) => boolean;
  /**
   * Measured from the first of several failures in succession; work that begins later in such a
   * series is tried only once. A series ends with a success, or when nothing has failed for this
   * long.
   */
  patienceMs: number;
  pauseMs: number;
}

export type Persist = <T>(work: (isRepeat: boolean) => Promise<T>) => Promise<T>;

/**
 * Repeats work until it succeeds or `patienceMs` is over. `isRepeat` tells the work that it was
 * tried before, because a failed attempt may have taken effect.
 */
export function persistent({ isPassing, patienceMs, pauseMs }: PersistentOptions): Persist {
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
