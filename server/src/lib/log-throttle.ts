/** Keeps frequent lines out of the log: one per subject and minute. */
export class LogThrottle {
  /** By subject: when it was last logged, and how often it occurred since. */
  readonly #logged = new Map<string, { at: number; since: number }>();

  /** How many occurrences the next line covers; null: the subject was logged within the minute. */
  due(subject: string): number | null {
    const now = performance.now();
    const logged = this.#logged.get(subject);
    if (logged && now - logged.at < intervalMs) {
      logged.since++;
      return null;
    }
    // An additional line is better than memory that grows with old subjects.
    if (this.#logged.size >= subjectsMax) this.#logged.clear();
    this.#logged.set(subject, { at: now, since: 0 });
    return (logged?.since ?? 0) + 1;
  }
}

const intervalMs = 60_000;
const subjectsMax = 1_000;

/** Logs errors of one kind when a line is due, with the number of errors that it covers. */
export function throttled(
  log: (line: { count: number; err: unknown }) => void,
): (err: unknown) => void {
  const throttle = new LogThrottle();
  return (err) => {
    const count = throttle.due('');
    if (count !== null) log({ count, err });
  };
}
