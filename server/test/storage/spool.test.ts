import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Spool, SpoolFull } from '../../src/storage/spool.ts';
import { chunked } from './conformance.ts';

describe('the spool', () => {
  let dir: string;
  const open = (maxBytes = 1_000) => Spool.open(dir, { maxBytes, keepFreeBytes: 0 });
  const entry = (id: string, bytes: number, account_id = 'a') => ({
    id,
    attempt: 1,
    account_id,
    told: { of: id },
    files: [async () => chunked(Buffer.alloc(bytes, 7), 100)],
  });
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'farebox-spool-'))));
  afterEach(() => rmSync(dir, { recursive: true }));

  test('returns stored results, also to a later process', async () => {
    await (await open()).keep(entry('one', 250));
    const spool = await open();
    assert.deepEqual(spool.ids(), ['one']);
    const found = await spool.find('one');
    assert.deepEqual([found?.attempt, found?.told], [1, { of: 'one' }]);
    const read = await Array.fromAsync(await found!.files[0]!());
    assert.deepEqual(Buffer.concat(read), Buffer.alloc(250, 7));
    await spool.remove('one');
    assert.deepEqual([spool.ids(), await spool.find('one')], [[], null]);
    assert.deepEqual(spool.usage(), { results: 0, bytes: 0 });
  });

  test('leaves half of the rest to others, even if one account has many results', async () => {
    const spool = await open(1_000);
    await spool.keep(entry('one', 500));
    await assert.rejects(spool.keep(entry('two', 400)), SpoolFull);
    assert.deepEqual(spool.ids(), ['one']);
    await spool.keep(entry('three', 200, 'b'));
    assert.deepEqual(spool.usage(), { results: 2, bytes: 700 });
    await spool.remove('one');
    await spool.keep(entry('two', 400));
  });

  test('results of an earlier process count', async () => {
    await (await open(1_000)).keep(entry('one', 500));
    await assert.rejects((await open(1_000)).keep(entry('two', 400)), SpoolFull);
  });

  test('an incomplete entry is ignored', async () => {
    const spool = await open();
    const broken = { ...entry('one', 100), files: [async () => failing()] };
    await assert.rejects(spool.keep(broken), /cut off/);
    assert.equal(await spool.find('one'), null);
    assert.deepEqual(spool.usage(), { results: 0, bytes: 0 });
    assert.deepEqual(
      readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) =>
        statSync(join(dir, path)).isFile(),
      ),
      [],
    );
  });

  test('keeps the disk from running full', async () => {
    const spool = await Spool.open(dir, {
      maxBytes: 1_000,
      keepFreeBytes: Number.MAX_SAFE_INTEGER,
    });
    await assert.rejects(spool.keep(entry('one', 1)), SpoolFull);
  });
});

async function* failing(): AsyncIterable<Uint8Array> {
  yield Buffer.alloc(50);
  throw new Error('cut off');
}
