import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff } from './backoff.ts';

test('a step that fails again and again is tried less and less often, up to a minute', () => {
  const backoff = new Backoff(2);
  const waits = Array.from({ length: 8 }, () => backoff.failed('a'));
  assert.deepEqual(waits, [2, 4, 8, 16, 32, 60, 60, 60]);
  assert.equal(backoff.failed('b'), 2, 'each by itself');
  backoff.succeeded('a');
  assert.equal(backoff.failed('a'), 2, 'anew after one that went well');
});

test('the log hears of an upstream at once, and then not of each', () => {
  const backoff = new Backoff(2);
  assert.equal(backoff.logDue('fal'), 1);
  assert.equal(backoff.logDue('fal'), null);
  assert.equal(backoff.logDue('replicate'), 1);
});
