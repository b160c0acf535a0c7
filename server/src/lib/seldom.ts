/** Lines of a log that could come many times a second: each is due once a minute. */
export class Seldom {
  /** By what it is about: when it was said last, and how often it came up since. */
  readonly #told = new Map<string, { at: number; since: number }>();

  /** How many times a line about this stands for; null: none is due yet. */
  due(about: string): number | null {
    const now = performance.now();
    const told = this.#told.get(about);
    if (told && now - told.at < quietMs) {
      told.since++;
      return null;
    }
    // Of what is no more heard of; a line too many is better than memory that grows.
    if (this.#told.size >= keptMax) this.#told.clear();
    this.#told.set(about, { at: now, since: 0 });
    return (told?.since ?? 0) + 1;
  }
}

const quietMs = 60_000;
const keptMax = 1_000;

/** Tells of errors of one sort when a line is due, with how many it stands for. */
export function seldomly(
  tell: (told: { count: number; err: unknown }) => void,
): (err: unknown) => void {
  const seldom = new Seldom();
  return (err) => {
    const count = seldom.due('');
    if (count !== null) tell({ count, err });
  };
}
