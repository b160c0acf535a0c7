import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pauseAfter } from './fleet.ts';

test('a process is started again at once, after repeated ends later and later', () => {
  const pauses = [1, 2, 3, 4, 5, 6, 7, 50].map(pauseAfter);
  assert.deepEqual(pauses, [0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});
