import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PriceRules } from './catalog.ts';
import { marginsOf, ratesOf } from './margin.ts';

const base: PriceRules = { unit: 'image', extras: [], max: 0, resolutions: [] };
const costs = (cost: bigint | null, output: bigint | null = null) => {
  return { cost_usd_micro: cost, cost_output_usd_micro: output };
};

const cases: [what: string, rules: PriceRules, cost: bigint | null, expected: unknown][] = [
  [
    'what is left of the price',
    { ...base, unit_price_usd_micro: 12_000n },
    10_000n,
    [12_000n, 10_000n, 2_000n, 166_666],
  ],
  [
    'a loss is below zero',
    { ...base, unit_price_usd_micro: 10_000n },
    15_000n,
    [10_000n, 15_000n, -5_000n, -500_000],
  ],
  [
    'an unknown cost makes no margin, not a whole one',
    { ...base, unit_price_usd_micro: 10_000n },
    null,
    [10_000n, null, null, null],
  ],
  [
    'a price of nothing has no percentage',
    { ...base, unit_price_usd_micro: 0n },
    5n,
    [0n, 5n, -5n, null],
  ],
  [
    'of several prices the highest counts',
    { ...base, unit: 'sec', by_resolution: { '480p': 50_000n, '720p': 100_000n } },
    20_000n,
    [100_000n, 20_000n, 80_000n, 800_000],
  ],
];

for (const [what, rules, cost, expected] of cases) {
  test(what, () => {
    const [found] = marginsOf(rules, costs(cost));
    const { price, cost: told, margin, margin_ppm } = found!;
    assert.deepEqual([price, told, margin, margin_ppm], expected);
  });
}

test('of text both sorts of tokens have a margin; one cost may stand for both', () => {
  const rules: PriceRules = {
    ...base,
    unit: '1M tokens',
    input_usd_micro: 4n,
    output_usd_micro: 8n,
  };
  assert.deepEqual(
    marginsOf(rules, costs(1n, 2n)).map(({ of, margin }) => [of, margin]),
    [
      ['input', 3n],
      ['output', 6n],
    ],
  );
  assert.equal(marginsOf(rules, costs(1n))[1]!.margin, 7n);
});

test('rates are those of each resolution, or the one that there is', () => {
  const one = { ...base, unit_price_usd_micro: 7n };
  assert.deepEqual(ratesOf(one), [{ resolution: null, price: 7n }]);
  const two = { ...base, by_resolution: { '1k': 1n, '2k': 2n } };
  assert.deepEqual(ratesOf(two), [
    { resolution: '1k', price: 1n },
    { resolution: '2k', price: 2n },
  ]);
  assert.deepEqual(ratesOf({ ...base, unit: '1M tokens', input_usd_micro: 1n }), []);
});
