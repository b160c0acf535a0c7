import { throttled } from '../log-throttle.ts';

interface Log {
  warn(fields: object, message: string): void;
}

/**
 * Logs once a minute that the database does not answer, and once that it is back. Otherwise many
 * loops and callers would log it several times a second.
 */
export class Outage {
  readonly #log: Log;
  readonly #tell: (error: unknown) => void;
  /** False until the database has answered once. Until then its opener reports errors. */
  #isKnown = false;
  /** True: an outage was logged, but not its end. */
  #isLogged = false;

  constructor(log: Log) {
    this.#log = log;
    this.#tell = throttled((told) => {
      this.#isLogged = true;
      log.warn(told, 'the database does not answer');
    });
  }

  failed(error: unknown): void {
    if (this.#isKnown) this.#tell(error);
  }

  answered(): void {
    this.#isKnown = true;
    if (!this.#isLogged) return;
    this.#isLogged = false;
    this.#log.warn({}, 'the database is back');
  }
}
