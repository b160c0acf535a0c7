import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  columnMax,
  divideUp,
  formatUsd,
  fractionOf,
  parseUsd,
  shareOut,
  toUsdNumber,
} from './money.ts';

describe('parseUsd', () => {
  const good: [string, bigint][] = [
    ['0', 0n],
    ['0.000001', 1n],
    ['0.0125', 12_500n],
    ['0.10', 100_000n],
    ['1', 1_000_000n],
    ['1.005', 1_005_000n],
    ['123456.654321', 123_456_654_321n],
    ['9223372036854.775807', columnMax],
  ];
  for (const [text, micro] of good) {
    test(`reads ${text} exactly`, () => assert.equal(parseUsd(text), micro));
  }

  const bad: unknown[] = [
    '',
    ' ',
    '1 ',
    ' 1',
    '+1',
    '-1',
    '-0',
    '.5',
    '5.',
    '01',
    '00.1',
    '1e3',
    '1E-2',
    '0x10',
    '1,5',
    '1_000',
    '0.0000001',
    '1.0000000',
    'NaN',
    'Infinity',
    '١',
    '１',
    '$1',
    '1\n',
    '9223372036854.775808',
    '99999999999999',
    1,
    0.5,
    1n,
    null,
    undefined,
    true,
    ['1'],
    {},
  ];
  for (const text of bad) {
    test(`refuses ${typeof text} ${String(text).replace('\n', '\\n')}`, () => {
      assert.throws(() => parseUsd(text as string), RangeError);
    });
  }
});

describe('formatUsd', () => {
  const table: [bigint, string][] = [
    [0n, '0'],
    [1n, '0.000001'],
    [12_500n, '0.0125'],
    [1_000_000n, '1'],
    [10_000_000n, '10'],
    [1_500_000n, '1.5'],
    [-12_500n, '-0.0125'],
    [-1_000_000n, '-1'],
    [columnMax, '9223372036854.775807'],
  ];
  for (const [micro, text] of table) {
    test(`writes ${micro} as ${text}`, () => assert.equal(formatUsd(micro), text));
  }

  test('is undone by parseUsd for every amount a column holds', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, columnMax), (micro) => {
        assert.equal(parseUsd(formatUsd(micro)), micro);
      }),
    );
  });
});

test('toUsdNumber gives the number a person would write', () => {
  assert.equal(toUsdNumber(12_500n), 0.0125);
  assert.equal(toUsdNumber(1_005_000n), 1.005);
  assert.equal(toUsdNumber(100_000n), 0.1);
  assert.equal(toUsdNumber(0n), 0);
});

describe('fractionOf', () => {
  const table: [number, bigint, bigint][] = [
    [0, 0n, 1n],
    [5, 5n, 1n],
    [0.1, 1n, 10n],
    [4.2, 42n, 10n],
    [4.9999999, 49_999_999n, 10_000_000n],
    [1e-7, 1n, 10n ** 7n],
    [1.5e-7, 15n, 10n ** 8n],
    [5e-324, 5n, 10n ** 324n],
    [1e21, 10n ** 21n, 1n],
    [1.25e22, 125n * 10n ** 20n, 1n],
    [2 ** 53, 9_007_199_254_740_992n, 1n],
  ];
  for (const [value, n, d] of table) {
    test(`${value} is exact`, () => assert.deepEqual(fractionOf(value), { n, d }));
  }

  test('takes 0 for -0', () => assert.deepEqual(fractionOf(-0), { n: 0n, d: 1n }));

  for (const value of [NaN, Infinity, -Infinity, -1, -0.5, -1e-320]) {
    test(`refuses ${value}`, () => assert.throws(() => fractionOf(value), RangeError));
  }

  test('reads back as the same number, whatever the number', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }), (value) => {
        const { n, d } = fractionOf(value);
        assert.equal(Number(`${n}e-${String(d).length - 1}`), value);
      }),
    );
  });
});

describe('rounding', () => {
  test('divideUp goes up by at most one and never down', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 10n ** 30n), fc.bigInt(1n, 10n ** 12n), (n, d) => {
        const up = divideUp(n, d);
        assert.ok(up * d >= n && up * d < n + d);
      }),
    );
  });

  test('shareOut rounds the sum once, and its parts add up to it', () => {
    const parts = fc.array(fc.bigInt(0n, 10n ** 15n), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(parts, fc.constantFrom(1n, 10n, 1000n, 10n ** 6n), (numerators, d) => {
        const shares = shareOut(numerators, d);
        const sum = numerators.reduce((a, b) => a + b);
        assert.equal(
          shares.reduce((a, b) => a + b),
          divideUp(sum, d),
        );
        for (const share of shares) assert.ok(share >= 0n);
      }),
    );
  });

  test('three parts of a third of a micro-USD cost one micro-USD, not three', () => {
    assert.deepEqual(shareOut([3n, 3n, 4n], 10n), [1n, 0n, 0n]);
  });
});
