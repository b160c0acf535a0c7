import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headerValues } from './headers.ts';

const raw = ['Host', 'a', 'X-One', '1', 'x-one', '2', 'X-ONES', '3', 'Authorization', 'Key k'];

test('every value of a header is there, whatever its case, and no other header', () => {
  assert.deepEqual(headerValues(raw, 'x-one'), ['1', '2']);
  assert.deepEqual(headerValues(raw, 'authorization'), ['Key k']);
  assert.deepEqual(headerValues(raw, 'x-two'), []);
});
