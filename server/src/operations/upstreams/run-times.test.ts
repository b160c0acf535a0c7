import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunTime } from '../../db/requests/run-times.ts';
import { createRunTimes } from './run-times.ts';

const four: RunTime[] = [{ model_id: 'a/b', median_seconds: 4 }];

/** Run times whose reads give these answers in turn, and how many there were. */
function timesOf(...answers: (() => Promise<RunTime[]>)[]) {
  const errors: unknown[] = [];
  let reads = 0;
  const read = () => answers[Math.min(reads++, answers.length - 1)]!();
  return { times: createRunTimes(read, (error) => errors.push(error)), errors, reads: () => reads };
}

test('the first callers wait for one read, and later ones read nothing', async () => {
  const { times, reads } = timesOf(async () => four);
  const [one, other] = await Promise.all([times(), times()]);
  assert.equal(one.get('a/b'), 4);
  assert.equal(other, one);
  assert.equal(await times(), one);
  assert.equal(reads(), 1);
});

test('a failed read is reported, and nothing is known', async () => {
  const { times, errors, reads } = timesOf(() => Promise.reject(new Error('no database')));
  assert.equal((await times()).size, 0);
  assert.equal((await times()).size, 0);
  assert.equal(reads(), 1, 'it is not tried again at once');
  assert.equal(errors.length, 1);
});

test('an old copy is given while the next is read; the same times are the same map', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { promise, resolve } = Promise.withResolvers<RunTime[]>();
  const nine = [{ model_id: 'a/b', median_seconds: 9 }];
  const { times, reads } = timesOf(
    async () => four,
    async () => four,
    () => promise,
  );
  const first = await times();
  now += 61_000;
  assert.equal(await times(), first);
  assert.equal(reads(), 2);
  await new Promise(setImmediate);
  assert.equal(await times(), first, 'the second read found the same');
  now += 61_000;
  assert.equal((await times()).get('a/b'), 4);
  resolve(nine);
  await new Promise(setImmediate);
  assert.equal((await times()).get('a/b'), 9);
  assert.equal(reads(), 3);
});

test('a read that hangs keeps nobody waiting for long', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { times } = timesOf(() => new Promise<RunTime[]>(() => {}));
  const waiting = times();
  t.mock.timers.tick(1_000);
  assert.equal((await waiting).size, 0);
});
