import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { activeSpan, inSpan, type TraceSpan } from './trace.ts';
import { batch, BatchFull, type BatchOptions } from './batch.ts';

/** A `many` whose batches return when the test lets them. */
function held(options: Partial<BatchOptions> = {}) {
  const batches: {
    items: number[];
    answer(results?: (string | Error)[]): void;
    fail(error: Error): void;
  }[] = [];
  const call = batch<number, string>(
    (items) => {
      const { promise, resolve, reject } = Promise.withResolvers<(string | Error)[]>();
      batches.push({
        items,
        answer: (results = items.map(String)) => resolve(results),
        fail: reject,
      });
      return promise;
    },
    { max: 100, ...options },
  );
  /** Waits for the nth batch to leave: counts turns of the event loop, not time. */
  const left = async (count: number) => {
    for (let i = 0; i < 10 && batches.length < count; i++) await turn();
    assert.equal(batches.length, count, 'batches that have left');
  };
  return { call, batches, left, items: () => batches.map((each) => each.items) };
}

/** The caller's result: the value, or the error's text. */
function outcome(promise: Promise<string>): Promise<string> {
  return promise.catch((error: Error) => `${error.name}: ${error.message}`);
}

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i);

describe('when a batch leaves', () => {
  test('a single call of an idle system leaves in the same turn of the event loop', async () => {
    const { call, batches, items } = held();
    const answer = call(1);
    assert.deepEqual(
      items(),
      [],
      'it must have left only after this turn, or nothing could gather',
    );
    await turn();
    assert.deepEqual(items(), [[1]]);
    batches[0]!.answer();
    assert.equal(await answer, '1');
  });

  test('no timer is set, whatever is called', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    const call = batch<number, number>(async (items) => items, { max: 2 });
    assert.deepEqual(await Promise.all(numbers(5).map(call)), numbers(5));
  });

  test('several calls share a batch with those of the next turns', async (t) => {
    // On a busy machine a turn may take longer than calls wait.
    t.mock.method(performance, 'now', () => 0);
    const { call, batches, left, items } = held();
    const answers = numbers(2).map(call);
    await turn();
    assert.deepEqual(items(), [], 'several calls wait for more');
    answers.push(call(2));
    await left(1);
    assert.deepEqual(items(), [[0, 1, 2]]);
    batches[0]!.answer();
    assert.deepEqual(await Promise.all(answers), ['0', '1', '2']);
  });

  test('what comes while one is under way gathers, and leaves when it is back', async () => {
    const { call, batches, left, items } = held();
    const first = call(0);
    await left(1);
    const later = numbers(4, 1).map(call);
    await turn();
    await turn();
    assert.deepEqual(items(), [[0]], 'only one is under way at a time');
    assert.equal(call.depth(), 4);
    batches[0]!.answer();
    await first;
    await left(2);
    assert.deepEqual(items(), [[0], [1, 2, 3, 4]]);
    assert.equal(call.depth(), 0);
    batches[1]!.answer();
    assert.deepEqual(await Promise.all(later), ['1', '2', '3', '4']);
  });

  test('at least half as many calls leave before the answers are used, fewer do not', async () => {
    for (const [waiting, leaves] of [
      [2, true],
      [1, false],
    ] as const) {
      const { call, batches, left, items } = held();
      const first = numbers(4).map(call);
      await left(1);
      const later = numbers(waiting, 4).map(call);
      batches[0]!.answer();
      await first[0];
      assert.equal(items().length === 2, leaves, `${waiting} of 4`);
      await left(2);
      batches[1]!.answer();
      await Promise.all([...first, ...later]);
    }
  });

  test('a full batch waits for nothing, and neither do those behind a failed one', async () => {
    const { call, batches, left, items } = held({ max: 2 });
    const answers = numbers(2).map((i) => outcome(call(i)));
    await turn();
    assert.deepEqual(items(), [[0, 1]]);
    const later = numbers(2, 2).map(call);
    batches[0]!.fail(new Error('no database'));
    assert.deepEqual(await Promise.all(answers), ['Error: no database', 'Error: no database']);
    await left(2);
    batches[1]!.answer();
    assert.deepEqual(await Promise.all(later), ['2', '3']);
  });

  test('a batch has its most members, the rest stays in order for the next', async () => {
    const { call, batches, left, items } = held({ max: 3 });
    const answers = numbers(7).map(call);
    for (let i = 0; i < 3; i++) {
      await left(i + 1);
      batches[i]!.answer();
      await Promise.all(answers.slice(i * 3, i * 3 + 3));
    }
    assert.deepEqual(items(), [[0, 1, 2], [3, 4, 5], [6]]);
  });

  test('as many are under way as are allowed, and no more', async () => {
    const { call, batches, left, items } = held({ max: 2, concurrency: 2 });
    const answers = numbers(6).map(call);
    for (let i = 0; i < 5; i++) await turn();
    assert.deepEqual(items(), [
      [0, 1],
      [2, 3],
    ]);
    batches[1]!.answer();
    assert.deepEqual(await Promise.all(answers.slice(2, 4)), ['2', '3']);
    await left(3);
    assert.deepEqual(items(), [
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    for (const each of batches) each.answer();
    await Promise.all(answers);
  });

  test('a call made inside an answer joins the next batch', async () => {
    const call = batch<number, number>(async (items) => items, { max: 10 });
    assert.equal(await call(1).then((value) => call(value + 1)), 2);
  });
});

describe('who gets what', () => {
  test('each call gets the answer at its place', async () => {
    const { call, batches, left } = held();
    const answers = numbers(50).map(call);
    await left(1);
    batches[0]!.answer(batches[0]!.items.map((item) => `answer ${item}`));
    assert.deepEqual(
      await Promise.all(answers),
      numbers(50).map((i) => `answer ${i}`),
    );
  });

  test('a refused member is refused alone', async () => {
    const { call, batches, left } = held();
    const answers = numbers(3).map((i) => outcome(call(i)));
    await left(1);
    batches[0]!.answer(['0', new RangeError('not this one'), '2']);
    assert.deepEqual(await Promise.all(answers), ['0', 'RangeError: not this one', '2']);
  });

  test('a failure of the whole reaches every member, and the next batch goes on', async () => {
    const { call, batches, left } = held();
    const answers = numbers(2).map((i) => outcome(call(i)));
    await left(1);
    batches[0]!.fail(new Error('no database'));
    assert.deepEqual(await Promise.all(answers), ['Error: no database', 'Error: no database']);
    const next = call(9);
    await left(2);
    batches[1]!.answer();
    assert.equal(await next, '9');
  });

  test('a `many` that throws at once is a failure of the whole', async () => {
    const call = batch<number, string>(
      () => {
        throw new Error('thrown');
      },
      { max: 5 },
    );
    assert.equal(await outcome(call(1)), 'Error: thrown');
    assert.equal(await outcome(call(2)), 'Error: thrown');
  });
});

describe('a bad member', () => {
  const poisoned = (tried: number[][]) => async (items: number[]) => {
    tried.push(items);
    if (items.includes(13)) throw Object.assign(new Error('bad value'), { bad: true });
    return items.map(String);
  };
  const split = (error: unknown) => (error as { bad?: boolean }).bad === true;

  test('does not sink the others: each is tried on its own, once', async () => {
    const tried: number[][] = [];
    const call = batch(poisoned(tried), { max: 10, split });
    const answers = await Promise.all([11, 12, 13, 14].map((i) => outcome(call(i))));
    assert.deepEqual(answers, ['11', '12', 'Error: bad value', '14']);
    assert.deepEqual(tried, [[11, 12, 13, 14], [11], [12], [13], [14]]);
  });

  test('alone is not tried again', async () => {
    const tried: number[][] = [];
    const call = batch(poisoned(tried), { max: 10, split });
    assert.equal(await outcome(call(13)), 'Error: bad value');
    assert.deepEqual(tried, [[13]]);
  });

  test("sinks all where its fault is not known to be one member's", async () => {
    const tried: number[][] = [];
    const call = batch(poisoned(tried), { max: 10, split: () => false });
    const answers = await Promise.all([12, 13].map((i) => outcome(call(i))));
    assert.deepEqual(answers, ['Error: bad value', 'Error: bad value']);
    assert.equal(tried.length, 1);
  });
});

describe('too many waiting', () => {
  test('are refused at once, and none of those that wait is lost', async () => {
    const { call, batches, left, items } = held({ waitingMax: 3 });
    const first = call(0);
    await left(1);
    const waiting = numbers(3, 1).map(call);
    await assert.rejects(call(4), BatchFull);
    assert.equal(call.depth(), 3);
    batches[0]!.answer();
    await first;
    await left(2);
    batches[1]!.answer();
    assert.deepEqual(await Promise.all(waiting), ['1', '2', '3']);
    assert.deepEqual(items(), [[0], [1, 2, 3]], 'the refused one is never sent');
    const again = call(5);
    await left(3);
    batches[2]!.answer();
    assert.equal(await again, '5');
  });
});

test('a batch belongs to no span, and each call goes on in its own', async () => {
  const within: unknown[] = [];
  const one = batch(
    async (items: string[]) => {
      within.push(activeSpan());
      return items;
    },
    { max: 10 },
  );
  const call = (span: TraceSpan) => inSpan(span, async () => [await one('item'), activeSpan()]);
  const spans = [{}, {}] as [TraceSpan, TraceSpan];
  assert.deepEqual(await Promise.all(spans.map(call)), [
    ['item', spans[0]],
    ['item', spans[1]],
  ]);
  assert.deepEqual(within, [undefined]);
});
