/** The duties of every store. A new store runs these cases unchanged. */
import { createHash, randomBytes } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { TooLarge, type Storage } from '../../src/storage/storage.ts';
import { isLong } from '../kit/long.ts';

export interface OpenedStorage {
  storage: Storage;
  /** All keys in the store, and all leftovers of puts. */
  contents(): Promise<{ keys: string[]; leftovers: string[] }>;
  close(): Promise<void>;
}

export function conformance(name: string, start: () => Promise<OpenedStorage>): void {
  describe(`${name} keeps the contract of a store`, () => {
    let opened: OpenedStorage;
    before(async () => void (opened = await start()));
    after(() => opened.close());
    const use = (): OpenedStorage => opened;
    wholeObjects(use);
    failures(use);
    reading(use);
    listing(use);
    removing(use);
    keys(use);
  });
}

type Use = () => OpenedStorage;

function wholeObjects(use: Use): void {
  test('an object comes back byte for byte, with its size and hash', async () => {
    const { storage } = use();
    const bytes = randomBytes(300_001);
    const stored = await storage.put('a/whole/0', chunked(bytes, 7001));
    assert.deepEqual(stored, { size: bytes.length, sha256: sha256(bytes) });
    assert.deepEqual(await readAll(storage, 'a/whole/0'), bytes);
  });

  test('an object of several parts comes back to the byte', async () => {
    const { storage } = use();
    const bytes = randomBytes(11 * 1024 * 1024 + 17);
    const stored = await storage.put('a/large/0', chunked(bytes, 65_536));
    assert.equal(stored.sha256, sha256(bytes));
    assert.equal(sha256((await readAll(storage, 'a/large/0'))!), sha256(bytes));
    await storage.remove('a/large/0');
  });

  test('an empty object is an object', async () => {
    const { storage } = use();
    const stored = await storage.put('a/empty/0', chunked(Buffer.alloc(0), 1));
    assert.deepEqual(stored, { size: 0, sha256: sha256(Buffer.alloc(0)) });
    assert.deepEqual(await readAll(storage, 'a/empty/0'), Buffer.alloc(0));
  });

  test('a later put replaces an earlier one, also by something shorter', async () => {
    const { storage } = use();
    await storage.put('a/replaced/0', chunked(randomBytes(5000), 100));
    await storage.put('a/replaced/0', chunked(Buffer.from('new'), 1));
    assert.deepEqual(await readAll(storage, 'a/replaced/0'), Buffer.from('new'));
  });

  test('of simultaneous puts under one key, one complete object stays', async () => {
    const { storage, contents } = use();
    const bodies = Array.from({ length: 8 }, (_, i) => Buffer.alloc(40_000 + i, i));
    await Promise.all(bodies.map((body) => storage.put('a/raced/0', chunked(body, 1000))));
    const left = await readAll(storage, 'a/raced/0');
    assert.ok(bodies.some((body) => body.equals(left!)));
    assert.deepEqual((await contents()).leftovers, []);
  });

  test('a reader sees nothing of a put that has not ended', async () => {
    const { storage } = use();
    const gate = Promise.withResolvers<void>();
    const half = Promise.withResolvers<void>();
    async function* slow(): AsyncIterable<Uint8Array> {
      yield Buffer.alloc(600_000, 1);
      half.resolve();
      await gate.promise;
      yield Buffer.alloc(600_000, 2);
    }
    const put = storage.put('a/slow/0', slow());
    await half.promise;
    assert.equal(await storage.open('a/slow/0'), null);
    assert.equal(await storage.openAsPath('a/slow/0'), null);
    gate.resolve();
    await put;
    assert.equal((await readAll(storage, 'a/slow/0'))?.length, 1_200_000);
  });

  test('the source is asked for one chunk at a time', async () => {
    const { storage } = use();
    let asked = 0;
    let most = 0;
    const source = {
      left: 50,
      [Symbol.asyncIterator]: () => source,
      async next(): Promise<IteratorResult<Uint8Array>> {
        asked += 1;
        most = Math.max(most, asked);
        await Promise.resolve();
        asked -= 1;
        source.left -= 1;
        return source.left < 0
          ? { done: true, value: undefined }
          : { done: false, value: Buffer.alloc(99) };
      },
    };
    await storage.put('a/asked/0', source);
    assert.equal(most, 1);
  });
}

