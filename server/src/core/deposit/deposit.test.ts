import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  chainReference,
  isTrifle,
  judgeDeposit,
  microOf,
  type DepositRules,
  type FoundDeposit,
} from './deposit.ts';

const usual: FoundDeposit = {
  token: { credit: true },
  amount_usd_micro: 5_000_000n,
  account_id: 'a',
  is_confirmed: true,
  is_mentioned: false,
};
const rules: DepositRules = { minimum_usd_micro: 1_000_000n, review_usd_micro: 100_000_000n };

const cases: [
  outcome: string,
  found: Partial<FoundDeposit>,
  verdict: string,
  other?: Partial<DepositRules>,
][] = [
  ['what arrived at an account is credited', {}, 'credited'],
  ['exactly the minimum is credited', { amount_usd_micro: 1_000_000n }, 'credited'],
  ['less than the minimum is dust', { amount_usd_micro: 999_999n }, 'ignored dust'],
  ['nothing at all is dust', { amount_usd_micro: 0n }, 'ignored dust'],
  ['dust at no account is dust', { amount_usd_micro: 1n, account_id: null }, 'ignored dust'],
  ['another token is not credited', { token: { credit: false } }, 'ignored token'],
  ['an address of no account is held', { account_id: null }, 'held unmatched'],
  ['what one endpoint alone knows is held', { is_confirmed: false }, 'held unconfirmed'],
  ['what was credited by hand is held', { is_mentioned: true }, 'held review'],
  ['exactly the limit is credited', { amount_usd_micro: 100_000_000n }, 'credited'],
  ['more than the limit is held', { amount_usd_micro: 100_000_001n }, 'held review'],
  [
    'without a limit a billion dollars is credited',
    { amount_usd_micro: 10n ** 15n },
    'credited',
    { review_usd_micro: null },
  ],
  [
    'more than anybody has is held even without a limit',
    { amount_usd_micro: 10n ** 15n + 1n },
    'held review',
    { review_usd_micro: null },
  ],
  [
    'more than anybody has is held whatever the limit',
    { amount_usd_micro: 10n ** 15n + 1n },
    'held review',
    { review_usd_micro: 10n ** 18n },
  ],
  [
    'dust that one endpoint alone knows is held, as it may be more',
    { amount_usd_micro: 1n, is_confirmed: false },
    'held unconfirmed',
  ],
  [
    'another token that one endpoint alone knows is held, as it may be ours',
    { token: { credit: false }, is_confirmed: false },
    'held unconfirmed',
  ],
];
describe('a deposit', () => {
  for (const [outcome, found, verdict, other] of cases)
    test(outcome, () => {
      const judged = judgeDeposit({ ...usual, ...found }, { ...rules, ...other });
      assert.equal(Object.values(judged).join(' '), verdict);
    });
});

test('a transfer leaves no trace below a hundredth of the minimum', () => {
  const isGone = (units: bigint, decimals: number) => isTrifle(units, { decimals }, 1_000_000n);
  assert.deepEqual(
    [0n, 9_999n, 10_000n].map((units) => isGone(units, 6)),
    [true, true, false],
  );
  assert.deepEqual(
    [10n ** 16n - 1n, 10n ** 16n].map((units) => isGone(units, 18)),
    [true, false],
  );
});

describe('an amount in micro-USD', () => {
  const amounts: [units: bigint, decimals: number, micro: bigint][] = [
    [5_000_000n, 6, 5_000_000n],
    [12_000_000_000_000_000_000n, 18, 12_000_000n],
    [999_999_999_999n, 18, 0n],
    [1_999_999_999_999n, 18, 1n],
    [7n, 0, 7_000_000n],
    [7n, 2, 70_000n],
  ];
  for (const [units, decimals, micro] of amounts)
    test(`of ${units} with ${decimals} decimals is ${micro}`, () =>
      assert.equal(microOf(units, { decimals }), micro));

  test('is never more than what arrived, and less by under one micro-USD', () => {
    fc.assert(
      fc.property(
        fc.bigInt(0n, 2n ** 256n - 1n),
        fc.integer({ min: 6, max: 36 }),
        (units, decimals) => {
          const unit = 10n ** BigInt(decimals - 6);
          const rest = units - microOf(units, { decimals }) * unit;
          assert.ok(rest >= 0n && rest < unit);
        },
      ),
    );
  });
});

test('the reference of a deposit names its place', () => {
  const reference = chainReference({ chain: 'bsc', tx_hash: '0xab', log_position: 3 });
  assert.equal(reference, 'chain:bsc:0xab:3');
});
