/** Limits frequent log lines to one per subject and minute. */
export class LogThrottle {
  /** By subject: when it was last logged, and how often it has occurred since. */
  readonly #logged = new Map<string, { at: number; since: number }>();

  /**
   * Counts an occurrence. Returns the number of occurrences that a line has to cover now; null if
   * the subject was logged within the last minute.
   */
  due(subject: string): number | null {
    const now = performance.now();
    const logged = this.#logged.get(subject);
    if (logged && now - logged.at < intervalMs) {
      logged.since++;
      return null;
    }
    // Old subjects are dropped to bound the memory, which may cause an additional line.
    if (this.#logged.size >= subjectsMax) this.#logged.clear();
    this.#logged.set(subject, { at: now, since: 0 });
    return (logged?.since ?? 0) + 1;
  }
}

const intervalMs = 60_000;
const subjectsMax = 1_000;

/** Logs errors of one kind at most once a minute, with the number of errors that a line covers. */
export function throttleLog(
  log: (line: { count: number; err: unknown }) => void,
): (err: unknown) => void {
  const throttle = new LogThrottle();
  return (err) => {
    const count = throttle.due('');
    if (count !== null) log({ count, err });
  };
}