function failures(use: Use): void {
  const broken = new Error('the source broke');
  async function* breaks(afterBytes: number): AsyncIterable<Uint8Array> {
    for (let sent = 0; sent < afterBytes; sent += 100_000) yield Buffer.alloc(100_000);
    throw broken;
  }

  test('a source that breaks leaves nothing, and its error is the answer', async () => {
    const { storage, contents } = use();
    for (const afterBytes of [0, 1, 12_000_000]) {
      await assert.rejects(storage.put('b/broken/0', breaks(afterBytes)), broken);
    }
    assert.equal(await storage.open('b/broken/0'), null);
    assert.deepEqual((await contents()).leftovers, []);
  });

  test('a body above the limit is refused and leaves the older object', async () => {
    const { storage, contents } = use();
    await storage.put('b/limit/0', chunked(Buffer.from('older'), 5));
    let let_go = false;
    async function* endless(): AsyncIterable<Uint8Array> {
      try {
        for (;;) yield Buffer.alloc(1000);
      } finally {
        let_go = true;
      }
    }
    const refused = storage.put('b/limit/0', endless(), { maxBytes: 9_500_000 });
    await assert.rejects(
      refused,
      (error) => error instanceof TooLarge && error.maxBytes === 9_500_000,
    );
    assert.equal(let_go, true);
    assert.deepEqual(await readAll(storage, 'b/limit/0'), Buffer.from('older'));
    assert.deepEqual((await contents()).leftovers, []);
  });

  test('a body of exactly the limit is accepted', async () => {
    const { storage } = use();
    const stored = await storage.put('b/just/0', chunked(randomBytes(1000), 300), {
      maxBytes: 1000,
    });
    assert.equal(stored.size, 1000);
    const more = storage.put('b/more/0', chunked(randomBytes(1001), 300), { maxBytes: 1000 });
    await assert.rejects(more, TooLarge);
    assert.equal(await storage.open('b/more/0'), null);
  });

  test('an aborted put ends although its source is stuck, and leaves nothing', async () => {
    const { storage, contents } = use();
    const stuck = Promise.withResolvers<void>();
    const abort = new AbortController();
    async function* sticks(): AsyncIterable<Uint8Array> {
      yield Buffer.alloc(9_000_000);
      stuck.resolve();
      await new Promise<never>(() => {});
    }
    const put = storage.put('b/aborted/0', sticks(), { signal: abort.signal });
    await stuck.promise;
    abort.abort(new Error('the caller left'));
    await assert.rejects(put, /the caller left/);
    assert.equal(await storage.open('b/aborted/0'), null);
    assert.deepEqual((await contents()).leftovers, []);
  });

  test('a put that is aborted before it begins does not begin', async () => {
    const { storage } = use();
    const put = storage.put('b/never/0', chunked(Buffer.from('x'), 1), {
      signal: AbortSignal.abort(),
    });
    await assert.rejects(put, { name: 'AbortError' });
    assert.equal(await storage.open('b/never/0'), null);
  });
}

function reading(use: Use): void {
  test('any range gives just its bytes', async () => {
    const { storage } = use();
    const bytes = randomBytes(700_000);
    await storage.put('c/ranges/0', chunked(bytes, 65_536));
    const last = bytes.length - 1;
    const edges = [
      [0, 0],
      [last, last],
      [0, last],
      [262_143, 262_144],
      [262_144, 524_288],
    ];
    for (const [start = 0, end = 0] of edges) {
      const got = await readAll(storage, 'c/ranges/0', { start, end });
      assert.deepEqual(got, bytes.subarray(start, end + 1), `${start}-${end}`);
    }
    const position = fc.nat({ max: last });
    const range = fc
      .tuple(position, position)
      .map(([a, b]) => ({ start: Math.min(a, b), end: Math.max(a, b) }));
    const property = fc.asyncProperty(range, async ({ start, end }) => {
      const got = await readAll(storage, 'c/ranges/0', { start, end });
      assert.ok(got?.equals(bytes.subarray(start, end + 1)));
    });
    await fc.assert(property, { numRuns: 40 });
  });

  test('a missing object is null, with a range or without', async () => {
    const { storage } = use();
    assert.equal(await storage.open('c/none/0'), null);
    assert.equal(await storage.open('c/none/0', { start: 0, end: 9 }), null);
    assert.equal(await storage.openAsPath('c/none/0'), null);
  });

  test('an invalid range is refused', async () => {
    const { storage } = use();
    for (const [start, end] of [
      [-1, 4],
      [5, 4],
      [0.5, 4],
      [0, NaN],
    ] as const) {
      await assert.rejects(storage.open('c/ranges/0', { start, end }), RangeError);
    }
  });

  test('a tool gets the whole object as a file, and may release it twice', async () => {
    const { storage } = use();
    const bytes = randomBytes(400_000);
    await storage.put('c/path/0', chunked(bytes, 65_536));
    const found = await storage.openAsPath('c/path/0');
    assert.deepEqual(await readFile(found!.path), bytes);
    await found!.done();
    await found!.done();
    assert.deepEqual(await readAll(storage, 'c/path/0'), bytes);
  });

  test('a reader may stop in the middle, and others read on', async () => {
    const { storage } = use();
    const bytes = randomBytes(2_000_000);
    await storage.put('c/stopped/0', chunked(bytes, 65_536));
    for await (const chunk of (await storage.open('c/stopped/0'))!) {
      assert.ok(chunk.length > 0);
      break;
    }
    assert.deepEqual(await readAll(storage, 'c/stopped/0'), bytes);
  });

  test('free room is a number of bytes or not known', async () => {
    const free = await use().storage.freeBytes();
    assert.ok(free === null || (Number.isSafeInteger(free) && free > 0));
  });
}

