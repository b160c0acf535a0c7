import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Extra, PriceRules } from './catalog.ts';
import { marginsOf, ratesOf } from './margin.ts';

const base: PriceRules = { unit: 'image', extras: [], max: 0, resolutions: [] };
const row = (price: PriceRules) => ({
  price,
  input_schema: { properties: { pictures: { maxItems: 8 } } },
});
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
    const [found] = marginsOf(row(rules), costs(cost));
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
    marginsOf(row(rules), costs(1n, 2n)).map(({ of, margin }) => [of, margin]),
    [
      ['input', 3n],
      ['output', 6n],
    ],
  );
  assert.equal(marginsOf(row(rules), costs(1n))[1]!.margin, 7n);
});

const seen = (price: PriceRules, route: Parameters<typeof ratesOf>[1]) =>
  ratesOf(row(price), route).map((rate) => [rate.resolution, rate.price, rate.cost, rate.margin]);

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
  assert.equal(marginsOf(row(rules), route)[0]!.cost, 150n);
});

const quality = (equals: string, add: bigint, cost?: bigint): Extra => ({
  kind: 'when',
  field: 'quality',
  equals,
  add_usd_micro: add,
  ...(cost !== undefined && { cost_usd_micro: cost }),
  label: equals,
});
const looked = (add: bigint, cost?: bigint): Extra => ({
  kind: 'per_item',
  field: 'pictures',
  free: 0,
  add_usd_micro: add,
  ...(cost !== undefined && { cost_usd_micro: cost }),
  label: 'each picture',
});
const withExtras = (...extras: Extra[]): PriceRules => ({
  ...base,
  unit_price_usd_micro: 20n,
  extras,
});
const compared = (rules: PriceRules, cost: bigint | null) =>
  marginsOf(row(rules), costs(cost)).map(({ of, price, cost: told, margin }) => [
    of,
    price,
    told,
    margin,
  ]);

test('a plain unit is compared with its own cost, the most costly choice with that of it', () => {
  const stated = withExtras(
    quality('medium', 45n, 38n),
    quality('high', 224n, 187n),
    looked(10n, 8n),
  );
  assert.deepEqual(compared(stated, 18n), [
    ['unit', 20n, 18n, 2n],
    ['with_extras', 20n + 224n + 80n, 18n + 187n + 64n, 55n],
  ]);
});

test('where extras state no cost, the row’s is that of the most costly choice: no false loss', () => {
  assert.deepEqual(compared(withExtras(quality('high', 224n)), 205n), [
    ['unit', 20n, null, null],
    ['with_extras', 244n, 205n, 39n],
  ]);
});

test('an unknown cost stays unknown with extras', () => {
  assert.deepEqual(compared(withExtras(looked(10n, 8n)), null), [
    ['unit', 20n, null, null],
    ['with_extras', 100n, null, null],
  ]);
});
