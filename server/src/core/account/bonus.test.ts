import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendBonuses } from './bonus.ts';

const cases: [what: string, bonuses: bigint[], spent: bigint, left: bigint[]][] = [
  ['nothing spent leaves all', [30n, 50n], 0n, [30n, 50n]],
  ['the one that ends first is spent first', [30n, 50n], 20n, [10n, 50n]],
  ['to the last micro', [30n, 50n], 30n, [0n, 50n]],
  ['then the next', [30n, 50n], 31n, [0n, 49n]],
  ['other money pays what they do not cover', [30n, 50n], 100n, [0n, 0n]],
  ['a spent one is passed over', [0n, 50n], 10n, [0n, 40n]],
  ['without bonuses other money pays', [], 10n, []],
];

for (const [what, bonuses, spent, expected] of cases) {
  test(what, () => {
    const after = spendBonuses(
      bonuses.map((left) => ({ left })),
      spent,
    );
    assert.deepEqual(
      after.map(({ left }) => left),
      expected,
    );
  });
}
