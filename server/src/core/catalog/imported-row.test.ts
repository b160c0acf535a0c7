import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importRow, plain, type ImportTerms } from './imported-row.ts';
import { parseDecimal } from '../price/money.ts';
import type { ChatOffer, MediaOffer } from './offer.ts';

const micro = (usd: string) => {
  const { n, d } = parseDecimal(usd);
  return { n: n * 1_000_000n, d };
};

const terms: ImportTerms = {
  upstream: 'there',
  prefix: '',
  margin: parseDecimal('20'),
  price: null,
  source: 'its list, 2026-11-21',
  day: '2026-11-21',
};

const image = (usd: string | null, more: Partial<MediaOffer> = {}): MediaOffer => ({
  model: 'maker/brush',
  id: 'maker/brush',
  name: 'Brush',
  description: '',
  kind: 'image',
  task: 'text-to-image',
  input_schema: { required: ['prompt'], properties: { prompt: { type: 'string' } } },
  price:
    usd === null ? null : { unit: 'image', counted: 'images', cost: micro(usd), cost_output: null },
  ...more,
});

const chat = (more: Partial<ChatOffer> = {}): ChatOffer => ({
  model: 'maker/talk:free',
  id: 'maker/talk-free',
  name: 'Talk',
  description: '',
  kind: 'text',
  context_tokens: 8192,
  is_cut: false,
  max_output_tokens: 4096,
  notes: [],
  price: { unit: '1M tokens', counted: 'tokens', cost: micro('0.1'), cost_output: micro('0.3') },
  ...more,
});

function made(offer: MediaOffer | ChatOffer, more: Partial<ImportTerms> = {}) {
  const row = importRow(offer, { ...terms, ...more });
  if (typeof row === 'string') assert.fail(row);
  return row;
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

test('a chat row that ends before its model refuses longer prompts', () => {
  assert.equal(made(chat({ is_cut: true })).row.refuse_longer_prompts, true);
  assert.equal('refuse_longer_prompts' in made(chat()).row, false);
});

test('chat has a price for either side, and its own name behind an id of ours', () => {
  const { row } = made(chat(), { prefix: 'router/' });
  assert.equal(row.id, 'router/maker/talk-free');
  assert.equal(row.upstream_model, 'maker/talk:free');
  assert.equal(row.checked_on, '2026-11-21');
  assert.deepEqual(row.price, { unit: '1M tokens', input_usd: '0.12', output_usd: '0.36' });
});

test('without a price told, the given one stands, or the row waits for one', () => {
  const given = made(image(null), { price: 60_000n });
  assert.deepEqual([given.unpriced, given.row.price], [false, { unit: 'image', usd: '0.06' }]);
  assert.equal(given.row.cost_usd, undefined);
  assert.equal(made(image(null)).unpriced, true);
  const film = image(null, { kind: 'video', task: 'text-to-video' });
  assert.equal((made(film, { price: 1n }).row.price as { unit: string }).unit, 'request');
});

test('what no row can be priced by, and what no row can be, is said', () => {
  const counted = (unit: 'sec' | null) => ({
    unit,
    counted: 'GPU\nseconds',
    cost: micro('1'),
    cost_output: null,
  });
  assert.match(
    String(importRow(image('1', { price: counted(null) }), terms)),
    /by GPU seconds, by/,
  );
  assert.match(String(importRow(image('1', { price: counted('sec') }), terms)), /by which no row/);
  assert.match(String(importRow(chat({ price: null }), terms)), /no price is told/);
  assert.match(String(importRow(image('0'), terms)), /told as 0/);
  assert.match(String(importRow(image('1', { id: '../../x' }), terms)), /cannot be an id/);
  assert.match(
    String(importRow(chat({ max_output_tokens: 0 }), terms)),
    /^no row came of it: .*max/,
  );
});

test('a text from outside stays on its line', () => {
  assert.equal(plain('a\u0000b\r\n# c\u2028d\ud800', 50), 'a b # c d\ufffd');
  assert.equal(plain('abcdef', 4), 'abc…');
});
