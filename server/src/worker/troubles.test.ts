import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Troubles } from './troubles.ts';

test('a step that fails again and again is tried less and less often, up to a minute', () => {
  const troubles = new Troubles(2);
  const waits = Array.from({ length: 8 }, () => troubles.failed('a'));
  assert.deepEqual(waits, [2, 4, 8, 16, 32, 60, 60, 60]);
  assert.equal(troubles.failed('b'), 2, 'each by itself');
  troubles.went('a');
  assert.equal(troubles.failed('a'), 2, 'anew after one that went well');
});

test('the log hears of an upstream at once, and then not of each', () => {
  const troubles = new Troubles(2);
  assert.equal(troubles.tell('fal'), 1);
  assert.equal(troubles.tell('fal'), null);
  assert.equal(troubles.tell('replicate'), 1);
});