function listing(use: Use): void {
  test('a list has each object below a prefix once, with its size and when it was stored', async () => {
    const { storage } = use();
    const began = Date.now();
    const sizes = Array.from({ length: 25 }, (_, i): [string, number] => [`l/some/x${i}`, i]);
    sizes.push(['l/some/deeper/still/0', 70_000]);
    const beside = ['l/some2/0', 'l/somex', 'l/so/0'].map((key): [string, number] => [key, 1]);
    const put = ([key, size]: [string, number]) =>
      storage.put(key, chunked(Buffer.alloc(size), 9_000));
    await Promise.all([...sizes, ...beside].map(put));
    const found = (await Array.fromAsync(storage.list('l/some'))).flat();
    const brief = found.map(({ key, size }): [string, number] => [key, size]);
    assert.deepEqual(brief.sort(), sizes.sort());
    for (const { key, stored_at } of found)
      assert.ok(Math.abs(stored_at.getTime() - began) < 60_000, `${key}: ${stored_at}`);
    assert.deepEqual((await Array.fromAsync(storage.list('l/none'))).flat(), []);
    await storage.removeAll('l');
  });
}

function removing(use: Use): void {
  test('a removed object is gone, its neighbours are not, and removing nothing is fine', async () => {
    const { storage } = use();
    await storage.put('d/one/0', chunked(Buffer.from('0'), 1));
    await storage.put('d/one/1', chunked(Buffer.from('1'), 1));
    await storage.remove('d/one/0');
    await storage.remove('d/one/0');
    await storage.remove('d/none/0');
    await storage.remove('d/one');
    assert.equal(await storage.open('d/one/0'), null);
    assert.deepEqual(await readAll(storage, 'd/one/1'), Buffer.from('1'));
  });

  test('removing a prefix takes all below it and nothing beside it', async () => {
    const { storage, contents } = use();
    const below = Array.from({ length: 25 }, (_, i) => `d/many/x${i}`);
    const beside = ['d/many2/0', 'd/man/0', 'd/manyx'];
    const all = [...below, 'd/many/deeper/still/0', ...beside];
    await Promise.all(all.map((key) => storage.put(key, chunked(Buffer.from(key), 4))));
    await storage.removeAll('d/many');
    await storage.removeAll('d/many');
    await storage.removeAll('d/manyx');
    const left = (await contents()).keys.filter((key) => key.startsWith('d/man'));
    assert.deepEqual(left.sort(), beside.sort());
  });

  test('simultaneous puts and removals never lose a put that came last', async () => {
    const { storage } = use();
    for (let round = 0; round < (isLong ? 20 : 5); round += 1) {
      const others = [0, 1, 2].map(async (i) => {
        await storage.put(`d/shared/${i}`, chunked(Buffer.from('x'), 1));
        await storage.remove(`d/shared/${i}`);
      });
      await Promise.all([...others, storage.put('d/shared/kept', chunked(Buffer.from('kept'), 2))]);
      assert.deepEqual(await readAll(storage, 'd/shared/kept'), Buffer.from('kept'));
      await storage.removeAll('d/shared');
    }
  });
}

function keys(use: Use): void {
  const bad = [
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    '../a',
    'a/..',
    'a/../b',
    './a',
    '.hidden',
    'a/.b',
    '.temp/x',
    'A',
    'a b',
    'a\\b',
    'a\0b',
    'ä',
    'a%2fb',
    'a?b',
    'a\n',
    `a/${'x'.repeat(300)}`,
    'a/'.repeat(400) + 'a',
  ];

  test('an invalid key is refused everywhere, and does nothing', async () => {
    const { storage, contents } = use();
    const before_ = await contents();
    for (const key of bad) {
      const calls = [
        () => storage.put(key, chunked(Buffer.from('x'), 1)),
        () => storage.open(key),
        () => storage.openAsPath(key),
        () => storage.remove(key),
        () => storage.removeAll(key),
        () => Array.fromAsync(storage.list(key)),
      ];
      for (const call of calls) await assert.rejects(call(), TypeError, JSON.stringify(key));
    }
    assert.deepEqual(await contents(), before_);
  });

  test('ids and file names are keys', async () => {
    const { storage } = use();
    const id = '0198c0de-7000-7000-8000-000000000001';
    for (const key of [`outputs/${id}/0.png`, `files/file_0198c0de70007000`, 'a-_.b/c.tar.gz']) {
      await storage.put(key, chunked(Buffer.from(key), 3));
      assert.deepEqual(await readAll(storage, key), Buffer.from(key));
    }
  });
}

export async function* chunked(bytes: Uint8Array, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export async function readAll(
  storage: Storage,
  key: string,
  range?: { start: number; end: number },
): Promise<Buffer | null> {
  const stream = await storage.open(key, range);
  return stream && Buffer.concat(await Array.fromAsync(stream));
}

export async function exists(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
