import { throttleLog } from '../log-throttle.ts';
import { refusesWrites } from './faults.ts';

interface Log {
  warn(fields: object, message: string): void;
}

/**
 * Logs once a minute that the database does not answer or takes no writes, and once that it is
 * back. Otherwise many loops and callers would log it several times a second.
 */
export class Outage {
  readonly #log: Log;
  readonly #tellAway: (error: unknown) => void;
  readonly #tellRefusal: (error: unknown) => void;
  /** False until the database has answered once. Until then its opener reports errors. */
  #isKnown = false;
  /** True: an outage was logged, but not its end. */
  #isLogged = false;

  constructor(log: Log) {
    this.#log = log;
    const teller = (sentence: string) =>
      throttleLog((told) => {
        this.#isLogged = true;
        log.warn(told, sentence);
      });
    this.#tellAway = teller('the database does not answer');
    this.#tellRefusal = teller('the database takes no writes');
  }

  noteFailure(error: unknown): void {
    if (!this.#isKnown) return;
    if (refusesWrites(error)) this.#tellRefusal(error);
    else this.#tellAway(error);
  }

  noteAnswer(): void {
    this.#isKnown = true;
    if (!this.#isLogged) return;
    this.#isLogged = false;
    this.#log.warn({}, 'the database is back');
  }
}
