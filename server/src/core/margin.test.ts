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

const seen = (...args: Parameters<typeof ratesOf>) =>
  ratesOf(...args).map(({ resolution, price, cost, margin }) => [resolution, price, cost, margin]);

test('rates are those of each resolution, or the one that there is', () => {
  const one = { ...base, unit_price_usd_micro: 7n };
  assert.deepEqual(seen(one, costs(2n)), [[null, 7n, 2n, 5n]]);
  const two = { ...base, by_resolution: { '1k': 1n, '2k': 2n } };
  assert.deepEqual(seen(two, costs(null)), [
    ['1k', 1n, null, null],
    ['2k', 2n, null, null],
  ]);
  assert.deepEqual(seen({ ...base, unit: '1M tokens', input_usd_micro: 1n }, costs(1n)), []);
});

test('each resolution is set against its own cost, the dearest price against that of its own', () => {
  const rules = { ...base, by_resolution: { '1k': 96n, '4k': 192n } };
  const route = { ...costs(160n), cost_by_resolution: { '1k': 80n, '4k': 150n } };
  assert.deepEqual(seen(rules, route), [
    ['1k', 96n, 80n, 16n],
    ['4k', 192n, 150n, 42n],
  ]);
  assert.equal(marginsOf(rules, route)[0]!.cost, 150n);
});
