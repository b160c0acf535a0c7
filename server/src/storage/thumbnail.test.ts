import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { FairQueue } from '../lib/fair-queue.ts';
import { once, type Bytes } from '../lib/streams.ts';
import { createThumbnails } from './thumbnail.ts';
import { StorageFull, type Storage } from './storage.ts';

const path = join(import.meta.dirname, '../../test/fixtures/media/photo.png');
const picture = { storage_key: 'k', content_type: 'image/png' };

/** Thumbnails of one account while other work of it has the place, until `free` is called. */
function behindOther({ isKept = true, isFull = false } = {}) {
  const decoding = new FairQueue({ order: 1, capacity: 1, perOwner: 1, waitMs: 60_000 });
  const { promise, resolve: free } = Promise.withResolvers<void>();
  const other = decoding.run('a', () => promise);
  let made = 0;
  const objects = new Map<string, Buffer>();
  const storage: Partial<Storage> = {
    openAsPath: async () => ({ path, done: async () => void (made += 1) }),
    open: async (key) => {
      const bytes = objects.get(key);
      return bytes ? once(bytes) : null;
    },
    put: async (key, body: Bytes) => {
      if (isFull) throw new StorageFull();
      const chunks = await Array.fromAsync(body);
      objects.set(key, Buffer.concat(chunks));
      return { size: 1, sha256: '' };
    },
    remove: async (key) => void objects.delete(key),
  };
  const { findOrMake: of } = createThumbnails(storage as Storage, decoding);
  const ask = (signal = new AbortController().signal) =>
    of(picture, 'square', { account_id: 'a', signal, isKept: async () => isKept });
  return { ask, decoding, objects, free: () => (free(), other), made: () => made };
}

test('a thumbnail is not made for a caller who has left', async () => {
  const { ask, decoding, free, made } = behindOther();
  const leaver = new AbortController();
  const left = ask(leaver.signal);
  while (decoding.stats().waiting === 0) await Promise.resolve();
  leaver.abort('left');
  await assert.rejects(left, (reason) => reason === 'left');
  assert.equal(decoding.stats().waiting, 0);
  await free();
  assert.equal(made(), 0);
});

test('callers who wait for the same thumbnail get it made once, also if the first leaves', async () => {
  const { ask, decoding, free, made } = behindOther();
  const leaver = new AbortController();
  const left = ask(leaver.signal);
  const both = [ask(), ask()];
  while (decoding.stats().waiting < 3) await Promise.resolve();
  leaver.abort('left');
  await assert.rejects(left);
  await free();
  const [one, two] = await Promise.all(both);
  assert.ok(one && one.length > 0);
  assert.ok(one.equals(two!));
  assert.ok(one.equals((await ask())!));
  assert.equal(made(), 1);
});

test('a thumbnail that a full storage does not take is shown all the same', async () => {
  const { ask, free, made, objects } = behindOther({ isFull: true });
  await free();
  assert.ok((await ask())!.length > 0);
  assert.ok((await ask())!.length > 0);
  assert.deepEqual([made(), objects.size], [2, 0]);
});

test('a thumbnail is not kept if its picture was deleted meanwhile', async () => {
  const { ask, free, objects } = behindOther({ isKept: false });
  await free();
  await ask();
  assert.equal(objects.size, 0);
});

test('a thumbnail of a damaged file fails, and is not kept', async () => {
  const decoding = new FairQueue({ order: 1, capacity: 1, perOwner: 1, waitMs: 1000 });
  const storage: Partial<Storage> = {
    open: async () => null,
    openAsPath: async () => ({ path: import.meta.filename, done: async () => {} }),
    put: () => assert.fail('stored'),
  };
  const { findOrMake: of } = createThumbnails(storage as Storage, decoding);
  const { signal } = new AbortController();
  await assert.rejects(of(picture, 'card', { account_id: 'a', signal, isKept: async () => true }));
});
