import { EventEmitter, once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, mock, test, type TestContext } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  abortable,
  readHead,
  idleTimeout,
  leastRate,
  pieces,
  StreamStalled,
  type Bytes,
} from './streams.ts';

const chunksOf = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 });

describe('headAnd', () => {
  test('gives the first bytes and loses none, however the bytes are cut', async () => {
    const property = fc.asyncProperty(chunksOf, fc.nat({ max: 100 }), async (chunks, n) => {
      const all = Buffer.concat(chunks);
      const { head, stream } = await readHead(Readable.from(chunks), n);
      assert.deepEqual(Buffer.from(head), all.subarray(0, n));
      assert.deepEqual(await readAll(stream), all);
    });
    await fc.assert(property);
  });

  test('asks the source for no more than the head needs', async () => {
    const source = watched([10, 10, 10]);
    const { stream } = await readHead(source.bytes, 15);
    assert.equal(source.given, 2);
    await readAll(stream);
    assert.equal(source.given, 3);
  });

  test('rejects as the source does, before the head and after it', async () => {
    const broken = new Error('broken');
    async function* breaks(): Bytes {
      yield Buffer.from('abc');
      throw broken;
    }
    await assert.rejects(readHead(breaks(), 4), broken);
    const { stream } = await readHead(breaks(), 3);
    await assert.rejects(readAll(stream), broken);
  });
});

describe('every wrapper', () => {
  const wrappers: Record<string, (source: Bytes) => Promise<Bytes>> = {
    headAnd: async (source) => (await readHead(source, 1)).stream,
    pieces: async (source) => pieces(source, 7),
    idleTimeout: async (source) => idleTimeout(source, 60_000),
    leastRate: async (source) => leastRate(source, 1, 60_000),
    abortable: async (source) => abortable(source, new AbortController().signal),
  };

  for (const [name, wrap] of Object.entries(wrappers)) {
    test(`${name} passes all bytes on and then stays at the end`, async () => {
      const stream = await wrap(watched([5, 0, 9, 1]).bytes);
      assert.equal((await readAll(stream)).length, 15);
      assert.deepEqual(await stream[Symbol.asyncIterator]().next(), {
        done: true,
        value: undefined,
      });
    });

    test(`${name} releases the source when the reader stops, also before the first read`, async () => {
      for (const reads of [0, 1]) {
        const source = watched([5, 5, 5]);
        const reader = (await wrap(source.bytes))[Symbol.asyncIterator]();
        for (let i = 0; i < reads; i += 1) await reader.next();
        await reader.return?.();
        await reader.return?.();
        assert.equal(source.released, 1);
        assert.equal((await reader.next()).done, true);
      }
    });
  }
});

describe('pieces', () => {
  test('are all of the size but the last, and none is empty', async () => {
    const property = fc.asyncProperty(
      chunksOf,
      fc.integer({ min: 1, max: 50 }),
      async (chunks, size) => {
        const got = await Array.fromAsync(pieces(Readable.from(chunks), size));
        assert.ok(got.slice(0, -1).every((piece) => piece.length === size));
        assert.ok(got.every((piece) => piece.length > 0 && piece.length <= size));
        assert.deepEqual(Buffer.concat(got), Buffer.concat(chunks));
      },
    );
    await fc.assert(property);
  });

  test('of a large stream stay what they were when later ones are made', async () => {
    async function* counting(): Bytes {
      for (let i = 0; i < 60; i += 1) yield Buffer.alloc(10_000, i);
    }
    const got = await Array.fromAsync(pieces(counting(), 150_000));
    assert.deepEqual(
      got.map((piece) => piece.length),
      [150_000, 150_000, 150_000, 150_000],
    );
    const bytes = Buffer.concat(got);
    assert.ok(bytes.every((byte, i) => byte === Math.floor(i / 10_000)));
  });
});

