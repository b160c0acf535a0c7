import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countLostStarts } from './lost-starts.ts';

const first = { upstream: 'a', model: 'm' };
const second = { upstream: 'b', model: 'm' };

test('a route is tried last from the third lost start on, for so long, and then once more', () => {
  let now = 0;
  const starts = countLostStarts({ threshold: 3, seconds: 30 }, () => now);
  const isLast = () => starts.isLast('one', first);
  for (const expected of [false, false, true]) {
    starts.noteLost('one', first);
    assert.equal(isLast(), expected);
  }
  assert.equal(starts.isLast('one', second), false, 'another route');
  assert.equal(starts.isLast('two', first), false, 'another account');
  now = 29_999;
  assert.equal(isLast(), true);
  now = 30_000;
  assert.equal(isLast(), false);
  starts.noteLost('one', first);
  assert.equal(isLast(), true, 'one more is enough');
  starts.noteAnswer('one', first);
  assert.equal(isLast(), false);
  starts.noteLost('one', first);
  assert.equal(isLast(), false, 'the count began anew');
});
