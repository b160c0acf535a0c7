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
