import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createBudget } from '../lib/budget.ts';
import { FairQueue, type Wait } from '../lib/fair-queue.ts';
import { holdingInputs } from './held-inputs.ts';
import { HandOverFailed } from './replies.ts';

/** A line with one place, which `holder` has until `free` is called. */
async function taken(holder: string) {
  const decoding = new FairQueue({ order: 1, capacity: 1, perOwner: 1, waitMs: 5 });
  const { promise, resolve: free } = Promise.withResolvers<void>();
  const held = decoding.run(holder, () => promise);
  return { decoding, free: () => (free(), held) };
}

interface WaitState {
  isAwaited: () => boolean;
}

function inShare<T>(
  decoding: FairQueue,
  work: () => Promise<T>,
  { signal = new AbortController().signal, ...more }: Partial<Wait & WaitState> = {},
): Promise<T> {
  const shared = { decoding, inputBytes: createBudget(1, null) };
  const { isAwaited = () => true, continues = false } = more;
  const owner = { account_id: 'ours', isAwaited };
  return holdingInputs(shared, owner, (shares) => shares.inShare(work, { signal, continues }));
}

async function failed(work: Promise<unknown>): Promise<HandOverFailed> {
  const error = await work.then(
    () => assert.fail(),
    (each: unknown) => each,
  );
  assert.ok(error instanceof HandOverFailed, String(error));
  assert.equal(error.outcome.unasked, true, 'it says nothing about the upstream');
  return error;
}

describe('without a share in time, the call may be repeated', () => {
  test('and is refused for its own account if that has the place', async () => {
    const { decoding, free } = await taken('ours');
    const { outcome } = await failed(inShare(decoding, assert.fail));
    assert.equal(outcome.refusal?.code, 'rate_limited');
    assert.equal(outcome.refusal?.details?.reason, 'account_share');
    await free();
  });

  test('and blames nobody if others have it', async () => {
    const { decoding, free } = await taken('theirs');
    const { outcome } = await failed(inShare(decoding, assert.fail));
    assert.equal(outcome.refusal, undefined);
    await free();
  });

  test('also if it may wait for long, but its time is up', async () => {
    const { decoding, free } = await taken('ours');
    const time = new AbortController();
    const waiting = inShare(decoding, assert.fail, { signal: time.signal, continues: true });
    time.abort(new DOMException('The step took too long.', 'TimeoutError'));
    await failed(waiting);
    assert.equal(decoding.stats().waiting, 0);
    await free();
  });
});

test('work whose time is up is left at once, and keeps its place until its end', async () => {
  const decoding = new FairQueue({ order: 1, capacity: 1, perOwner: 1, waitMs: 5 });
  const time = new AbortController();
  const { promise, resolve } = Promise.withResolvers<void>();
  const working = inShare(decoding, () => promise, { signal: time.signal });
  time.abort();
  await failed(working);
  assert.equal(decoding.stats().running, 1);
  resolve();
  assert.equal(await inShare(decoding, async () => 'next', { continues: true }), 'next');
});

test('work does not begin for a caller who left while it waited', async () => {
  const { decoding, free } = await taken('theirs');
  let isAwaited = true;
  const waiting = inShare(decoding, assert.fail, { continues: true, isAwaited: () => isAwaited });
  isAwaited = false;
  await free();
  await failed(waiting);
});

test('a fault of the work itself stays', async () => {
  const decoding = new FairQueue({ order: 1, capacity: 1, perOwner: 1, waitMs: 5 });
  const fault = new Error('damaged');
  await assert.rejects(
    inShare(decoding, () => Promise.reject(fault)),
    fault,
  );
});

test('a call that has had its share gets it again, however long that takes', async () => {
  const decoding = new FairQueue({ order: 1, capacity: 1, perOwner: 1, waitMs: 5 });
  const shared = { decoding, inputBytes: createBudget(1, null) };
  const { signal } = new AbortController();
  const { promise, resolve: free } = Promise.withResolvers<void>();
  const done = await holdingInputs(shared, { account_id: 'ours' }, async (shares) => {
    await shares.inShare(async () => {}, { signal });
    // The place is given back in another turn of the event loop.
    await new Promise(setImmediate);
    const theirs = decoding.run('theirs', () => promise);
    const next = shares.inShare(async () => 'next', { signal });
    // A new call of the same account, which began to wait later.
    await failed(inShare(decoding, assert.fail));
    free();
    await theirs;
    return next;
  });
  assert.equal(done, 'next');
});

test('bytes stay counted while work of a call that is over still needs them', async () => {
  const decoding = new FairQueue({ order: 1, capacity: 1, perOwner: 1, waitMs: 5 });
  const inputBytes = createBudget(10, null);
  const time = new AbortController();
  const { promise, resolve: end } = Promise.withResolvers<void>();
  const call = holdingInputs({ decoding, inputBytes }, { account_id: 'ours' }, (shares) => {
    shares.hold(3);
    return shares.inShare(() => promise, { signal: time.signal });
  });
  time.abort();
  await failed(call);
  assert.equal(inputBytes.takenBy('ours'), 3);
  end();
  await inShare(decoding, async () => {}, { continues: true });
  assert.equal(inputBytes.takenBy('ours'), 0);
});
