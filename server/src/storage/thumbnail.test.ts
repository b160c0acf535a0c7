import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { FairQueue } from '../lib/fair-queue.ts';
import { createThumbnails } from './thumbnail.ts';
import type { Storage } from './storage.ts';

const path = join(import.meta.dirname, '../../test/fixtures/media/photo.png');
const picture = { storage_key: 'k', content_type: 'image/png', sha256: 'a' };

/** Thumbnails of one account while other work of it has the place, until `free` is called. */
function behindOther() {
  const decoding = new FairQueue({ order: 1, places: 1, perOwner: 1, waitMs: 60_000 });
  const { promise, resolve: free } = Promise.withResolvers<void>();
  const other = decoding.run('a', () => promise);
  let made = 0;
  const asPath = async () => ({ path, done: async () => void (made += 1) });
  const { of } = createThumbnails({ asPath } as unknown as Storage, decoding);
  const ask = (signal: AbortSignal) => of('a', picture, 'square', signal);
  return { ask, decoding, free: () => (free(), other), made: () => made };
}

test('a thumbnail is not made for a caller who has left', async () => {
  const { ask, decoding, free, made } = behindOther();
  const leaver = new AbortController();
  const left = ask(leaver.signal);
  leaver.abort('left');
  await assert.rejects(left, (reason) => reason === 'left');
  assert.equal(decoding.stats().waiting, 0);
  await free();
  assert.equal(made(), 0);
});

test('callers who wait for the same thumbnail get it made once, also if the first leaves', async () => {
  const { ask, free, made } = behindOther();
  const leaver = new AbortController();
  const left = ask(leaver.signal);
  const { signal } = new AbortController();
  const both = [ask(signal), ask(signal)];
  leaver.abort('left');
  await assert.rejects(left);
  await free();
  const [one, two] = await Promise.all(both);
  assert.ok(one && one.length > 0);
  assert.equal(one, two);
  assert.equal(await ask(signal), one);
  assert.equal(made(), 1);
});
