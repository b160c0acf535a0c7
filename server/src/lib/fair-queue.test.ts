import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { FairQueue, NoCapacity, type FairQueueOptions, type Wait } from './fair-queue.ts';

/** A queue whose works begin and end by name, and what happened to them in this order. */
function trial(options: Partial<FairQueueOptions>) {
  const queue = new FairQueue({ order: 1, capacity: 2, perOwner: 1, waitMs: 10_000, ...options });
  const seen: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => () => {
    seen.push(name);
    return new Promise<void>((resolve) => ends.set(name, resolve));
  };
  return {
    seen,
    /** The first letter is the owner. */
    ask: (name: string, wait?: Wait) =>
      queue.run(name[0]!, work(name), wait).catch((error: unknown) => {
        seen.push(`${name} ${error instanceof NoCapacity ? `own=${error.own}` : String(error)}`);
      }),
    end: async (name: string) => {
      ends.get(name)!();
      await turn();
      await turn();
    },
  };
}

function clock(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return (ms: number) => {
    t.mock.timers.tick(ms);
    return turn();
  };
}

test('owners take turns, however much one of them asks for', async () => {
  const { ask, end, seen } = trial({ capacity: 1 });
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) void ask(name);
  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']) await end(name);
  assert.deepEqual(seen, ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('a free place stays free for others when an owner holds its share', async () => {
  const { ask, end, seen } = trial({});
  void ask('a1');
  void ask('a2');
  assert.deepEqual(seen, ['a1']);
  void ask('b1');
  assert.deepEqual(seen, ['a1', 'b1']);
  await end('a1');
  assert.deepEqual(seen, ['a1', 'b1', 'a2']);
});

test('who waits too long is told whether its own work was in the way', async (t) => {
  const pass = clock(t);
  const { ask, end, seen } = trial({});
  void ask('a1');
  void ask('b1');
  void ask('a2');
  void ask('c1');
  await pass(9_999);
  assert.deepEqual(seen, ['a1', 'b1']);
  await pass(1);
  assert.deepEqual(seen, ['a1', 'b1', 'a2 own=true', 'c1 own=false']);
  await end('a1');
  assert.equal(seen.length, 4, 'who has left gets no place');
});

test('an owner that had a place while it waited was in its own way', async (t) => {
  const pass = clock(t);
  const { ask, end, seen } = trial({ capacity: 1 });
  for (const name of ['b1', 'a1', 'a2', 'b2']) void ask(name);
  for (const name of ['b1', 'a1']) await end(name);
  await pass(10_000);
  assert.deepEqual(seen, ['b1', 'a1', 'b2', 'a2 own=true']);
});

test('work whose signal fires leaves the line, and no place is lost', async () => {
  const { ask, end, seen } = trial({ capacity: 1 });
  const leaver = new AbortController();
  void ask('a1');
  void ask('b1', leaver);
  void ask('c1');
  leaver.abort('left');
  await turn();
  await ask('d1', leaver);
  await end('a1');
  assert.deepEqual(seen, ['a1', 'b1 left', 'd1 left', 'c1']);
});

test('work that continues other work waits without a limit, before new work of its owner', async (t) => {
  const pass = clock(t);
  const { ask, end, seen } = trial({ capacity: 1, waitingMax: 1 });
  const [leaver, continues] = [new AbortController(), true];
  void ask('a1');
  void ask('a2');
  void ask('a3', { continues });
  void ask('a4', { continues, signal: leaver.signal });
  void ask('b1');
  await pass(9_999);
  leaver.abort('left');
  await turn();
  assert.deepEqual(seen, ['a1', 'a4 left']);
  await pass(1);
  assert.deepEqual(seen.splice(2), ['a2 own=true', 'b1 own=false']);
  void ask('a5');
  void ask('b2');
  for (const name of ['a1', 'b2', 'a3', 'a5']) await end(name);
  assert.deepEqual(seen, ['a1', 'a4 left', 'b2', 'a3', 'a5'], 'each owner still has its turn');
});

const queueOf = (order: number) =>
  new FairQueue({ order, capacity: 5, perOwner: 5, waitMs: 10_000 });
const [first, second, third] = [queueOf(1), queueOf(2), queueOf(3)];
/** Works inside each other, and whether their places are taken in the queues' order. */
const nested: [name: string, queues: FairQueue[], allowed: boolean][] = [
  ['a place of the same queue', [first, first], false],
  ['a place of an earlier queue', [second, first], false],
  ['an earlier queue, two works further in', [first, third, second], false],
  ['places in order', [first, second, third], true],
];
for (const [name, queues, allowed] of nested)
  test(`work that has a place ${allowed ? 'may' : 'must not'} wait for ${name}`, async () => {
    const inside = (left: FairQueue[]): Promise<string> =>
      left[0]?.run('a', async () => {
        await turn();
        return inside(left.slice(1));
      }) ?? Promise.resolve('done');
    if (allowed) assert.equal(await inside(queues), 'done');
    else await assert.rejects(inside(queues), /waits for another one/);
    for (const queue of queues) assert.equal(await queue.run('a', () => 'free'), 'free');
    await turn();
    assert.ok(queues.every((queue) => queue.stats().running === 0));
  });

test('no more of one owner waits than allowed', async () => {
  const { ask, end, seen } = trial({ capacity: 1, waitingMax: 1 });
  for (const name of ['a1', 'a2', 'a3', 'b1']) void ask(name);
  await turn();
  assert.deepEqual(seen, ['a1', 'a3 own=true']);
  for (const name of ['a1', 'b1', 'a2']) await end(name);
  assert.deepEqual(seen, ['a1', 'a3 own=true', 'b1', 'a2']);
});

test('an owner rests in proportion to its work, and others have the place meanwhile', async (t) => {
  const pass = clock(t);
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { ask, end, seen } = trial({ capacity: 1, cooldownFactor: 2 });
  void ask('a1');
  void ask('a2');
  void ask('b1');
  now = 50;
  await end('a1');
  await end('b1');
  await pass(99);
  assert.deepEqual(seen, ['a1', 'b1']);
  await pass(1);
  assert.deepEqual(seen, ['a1', 'b1', 'a2']);
});

test('an owner rests only from the time that its work says it took', async (t) => {
  const pass = clock(t);
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { ask, end, seen } = trial({ capacity: 1, cooldownFactor: 2 });
  void ask('a1', { tookMs: () => now / 5 });
  void ask('a2');
  now = 50;
  await end('a1');
  await pass(19);
  assert.deepEqual(seen, ['a1']);
  await pass(1);
  assert.deepEqual(seen, ['a1', 'a2']);
});

test('failed work gives its place back, and its error goes to its caller', async () => {
  const queue = new FairQueue({ order: 1, capacity: 1, perOwner: 1, waitMs: 10_000 });
  const failed = queue.run('a', () => {
    throw new Error('no');
  });
  await assert.rejects(failed, /^Error: no$/);
  assert.equal(await queue.run('a', () => 1), 1);
});

test('works that never wait leave turns of the event loop to others', async () => {
  const queue = new FairQueue({ order: 1, capacity: 1, perOwner: 1, waitMs: 10_000 });
  const seen: string[] = [];
  const all = ['a', 'b', 'a'].map((owner) => queue.run(owner, () => seen.push(owner)));
  setImmediate(() => seen.push('other'));
  await Promise.all(all);
  assert.deepEqual(seen, ['a', 'other', 'b', 'a']);
});
