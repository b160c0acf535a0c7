import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isBase64 } from './base64.ts';

test('what bytes become is base64, with its padding and without', () => {
  const property = fc.property(fc.uint8Array({ minLength: 1, maxLength: 50 }), (bytes) => {
    const text = Buffer.from(bytes).toString('base64');
    return isBase64(text) && isBase64(text.replaceAll('=', ''));
  });
  fc.assert(property);
});

for (const text of ['', '=', '====', 'A', 'A===', 'AAAAA', 'AA=', 'AA=A', 'AAA==', 'AA==AAAA']) {
  test(`"${text}" is none`, () => assert.equal(isBase64(text), false));
}

for (const text of ['AA AA', 'AAA\n', 'AA-_', 'AAA,', 'data:;base64,AAAA', 'ÄÄÄÄ', '\0AAA']) {
  test(`${JSON.stringify(text)} is none`, () => assert.equal(isBase64(text), false));
}

test('one digit that is none is found at the end of megabytes', () => {
  const long = 'A'.repeat(8 * 1024 * 1024);
  assert.equal(isBase64(long), true);
  assert.equal(isBase64(`${long.slice(1)}!`), false);
});

for (const odd of ['-', '_', '=', ' ', '\n', '!', 'Ä', 'Ł', '\0'])
  test(`${JSON.stringify(odd)} is found wherever it is in a long text`, () => {
    for (const length of [131_072, 131_076, 200_000])
      for (const at of [0, 65_535, 65_536, 131_071]) {
        const text = 'A'.repeat(length);
        assert.equal(isBase64(text), true);
        const bad = text.slice(0, at) + odd + text.slice(at + 1);
        // At the very end a sign of padding is right.
        assert.equal(isBase64(bad), odd === '=' && at === length - 1, `${at} of ${length}`);
      }
  });
