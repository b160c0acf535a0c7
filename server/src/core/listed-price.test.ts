import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PriceRules } from './catalog.ts';
import { isComparable, lossAt, type ListedPrice } from './listed-price.ts';
import { parseDecimal, parseUsd } from './money.ts';

const rules = (more: Partial<PriceRules>): PriceRules => ({
  unit: 'sec',
  extras: [],
  max: 0,
  resolutions: [],
  ...more,
});
const listed = (unit: ListedPrice['unit'], usd: string, output?: string): ListedPrice => ({
  unit,
  counted: 'things',
  cost: micro(usd),
  cost_output: output === undefined ? null : micro(output),
});

function micro(usd: string) {
  const { n, d } = parseDecimal(usd);
  return { n: n * 1_000_000n, d };
}

test('a price at the cost is no loss, and one below it is, to the last decimal', () => {
  const sold = rules({ unit_price_usd_micro: parseUsd('0.05') });
  assert.equal(lossAt(sold, listed('sec', '0.05')), null);
  assert.equal(lossAt(sold, listed('sec', '0.04')), null);
  const words = 'it is sold for 0.05 USD a second, and its upstream asks for 0.050001 USD';
  assert.equal(lossAt(sold, listed('sec', '0.0500000001')), words);
});

test('of several resolutions the cheapest is looked at', () => {
  const by_resolution = { '480p': parseUsd('0.02'), '720p': parseUsd('0.08') };
  const sold = rules({ by_resolution, unit_price_usd_micro: parseUsd('0.09') });
  assert.match(lossAt(sold, listed('sec', '0.03'))!, /sold for 0\.02 USD a second/);
  assert.equal(lossAt(sold, listed('sec', '0.02')), null);
});

test('prompt and completion tokens are looked at each', () => {
  const sold = rules({ unit: '1M tokens', input_usd_micro: 100n, output_usd_micro: 400n });
  assert.equal(lossAt(sold, listed('1M tokens', '0.0001', '0.0004')), null);
  assert.match(lossAt(sold, listed('1M tokens', '0.00011', '0.0004'))!, /prompt tokens/);
  assert.match(lossAt(sold, listed('1M tokens', '0.0001', '0.00041'))!, /completion tokens/);
});

test('what counts something else is not compared, but a megapixel is the least of an image', () => {
  const image = rules({ unit: 'image', unit_price_usd_micro: parseUsd('0.03') });
  assert.equal(isComparable(image, listed('sec', '1')), false);
  assert.equal(isComparable(image, listed(null, '1')), false);
  assert.equal(isComparable(image, listed('MP', '1')), true);
  assert.equal(lossAt(image, listed('MP', '0.025')), null);
  assert.match(lossAt(image, listed('MP', '0.04'))!, /an image/);
});
