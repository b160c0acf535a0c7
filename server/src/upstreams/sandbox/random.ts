/** Repeatable randomness: the same text or numbers always give the same values. */

export type Random = () => number;

/** 32-bit hash of a text (FNV-1a with a final scramble); another `shift` gives another hash. */
export function hashText(text: string, shift = 0): number {
  let hash = 0x811c9dc5 ^ shift;
  for (let i = 0; i < text.length; i++) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return scramble(hash);
}

/** Numbers in [0, 1), the same series for the same seed (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function between(random: Random, low: number, high: number): number {
  return low + (high - low) * random();
}

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!;
}

/** A number in [0, 1) for a pair of whole numbers. */
export function lattice(x: number, y: number): number {
  return scramble(Math.imul(x, 0x27d4eb2d) ^ Math.imul(y, 0x165667b1)) / 4294967296;
}

/** Smooth noise along a line, in [0, 1); each `row` is a different line. */
export function noise(x: number, row: number): number {
  const cell = Math.floor(x);
  const share = x - cell;
  const ease = share * share * (3 - 2 * share);
  const from = lattice(cell, row);
  return from + (lattice(cell + 1, row) - from) * ease;
}

function scramble(value: number): number {
  value ^= value >>> 16;
  value = Math.imul(value, 0x7feb352d);
  value ^= value >>> 15;
  value = Math.imul(value, 0x846ca68b);
  value ^= value >>> 16;
  return value >>> 0;
}
