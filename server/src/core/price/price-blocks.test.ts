import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { PriceRules } from '../catalog/catalog.ts';
import { charge, chargedQuantity, price } from './price.ts';
import type { PricingRow } from './priced-fields.ts';
import { quoteFromJson, quoteToJson, shownQuote } from './quote-json.ts';

/** Quantities in begun blocks, at the row’s max, and as asked. */

const rowOf = (rules: Partial<PriceRules>, max_unit = 'seconds'): PricingRow => ({
  kind: rules.unit === 'MP' ? 'image' : 'video',
  price: {
    unit: 'sec',
    unit_price_usd_micro: 16_800n,
    extras: [],
    max: 60,
    resolutions: [],
    ...rules,
  },
  max_unit,
});

describe('step: begun blocks count as whole', () => {
  const row = rowOf({ step: 5 });
  const cases: [asked: number, delivered: number | undefined, quoted: bigint, charged: bigint][] = [
    [60, undefined, 1_008_000n, 1_008_000n],
    [60, 2.1, 1_008_000n, 84_000n],
    [60, 5, 1_008_000n, 84_000n],
    [60, 5.001, 1_008_000n, 168_000n],
    [60, 61, 1_008_000n, 1_008_000n],
    [3, undefined, 84_000n, 84_000n],
    [60, 0, 1_008_000n, 0n],
  ];
  for (const [duration_seconds, quantity, quoted, charged] of cases) {
    test(`${duration_seconds} s asked, ${quantity ?? 'as many'} delivered`, () => {
      const quote = price(row, { duration_seconds });
      assert.equal(quote.price_usd_micro, quoted);
      assert.equal(quote.quantity % 5, 0);
      const kept = quoteFromJson(quoteToJson(quote));
      assert.equal(charge(kept, quantity === undefined ? {} : { quantity }), charged);
    });
  }
});

describe('charged: asked', () => {
  const quote = price(rowOf({ charged: 'asked', max: 30 }), { duration_seconds: 30 });

  test('a shorter delivery costs what was asked for, and is booked so', () => {
    assert.equal(charge(quote, { quantity: 1 }), quote.price_usd_micro);
    assert.equal(chargedQuantity(quoteFromJson(quoteToJson(quote)), 1), 30);
  });

  test('the quote that callers see does not have it', () => {
    const shown = shownQuote(quoteToJson(quote));
    assert.ok(!('charged' in shown) && !('step' in shown));
  });
});

describe('reserve: max', () => {
  const row = rowOf(
    { unit: 'MP', unit_price_usd_micro: 1_200n, max: 142, reserve: 'max' },
    'megapixels',
  );

  // A size that the model does not take must not make a large picture cheap.
  for (const input of [{}, { image_size: '8x8' }, { width: 8, height: 8 }]) {
    test(`the size of ${JSON.stringify(input)} decides nothing`, () => {
      const quote = price(row, input);
      assert.equal(quote.price_usd_micro, 170_400n);
      assert.deepEqual(quote.assumptions, { megapixels: 142 });
      assert.equal(charge(quote, { quantity: 8.3 }), 9_960n);
      assert.equal(charge(quote, { quantity: 1_000 }), 170_400n);
    });
  }
});
