import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FareboxError } from './error.ts';
import { formatUsd, parseUsd, withAmounts } from './money.ts';

test('amounts are written exactly, and read back', () => {
  const written: [bigint, string][] = [
    [0n, '$0.00'],
    [1n, '$0.000001'],
    [125n, '$0.000125'],
    [50_000n, '$0.05'],
    [39_000n, '$0.039'],
    [1_000_000n, '$1.00'],
    [1_500_000n, '$1.50'],
    [123_456_789_012n, '$123456.789012'],
    [9_007_199_254_740_993_000_001n, '$9007199254740993.000001'],
  ];
  for (const [micro, text] of written) {
    assert.equal(formatUsd(micro), text);
    assert.equal(parseUsd(text), micro);
    if (micro > 0n) {
      assert.equal(formatUsd(-micro), `-${text}`);
      assert.equal(parseUsd(`-${text}`), -micro);
    }
  }
});

test('amounts are read as people write them, and nothing else is', () => {
  assert.equal(parseUsd(' 5 '), 5_000_000n);
  assert.equal(parseUsd('$1,234,567.5'), 1_234_567_500_000n);
  for (const text of [
    '',
    '$',
    '.5',
    '1.',
    '1.0000001',
    '1e3',
    '1,23',
    '0x1',
    '1 000',
    'NaN',
    '--1',
  ])
    assert.throws(() => parseUsd(text), { code: 'bad_argument' }, text);
});

test('amounts of the service become bigint, those of a model stay', () => {
  const foreign = { a_usd_micro: '1', deep: [{ b_usd_micro: '2' }] };
  const value = {
    quoted_usd_micro: '9007199254740993',
    charged_usd_micro: null,
    by_resolution_usd_micro: { '1k': '3' },
    list: [{ amount_usd_micro: '4', label: '5' }],
    input: foreign,
    input_schema: foreign,
    example: foreign,
    assumptions: foreign,
  };
  assert.deepEqual(withAmounts(structuredClone(value)), {
    ...value,
    quoted_usd_micro: 9_007_199_254_740_993n,
    by_resolution_usd_micro: { '1k': 3n },
    list: [{ amount_usd_micro: 4n, label: '5' }],
  });
});

describe('what the service said, as JSON', () => {
  const said = {
    available_usd_micro: '12345678901234567890',
    key: { name: 'k', limit_usd_micro: null, spent_usd_micro: '7' },
    unit_price_by_resolution_usd_micro: { '1k': '5' },
    breakdown: [{ label: 'x', amount_usd_micro: '1' }],
  };
  const read = () => withAmounts<any>(structuredClone(said));

  test('has its amounts as they came, alone and inside other things', () => {
    assert.equal(read().available_usd_micro, 12345678901234567890n);
    assert.deepEqual(JSON.parse(JSON.stringify(read())), said);
    assert.deepEqual(JSON.parse(JSON.stringify({ of: [read().key] })), { of: [said.key] });
  });

  test('shows no trace of that', () => {
    assert.deepEqual(Object.keys(read()), Object.keys(said));
    assert.deepEqual({ ...read().key }, { name: 'k', limit_usd_micro: null, spent_usd_micro: 7n });
    assert.deepEqual(structuredClone(read()).key.spent_usd_micro, 7n);
  });

  test('of an error has its figures', () => {
    const details = { price_usd_micro: 5n, max_usd_micro: 4n };
    const error = new FareboxError('price_above_limit', 'x', { details });
    assert.equal(JSON.parse(JSON.stringify(error)).details.price_usd_micro, '5');
  });
});
