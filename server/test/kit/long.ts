import { test } from 'node:test';

/** `npm run test:full` runs each test in its long form, `npm test` in its short one. */
export const isLong = process.env.FAREBOX_TEST_LONG === 'on';

/** The rows that a run tests: in the short form the first `count` ones. */
export function inShort<T>(count: number, rows: readonly T[]): readonly T[] {
  return isLong ? rows : rows.slice(0, count);
}

/** In the short form every n-th row, for tables that repeat each kind several times. */
export function inShare<T>(every: number, rows: readonly T[]): readonly T[] {
  return isLong ? rows : rows.filter((_, i) => i % every === 0);
}

/** A test that runs only in the long form, because another test proves the same once. */
export const inLong = (isLong ? test : () => {}) as typeof test;
