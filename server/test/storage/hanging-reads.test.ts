import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { once, type Bytes } from '../../src/lib/streams.ts';
import { DiskStorage } from '../../src/storage/disk.ts';
import { StorageAway } from '../../src/storage/storage.ts';
import { watchStorage } from '../../src/storage/watched.ts';
import { until } from '../kit/until.ts';

/** A disk that answers probes, while reads of its files hang. */

const bytes = Buffer.alloc(300_000, 'picture');
const never = new Promise<never>(() => {});
let folder: string;
let disk: DiskStorage;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farebox-hanging-'));
  disk = new DiskStorage(folder);
  await disk.put('a', once(bytes));
});
after(() => rm(folder, { recursive: true, force: true }));

/** The storage whose `open` is spoiled, and the number of its probes. */
function watched(open: () => Promise<Bytes | null>) {
  const seen = { probes: 0, away: 0 };
  const inner: DiskStorage = Object.create(disk, {
    open: { value: open },
    checkReachable: { value: () => ((seen.probes += 1), disk.checkReachable()) },
  });
  const onAway = () => void (seen.away += 1);
  const times = { everyMs: 3_600_000, readMs: 50 };
  return { seen, storage: watchStorage(inner, { ...times, onAway, onBack: () => {} }) };
}

async function all(source: Bytes | null): Promise<Buffer> {
  const read: Uint8Array[] = [];
  for await (const piece of source!) read.push(piece);
  return Buffer.concat(read);
}

async function* hanging(pieces: number): Bytes {
  for await (const piece of (await disk.open('a'))!) {
    if (pieces-- === 0) await never;
    yield piece;
  }
}

const cases: [name: string, open: () => Promise<Bytes | null>][] = [
  ['opens no file', () => never],
  ['gives no byte', async () => hanging(0)],
  ['stops in the middle', async () => hanging(2)],
];
for (const [name, open] of cases)
  test(`a read ends if the disk ${name}, and the disk is probed`, { timeout: 60_000 }, async () => {
    const { storage, seen } = watched(open);
    await until('it was probed at the start', () => seen.probes === 1);
    await assert.rejects(async () => all(await storage.open('a')), StorageAway);
    await until('it is probed again', () => seen.probes > 1);
    assert.equal(seen.away, 0);
    storage.stop();
  });