describe('idleTimeout', () => {
  test('cuts a source that gives nothing for too long', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const stuck = new EventEmitter();
    async function* sticks(): Bytes {
      yield Buffer.from('a');
      stuck.emit('now');
      await new Promise<never>(() => {});
    }
    const cut = mock.fn();
    const reader = idleTimeout(sticks(), 1000, cut)[Symbol.asyncIterator]();
    await reader.next();
    const now = once(stuck, 'now');
    const read = reader.next();
    await now;
    t.mock.timers.tick(999);
    assert.equal(cut.mock.callCount(), 0);
    t.mock.timers.tick(1);
    await assert.rejects(read, (error) => error instanceof StreamStalled && error.idleMs === 1000);
    assert.equal(cut.mock.callCount(), 1);
    assert.equal((await reader.next()).done, true);
  });

  test('does not count the time that the reader takes, nor what came in time', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const reader = idleTimeout(watched([1, 1, 1]).bytes, 1000)[Symbol.asyncIterator]();
    for (let i = 0; i < 3; i += 1) {
      assert.equal((await reader.next()).done, false);
      t.mock.timers.tick(5000);
    }
    assert.equal((await reader.next()).done, true);
  });

  test('lets a source that ends after the cut end in silence', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const late = Promise.withResolvers<never>();
    const source: Bytes = { [Symbol.asyncIterator]: () => ({ next: () => late.promise }) };
    const read = idleTimeout(source, 10)[Symbol.asyncIterator]().next();
    t.mock.timers.tick(10);
    await assert.rejects(read, StreamStalled);
    late.reject(new Error('the connection closed'));
    // An unhandled rejection would fail the run here.
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('leastRate', () => {
  /** A source that is pushed from outside, and a clock that is set by hand. */
  function rig(t: TestContext) {
    let now = 0;
    t.mock.timers.enable({ apis: ['setTimeout'] });
    t.mock.method(performance, 'now', () => now);
    let give = (_bytes: number): void => {};
    const source: Bytes = {
      [Symbol.asyncIterator]: () => ({
        next: () =>
          new Promise((resolve) => {
            give = (bytes) => resolve({ done: false, value: Buffer.alloc(bytes) });
          }),
      }),
    };
    const tick = (ms: number): void => {
      // In steps, so that both clocks agree when a timer fires.
      for (let passed = 0; passed < ms; passed += 10) {
        now += 10;
        t.mock.timers.tick(10);
      }
    };
    const reader = leastRate(source, 10, 1000)[Symbol.asyncIterator]();
    const read = async (bytes: number, ms: number) => {
      const next = reader.next();
      tick(ms);
      give(bytes);
      return (await next).value?.length;
    };
    return { reader, read, tick };
  }

  test('cuts a source that gives too little in a window, however often it gives', async (t) => {
    const { reader, read, tick } = rig(t);
    for (let i = 0; i < 9; i++) assert.equal(await read(1, 100), 1);
    const last = reader.next();
    tick(100);
    await assert.rejects(last, StreamStalled);
    assert.equal((await reader.next()).done, true);
  });

  test('begins again with each window', async (t) => {
    const { reader, read, tick } = rig(t);
    assert.equal(await read(10, 900), 10);
    assert.equal(await read(1, 1000), 1, 'the first window had enough');
    assert.equal(await read(9, 50), 9);
    assert.equal(await read(1, 900), 1, 'and so had the second');
    const next = reader.next();
    tick(1000);
    await assert.rejects(next, StreamStalled);
  });

  test('does not count the time that the reader takes', async (t) => {
    const { read, tick } = rig(t);
    for (let i = 0; i < 5; i++) {
      assert.equal(await read(1, 100), 1);
      tick(5000);
    }
  });
});

describe('abortable', () => {
  test('ends with the reason of the signal although the source is stuck', async () => {
    const abort = new AbortController();
    const source: Bytes = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
    const read = abortable(source, abort.signal)[Symbol.asyncIterator]().next();
    const reason = new Error('left');
    abort.abort(reason);
    await assert.rejects(read, reason);
  });

  test('does not read from a source when the signal was aborted before, but releases it', async () => {
    const source = watched([5]);
    await assert.rejects(readAll(abortable(source.bytes, AbortSignal.abort())), {
      name: 'AbortError',
    });
    assert.equal(source.given, 0);
    assert.equal(source.released, 1);
  });

  test('leaves no listeners on a signal that outlives the stream', async () => {
    const abort = new AbortController();
    const add = mock.method(abort.signal, 'addEventListener');
    const remove = mock.method(abort.signal, 'removeEventListener');
    await readAll(abortable(watched([1, 2, 3]).bytes, abort.signal));
    assert.equal(add.mock.callCount(), 4);
    assert.equal(remove.mock.callCount(), 4);
  });
});

/** A source of chunks of these sizes that counts what it gave and how often it was released. */
function watched(sizes: number[]): { bytes: Bytes; given: number; released: number } {
  const left = [...sizes];
  const source = {
    given: 0,
    released: 0,
    bytes: {
      [Symbol.asyncIterator]: () => ({
        async next(): Promise<IteratorResult<Uint8Array>> {
          const size = left.shift();
          if (size === undefined) return { done: true, value: undefined };
          source.given += 1;
          return { done: false, value: Buffer.alloc(size) };
        },
        async return(): Promise<IteratorResult<Uint8Array>> {
          source.released += 1;
          return { done: true, value: undefined };
        },
      }),
    },
  };
  return source;
}

async function readAll(stream: Bytes): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(stream));
}
