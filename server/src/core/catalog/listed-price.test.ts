import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Model, ModelUpstream, PriceRules } from './catalog.ts';
import { isComparable, lossAt, statedLosses, type ListedPrice } from './listed-price.ts';
import { parseDecimal, parseUsd } from '../price/money.ts';

const rules = (more: Partial<PriceRules>): PriceRules => ({
  unit: 'sec',
  extras: [],
  max: 0,
  resolutions: [],
  ...more,
});
const listed = (unit: ListedPrice['unit'], usd: string, output?: string): ListedPrice => ({
  unit,
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

const stating = (price: PriceRules, ...routes: Partial<ModelUpstream>[]) => {
  const none = { cost_usd_micro: null, cost_output_usd_micro: null };
  const upstreams = routes.map((route, i) => ({ ...none, upstream: `u${i}`, ...route }));
  const input_schema = { properties: { many: { maxItems: 8 } } };
  return statedLosses({ price, upstreams, input_schema } as unknown as Model);
};

test('a row is sold below the cost that it states, at whichever of its upstreams', () => {
  const sold = rules({ unit: 'image', unit_price_usd_micro: parseUsd('0.003') });
  const cost = (usd: string) => ({ cost_usd_micro: parseUsd(usd) });
  assert.deepEqual(stating(sold, cost('0.003'), {}, cost('0.02')), [
    'it is sold for 0.003 USD an image, and its stated cost at u2 is 0.02 USD',
  ]);
});

test('cached prompt tokens are compared with their own costs', () => {
  const input_usd_micro = parseUsd('2');
  const sold = rules({ unit: '1M tokens', input_usd_micro, output_usd_micro: parseUsd('8') });
  const cost = { cost_usd_micro: parseUsd('1'), cost_output_usd_micro: parseUsd('4') };
  const cached = { ...sold, cached_input_usd_micro: parseUsd('0.2') };
  assert.deepEqual(stating(sold, cost), []);
  assert.deepEqual(stating(cached, { ...cost, cost_cached_input_usd_micro: parseUsd('0.1') }), []);
  assert.deepEqual(stating(cached, cost), [
    'it is sold for 0.2 USD a million prompt tokens read from the cache, and its stated cost at u0 is 1 USD',
  ]);
  assert.deepEqual(stating(sold, { ...cost, cost_cache_write_usd_micro: parseUsd('2.5') }), [
    'it is sold for 2 USD a million prompt tokens written to the cache, and its stated cost at u0 is 2.5 USD',
  ]);
});

test('a stated cost has the dearest extras counted in, and so has what it is compared with', () => {
  const adding = (field: string, equals: string, usd: string) => {
    const add_usd_micro = parseUsd(usd);
    return { kind: 'when', field, equals, add_usd_micro, label: equals } as const;
  };
  const extras = [
    adding('quality', 'medium', '0.04'),
    adding('quality', 'high', '0.2'),
    adding('sound', 'yes', '0.01'),
  ];
  const sold = rules({ unit: 'image', unit_price_usd_micro: parseUsd('0.02'), extras });
  assert.deepEqual(stating(sold, { cost_usd_micro: parseUsd('0.23') }), []);
  assert.deepEqual(stating(sold, { cost_usd_micro: parseUsd('0.24') }), [
    'it is sold for 0.23 USD an image with all extras, and its stated cost at u0 is 0.24 USD',
  ]);
  const each = { kind: 'per_item', free: 1, add_usd_micro: 10_000n, label: 'each' } as const;
  sold.extras = [
    { ...each, field: 'many' },
    { ...each, field: 'any' },
  ];
  assert.deepEqual(stating(sold, { cost_usd_micro: parseUsd('0.1') }), []);
  assert.match(stating(sold, { cost_usd_micro: parseUsd('0.11') })[0]!, /sold for 0\.1 USD/);
});

test('where extras state costs, a plain unit and one with all extras are compared each', () => {
  const label = 'with sound';
  const adds = { add_usd_micro: parseUsd('0.07'), cost_usd_micro: parseUsd('0.07'), label };
  const extras = [{ kind: 'when', field: 'sound', equals: true, ...adds } as const];
  const sold = rules({ unit_price_usd_micro: parseUsd('0.084'), extras });
  assert.deepEqual(stating(sold, { cost_usd_micro: parseUsd('0.07') }), []);
  assert.deepEqual(stating(sold, { cost_usd_micro: parseUsd('0.085') }), [
    'it is sold for 0.084 USD a second, and its stated cost at u0 is 0.085 USD',
    'it is sold for 0.154 USD a second with all extras, and its stated cost at u0 is 0.155 USD',
  ]);
});

test('each resolution has a price and a cost of its own, and each sort of tokens', () => {
  const by_resolution = { '480p': parseUsd('0.02'), '720p': parseUsd('0.08') };
  const cost_by_resolution = { '480p': parseUsd('0.01'), '720p': parseUsd('0.09') };
  const route = { cost_usd_micro: parseUsd('0.09'), cost_by_resolution };
  assert.deepEqual(stating(rules({ by_resolution }), route), [
    'it is sold for 0.08 USD a second at 720p, and its stated cost at u0 is 0.09 USD',
  ]);
  const talk = rules({ unit: '1M tokens', input_usd_micro: 100n, output_usd_micro: 400n });
  const costs = { cost_usd_micro: 100n, cost_output_usd_micro: 401n };
  assert.deepEqual(
    stating(talk, costs, { cost_usd_micro: 101n }).map(
      (loss) => /(prompt|completion).*u\d/.exec(loss)?.[0],
    ),
    ['completion tokens, and its stated cost at u0', 'prompt tokens, and its stated cost at u1'],
  );
});
