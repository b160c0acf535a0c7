import assert from 'node:assert/strict';
import { describe, mock, test } from 'node:test';
import { runBounded } from './bounded.ts';

const never = () => new Promise<never>(() => {});
const obedient = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });

describe('bounded work', () => {
  test('that ends in time gives its value, or its error', async () => {
    const { signal } = new AbortController();
    assert.equal(await runBounded(signal, 1_000, async () => 7), 7);
    await assert.rejects(
      runBounded(signal, 1_000, () => Promise.reject(new Error('no'))),
      /no/,
    );
  });

  test('is told when its time is over, or the outer signal fires', async () => {
    await assert.rejects(runBounded(new AbortController().signal, 1, obedient), /took too long/);
    const outer = new AbortController();
    const running = runBounded(outer.signal, 60_000, obedient);
    outer.abort(new Error('enough'));
    await assert.rejects(running, /enough/);
    await assert.rejects(
      runBounded(outer.signal, 60_000, async (s) => s.throwIfAborted()),
      /enough/,
    );
  });

  test('has more time if it does something aside', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const pass = (ms: number) => {
      now += ms;
      t.mock.timers.tick(ms);
    };
    const asides = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const left: number[] = [];
    const running = runBounded(undefined, 100, async (signal, { aside, leftMs }) => {
      const both = asides.map(({ promise }) => aside(promise));
      for (const each of both) await each.then(() => left.push(leftMs()));
      return obedient(signal);
    });
    const rejected = assert.rejects(running, /took too long/);
    pass(1_000);
    for (const { resolve } of asides) {
      resolve();
      await new Promise(setImmediate);
      pass(60);
    }
    await new Promise(setImmediate);
    pass(40);
    await rejected;
    assert.deepEqual(left, [100, 100]);
  });

  test('that does not obey is left behind after a moment', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const running = runBounded(new AbortController().signal, 1_000, never);
      const rejected = assert.rejects(running, /took too long/);
      mock.timers.tick(1_000);
      mock.timers.tick(2_000);
      await rejected;
    } finally {
      mock.timers.reset();
    }
  });

  test('leaves nothing on the outer signal', async () => {
    const outer = new AbortController();
    let fired = 0;
    await runBounded(outer.signal, 1_000, async (signal) => {
      signal.addEventListener('abort', () => fired++);
    });
    outer.abort();
    assert.equal(fired, 0);
  });
});
