import { LogThrottle } from '../lib/log-throttle.ts';

/** Decides when a step that fails repeatedly is tried again, and when its failure is logged. */
export class Backoff {
  /** Failures in succession, by request. */
  readonly #failures = new Map<string, number>();
  readonly #throttle = new LogThrottle();
  readonly #baseSeconds: number;

  constructor(baseSeconds: number) {
    this.#baseSeconds = baseSeconds;
  }

  /** Counts a failure. Returns the seconds until the next try, which grow with each failure. */
  failed(requestId: string): number {
    // Requests that another process has taken over would stay in the map forever.
    if (this.#failures.size > requestsMax) this.#failures.clear();
    const count = (this.#failures.get(requestId) ?? 0) + 1;
    this.#failures.set(requestId, count);
    return Math.min(this.#baseSeconds * 2 ** Math.min(count - 1, 20), pauseMaxSeconds);
  }

  succeeded(requestId: string): void {
    this.#failures.delete(requestId);
  }

  /**
   * The number of failures at this upstream that a log line has to cover now; null if one was
   * logged recently.
   */
  logDue(upstream: string): number | null {
    return this.#throttle.due(upstream);
  }
}

const requestsMax = 10_000;
const pauseMaxSeconds = 60;
