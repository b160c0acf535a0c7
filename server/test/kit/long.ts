import { test } from 'node:test';

/** `npm run test:full` runs each test in its long form, `npm test` in its short one. */
export const isLong = process.env.FAREBOX_TEST_LONG === 'on';

/** The rows of a table that a run proves: in the short form the first ones. */
export function inShort<T>(count: number, rows: readonly T[]): readonly T[] {
  return isLong ? rows : rows.slice(0, count);
}

/** A share of the rows in the short form: each of a kind comes several times, in turn. */
export function inShare<T>(every: number, rows: readonly T[]): readonly T[] {
  return isLong ? rows : rows.filter((_, i) => i % every === 0);
}

/** A test of the long form only: what it repeats is proved once in the short form. */
export const inLong = (isLong ? test : () => {}) as typeof test;
