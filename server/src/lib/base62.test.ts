import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { encodeBase62, randomBase62 } from './base62.ts';

describe('randomBase62', () => {
  test('every one of the 62 characters comes from equally many bytes', () => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
    const counts = new Map<string, number>();
    for (const char of randomBase62(248, () => bytes))
      counts.set(char, (counts.get(char) ?? 0) + 1);
    assert.equal(counts.size, 62);
    assert.deepEqual(new Set(counts.values()), new Set([4]));
  });

  test('asks again for what it had to throw away, and for no more', () => {
    const asked: number[] = [];
    const text = randomBase62(4, (bytes) => {
      asked.push(bytes);
      return asked.length === 1 ? Buffer.from([255, 0, 248, 61]) : Buffer.alloc(bytes, 10);
    });
    assert.equal(text, '0zAA');
    assert.deepEqual(asked, [4, 2]);
  });
});

describe('encodeBase62', () => {
  const cases: [value: number, width: number, text: string][] = [
    [0, 6, '000000'],
    [61, 2, '0z'],
    [62, 2, '10'],
    [3843, 2, 'zz'],
    [4_294_967_295, 6, '4gfFC3'],
  ];
  for (const [value, width, text] of cases) {
    test(`${value} is ${text}`, () => assert.equal(encodeBase62(value, width), text));
  }

  test('refuses what does not fit and what is no whole number', () => {
    for (const value of [3844, -1, 1.5, NaN, 2 ** 53]) {
      assert.throws(() => encodeBase62(value, 2), RangeError);
    }
  });
});
