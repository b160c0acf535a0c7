import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { persistent } from './persistent.ts';

class PassingFault extends Error {}
const options = { isPassing: (error: unknown) => error instanceof PassingFault, pauseMs: 1 };

/** Fails this many times, then returns the `isRepeat` of every call. */
function failing(times: number, Fault: new () => Error = PassingFault) {
  const told: boolean[] = [];
  return async (isRepeat: boolean) => {
    told.push(isRepeat);
    if (told.length <= times) throw new Fault();
    return told;
  };
}

describe('persistent work', () => {
  test('is run once where it succeeds, and told so', async () => {
    const persist = persistent({ ...options, patienceMs: 10_000 });
    assert.deepEqual(await persist(failing(0)), [false]);
  });

  test('is run until it succeeds, and told that it is a repeat', async () => {
    const persist = persistent({ ...options, patienceMs: 10_000 });
    assert.deepEqual(await persist(failing(2)), [false, true, true]);
  });

  test('is not repeated where the failure is its own', async () => {
    const persist = persistent({ ...options, patienceMs: 10_000 });
    await assert.rejects(persist(failing(1, TypeError)), TypeError);
  });

  test('is given up once patience is over, and what follows at once is tried once', async () => {
    const persist = persistent({ ...options, patienceMs: 400 });
    await assert.rejects(persist(failing(Infinity)), PassingFault);
    const later = failing(1);
    await assert.rejects(persist(later), PassingFault);
    assert.deepEqual(await persist(later), [false, false]);
  });

  test('has patience again where nothing has failed for as long', async () => {
    const persist = persistent({ ...options, patienceMs: 50 });
    await assert.rejects(persist(failing(Infinity)), PassingFault);
    await pause(60);
    assert.deepEqual(await persist(failing(1)), [false, true]);
  });

  test('has patience again after a success', async () => {
    const persist = persistent({ ...options, patienceMs: 10_000 });
    await persist(failing(1));
    // The success ended the row of failures, so the patience starts again.
    assert.deepEqual(await persist(failing(1)), [false, true]);
  });
});
