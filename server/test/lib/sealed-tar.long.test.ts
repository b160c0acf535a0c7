import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import {
  DamagedArchive,
  readFirstName,
  proveSeal,
  readEntries,
  tarWriter,
} from '../../src/lib/files/sealed-tar.ts';

let folder: string;
before(() => (folder = mkdtempSync(join(tmpdir(), 'farebox-tar-'))));
after(() => rmSync(folder, { recursive: true, force: true }));

type Entry = [name: string, content: Buffer];

async function sealed(entries: Entry[]): Promise<Buffer> {
  const path = join(folder, 'made');
  rmSync(path, { force: true });
  const file = await open(path, 'wx');
  try {
    const writer = tarWriter(file);
    for (const [name, content] of entries)
      await writer.add(name, content.length, Readable.from([content]));
    const { bytes } = await writer.seal();
    const content = readFileSync(path);
    assert.equal(content.length, bytes);
    return content;
  } finally {
    await file.close();
  }
}

async function read(content: Buffer): Promise<Entry[]> {
  writeFileSync(join(folder, 'read'), content);
  const file = await open(join(folder, 'read'));
  try {
    await proveSeal(file);
    const found: Entry[] = [];
    for await (const { name, size, body } of readEntries(file)) {
      found.push([name, await buffer(body)]);
      assert.equal(found.at(-1)![1].length, size);
    }
    assert.equal(await readFirstName(file), found[0]?.[0] ?? '');
    return found;
  } finally {
    await file.close();
  }
}

describe('a sealed tar file', () => {
  test('returns the entries that were written', async () => {
    const entry = fc.tuple(
      fc.stringMatching(/^[a-z0-9/]{1,90}[a-z]$/),
      fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 6 }), async (entries) => {
        assert.deepEqual(await read(await sealed(entries)), entries);
      }),
      { numRuns: 50 },
    );
  });

  test('is read by tar', async () => {
    await sealed([
      ['a', Buffer.from('some')],
      ['b/c', Buffer.alloc(70_000, 'x')],
    ]);
    const list = execFileSync('tar', ['-tf', join(folder, 'made')], { encoding: 'utf8' });
    assert.equal(list, 'a\nb/c\n');
  });

  test('is recognised when a byte of it is changed, missing or added', async () => {
    const whole = await sealed([
      ['first', Buffer.from('some')],
      ['second', Buffer.alloc(0)],
      ['third', Buffer.from('more')],
    ]);
    assert.equal((await read(whole)).length, 3);
    for (let at = 0; at < whole.length; at += 7) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 0x20;
      await assert.rejects(read(changed), DamagedArchive, `changed at ${at}`);
      await assert.rejects(read(whole.subarray(0, at)), DamagedArchive, `cut at ${at}`);
    }
    await assert.rejects(read(Buffer.concat([whole, Buffer.of(0)])), DamagedArchive, 'one more');
  });

  test('fails with the error of a body, and with that of the file', async () => {
    const lost = new Error('lost on the way');
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('so');
      throw lost;
    }
    const file = await open(join(folder, 'broken'), 'wx');
    await assert.rejects(tarWriter(file).add('a', 4, broken()), lost);
    await file.close();
    const writer = tarWriter(file);
    const large = Readable.from(Array.from({ length: 40 }, () => Buffer.alloc(1024 * 1024)));
    await assert.rejects(writer.add('b', 40 * 1024 * 1024, large), { code: 'EBADF' });
  });
});
