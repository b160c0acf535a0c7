import { throttled } from './log-throttle.ts';

interface Log {
  warn(fields: object, message: string): void;
}

/**
 * Tells the log that the database does not answer, once a minute while that lasts, and that it is
 * back: many loops and callers notice, several times a second.
 */
export class Outage {
  readonly #log: Log;
  readonly #tell: (error: unknown) => void;
  /** Of one that has never answered tells whoever opens it. */
  #isKnown = false;
  /** A line about it is in the log, and none yet about its end. */
  #isTold = false;

  constructor(log: Log) {
    this.#log = log;
    this.#tell = throttled((told) => {
      this.#isTold = true;
      log.warn(told, 'the database does not answer');
    });
  }

  failed(error: unknown): void {
    if (this.#isKnown) this.#tell(error);
  }

  answered(): void {
    this.#isKnown = true;
    if (!this.#isTold) return;
    this.#isTold = false;
    this.#log.warn({}, 'the database is back');
  }
}
