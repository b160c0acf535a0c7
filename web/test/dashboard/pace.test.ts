/** How long a balance lasts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paceOf } from '../../src/dashboard/overview/pace.ts';

const none = (count: number) => Array<bigint>(count).fill(0n);
const each = (count: number, charged: bigint) => Array<bigint>(count).fill(charged);
const cases: [
  what: string,
  days: bigint[],
  available: bigint,
  lasts: number | null,
  of?: number,
][] = [
  ['nothing was spent', none(30), 5_000_000n, null],
  ['there are no days', [], 5_000_000n, null],
  ['each day cost the same', each(30, 1_000_000n), 12_500_000n, 12, 7],
  [
    'the last week was dearer than the weeks before',
    [...each(23, 1n), ...each(7, 10n)],
    100n,
    10,
    7,
  ],
  ['the first spending was two days ago', [...none(27), 30n, 0n, 0n], 100n, 10, 3],
  ['the first spending is of today', [...none(29), 40n], 100n, 2, 1],
  ['nothing was spent for a week', [...none(10), 200n, ...none(19)], 100n, 10, 20],
  ['the balance is used up', each(30, 5n), 0n, 0, 7],
  ['the account owes', each(30, 5n), -50n, 0, 7],
  [
    'the balance is beyond what a double holds',
    each(30, 1n),
    9_007_199_254_740_993n,
    9_007_199_254_740_992,
    7,
  ],
];
for (const [what, days, available, lasts, of] of cases)
  test(`if ${what}, the balance lasts ${lasts ?? 'as long as nobody knows'}`, () => {
    const pace = paceOf(days, available);
    assert.equal(pace?.lasts ?? null, lasts);
    if (of) assert.equal(pace?.days, of);
  });
