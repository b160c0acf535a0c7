import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDecimal } from '../../server/src/core/price/money.ts';
import { mediaRow, plain } from './row.ts';
import type { Offer, Row, Terms } from './vendor.ts';

const micro = (usd: string) => {
  const { n, d } = parseDecimal(usd);
  return { n: n * 1_000_000n, d };
};

const terms: Terms = {
  margin: parseDecimal('20'),
  price: null,
  source: 'its list, 2026-11-21',
  day: '2026-11-21',
};

const image = (usd: string | null, more: Partial<Offer> = {}): Offer => ({
  model: 'maker/brush',
  id: 'maker/brush',
  name: 'Brush',
  description: '',
  kind: 'image',
  task: 'text-to-image',
  input_schema: { required: ['prompt'], properties: { prompt: { type: 'string' } } },
  price: usd === null ? null : { unit: 'image', cost: micro(usd), cost_output: null },
  counted: 'images',
  ...more,
});

function made(offer: Offer, more: Partial<Terms> = {}): Row {
  const found = mediaRow(offer, { ...terms, ...more });
  if (!('row' in found)) assert.fail(found.reason);
  return found.row;
}

function refused(offer: Offer): string {
  const found = mediaRow(offer, terms);
  return 'reason' in found ? found.reason : assert.fail('a row was made');
}

test('money is exact, and rounded up once', () => {
  const cases: [cost: string, margin: string, cost_usd: string, price: string][] = [
    ['0.025', '20', '0.025', '0.03'],
    // In floats 0.07 * 1.1 is 0.07700000000000001.
    ['0.07', '10', '0.07', '0.077'],
    ['0.0000001', '20', '0.000001', '0.000001'],
    ['0.0000009', '20', '0.000001', '0.000002'],
    ['0.1', '0', '0.1', '0.1'],
    ['0.1', '12.5', '0.1', '0.1125'],
  ];
  for (const [cost, margin, cost_usd, usd] of cases) {
    const { row } = made(image(cost), { margin: parseDecimal(margin) });
    assert.deepEqual([row.cost_usd, row.price], [cost_usd, { unit: 'image', usd }], cost);
  }
});

test('without a listed price the given one is taken, or the row waits for one', () => {
  const given = made(image(null), { price: 60_000n });
  assert.deepEqual([given.unpriced, given.row.price], [false, { unit: 'image', usd: '0.06' }]);
  assert.equal(given.row.cost_usd, undefined);
  assert.equal(made(image(null)).unpriced, true);
  const video = image(null, { kind: 'video', task: 'text-to-video' });
  assert.equal((made(video, { price: 1n }).row.price as { unit: string }).unit, 'request');
});

test('a price that no row can have is named', () => {
  const counted = (unit: 'sec' | null) => ({
    price: { unit, cost: micro('1'), cost_output: null },
    counted: 'GPU\nseconds',
  });
  assert.match(refused(image('1', counted(null))), /by GPU seconds, a unit that rows do not have/);
  assert.match(refused(image('1', counted('sec'))), /by GPU seconds, a unit that rows do not have/);
  assert.match(refused(image('0')), /listed as 0/);
});

test('a text from outside stays on its line', () => {
  assert.equal(plain('a\u0000b\r\n# c\u2028d\ud800', 50), 'a b # c d\ufffd');
  assert.equal(plain('abcdef', 4), 'abc…');
});
