import { LogThrottle } from '../lib/log-throttle.ts';

/** Steps that fail again and again: how long to wait for the next try, and whether to say so. */
export class Troubles {
  /** Failures in a row, by request. */
  readonly #failures = new Map<string, number>();
  readonly #throttle = new LogThrottle();
  readonly #baseSeconds: number;

  constructor(baseSeconds: number) {
    this.#baseSeconds = baseSeconds;
  }

  /** Notes a failure; seconds until the next try, longer each time. */
  failed(requestId: string): number {
    // Those that another process went on with are never heard of again.
    if (this.#failures.size > requestsMax) this.#failures.clear();
    const count = (this.#failures.get(requestId) ?? 0) + 1;
    this.#failures.set(requestId, count);
    return Math.min(this.#baseSeconds * 2 ** Math.min(count - 1, 20), pauseMaxSeconds);
  }

  went(requestId: string): void {
    this.#failures.delete(requestId);
  }

  /** How many failures at this upstream a line in the log stands for; null: none is due yet. */
  tell(upstream: string): number | null {
    return this.#throttle.due(upstream);
  }
}

const requestsMax = 10_000;
const pauseMaxSeconds = 60;
