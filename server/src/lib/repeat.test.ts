import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repeat } from './repeat.ts';

const settled = () => new Promise(setImmediate);

test('the first turn runs at once, and each further one after the pause of the last', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const pauses = [10, 500, 500];
  let turns = 0;
  const repeated = repeat(async () => pauses[turns++]!);
  await repeated.first;
  assert.equal(turns, 1);
  for (const [ms, after] of [
    [9, 1],
    [1, 2],
    [499, 2],
    [1, 3],
  ] as const) {
    t.mock.timers.tick(ms);
    await settled();
    assert.equal(turns, after);
  }
  await repeated.stop();
  t.mock.timers.tick(10_000);
  assert.equal(turns, 3);
});

test('a first turn that has to wait is not taken before, nor after a stop', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let turns = 0;
  const count = async () => ++turns;
  const repeated = repeat(count, 60);
  await repeated.first;
  t.mock.timers.tick(59);
  assert.equal(turns, 0);
  await repeated.stop();
  t.mock.timers.tick(10_000);
  assert.equal(turns, 0);
});

test('a stop waits for the running turn, after which there is no other', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const gate = Promise.withResolvers<void>();
  let turns = 0;
  const repeated = repeat(async () => {
    turns++;
    await gate.promise;
    return 1;
  });
  let isStopped = false;
  const stopped = repeated.stop().then(() => (isStopped = true));
  await settled();
  assert.equal(isStopped, false);
  gate.resolve();
  await stopped;
  t.mock.timers.tick(10);
  await settled();
  assert.equal(turns, 1);
});
