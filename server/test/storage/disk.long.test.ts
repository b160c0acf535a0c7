import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import {
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  utimes,
  writeFile,
  type FileHandle,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { DiskStorage } from '../../src/storage/disk.ts';
import { openStorage } from '../../src/storage/index.ts';
import { StorageFull } from '../../src/storage/storage.ts';
import { isLong } from '../kit/long.ts';
import { chunked, conformance, exists, readAll, type OpenedStorage } from './conformance.ts';

const childScript = join(import.meta.dirname, 'disk-child.ts');

conformance('the disk', async (): Promise<OpenedStorage> => {
  const root = await mkdtemp(join(tmpdir(), 'farebox-disk-'));
  return {
    storage: openStorage(`disk:${root}`),
    contents: () => contentsOf(root),
    close: () => rm(root, { recursive: true }),
  };
});

describe('the disk', () => {
  let root: string;
  before(async () => void (root = await mkdtemp(join(tmpdir(), 'farebox-disk-'))));
  after(() => rm(root, { recursive: true }));

  const onLinux = { skip: process.platform === 'linux' ? false : 'reads /proc' };

  test('no file stays open, however the reading and writing ended', onLinux, async () => {
    const storage = new DiskStorage(root);
    const body = (): AsyncIterable<Uint8Array> => chunked(Buffer.alloc(2_000_000), 65_536);
    await storage.put('fd/0', body());
    const before_ = openFiles(root);
    for (let i = 0; i < 20; i += 1) {
      await readAll(storage, 'fd/0');
      for await (const _chunk of (await storage.open('fd/0'))!) break;
      // Opened and never read.
      await storage.open('fd/0');
      const unread = (await storage.open('fd/0', { start: 5, end: 9 }))!;
      await unread[Symbol.asyncIterator]().return?.();
      await assert.rejects(storage.put('fd/1', body(), { maxBytes: 1_000_000 }));
      await assert.rejects(
        readAll(storage, 'fd/0', { start: 1_999_999, end: 2_000_000 }),
        RangeError,
      );
      await (await storage.openAsPath('fd/0'))!.done();
    }
    assert.deepEqual(openFiles(root), before_);
    assert.deepEqual(before_, []);
  });

  test('a reader reads the object it began with to the end, replaced or removed', async () => {
    const storage = new DiskStorage(root);
    await storage.put('kept/0', chunked(Buffer.alloc(1_000_000, 'a'), 65_536));
    const reader = (await storage.open('kept/0'))![Symbol.asyncIterator]();
    let read = (await reader.next()).value.length;
    await storage.put('kept/0', chunked(Buffer.from('b'), 1));
    await storage.remove('kept/0');
    for (let got = await reader.next(); !got.done; got = await reader.next()) {
      assert.ok(got.value.every((byte: number) => byte === 97));
      read += got.value.length;
    }
    assert.equal(read, 1_000_000);
  });

  test('a start removes leftovers of a crash that are an hour old, and nothing else', async () => {
    const storage = new DiskStorage(root);
    await storage.put('sweep/0', chunked(Buffer.from('kept'), 4));
    const [old, young] = [join(root, '.temp', 'old'), join(root, '.temp', 'young')];
    const hourAgo = new Date(Date.now() - 61 * 60_000);
    for (const path of [old, young]) await writeFile(path, 'half');
    for (const path of [old, join(root, 'sweep/0')]) await utimes(path, hourAgo, hourAgo);
    openStorage(`disk:${root}`);
    assert.equal(await exists(old), false);
    assert.equal(await exists(young), true);
    assert.deepEqual(await readAll(storage, 'sweep/0'), Buffer.from('kept'));
    await rm(young);
  });

  test('a process killed in mid-put leaves the older object whole', async () => {
    const storage = new DiskStorage(root);
    await storage.put('killed/0', chunked(Buffer.from('older'), 5));
    const child = spawn(process.execPath, [childScript, 'hang', root], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {},
    });
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal((await contentsOf(root)).leftovers.length, 1);
    assert.deepEqual(await readAll(storage, 'killed/0'), Buffer.from('older'));
    for (const name of await readdir(join(root, '.temp'))) await rm(join(root, '.temp', name));
  });

  test('a full disk is StorageFull and leaves nothing but the older object', async () => {
    let written = 0;
    const storage = new DiskStorage(root, {
      createFile: handleWith((handle) => {
        const write = handle.write.bind(handle);
        handle.write = (async (bytes: Uint8Array, offset: number) => {
          if (written > 0) throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
          written = 1000;
          return await write(bytes, offset, written);
        }) as typeof handle.write;
      }),
    });
    await new DiskStorage(root).put('full/0', chunked(Buffer.from('older'), 5));
    const put = storage.put('full/0', chunked(Buffer.alloc(600_000), 65_536));
    await assert.rejects(
      put,
      (error) => error instanceof StorageFull && error.cause instanceof Error,
    );
    assert.equal(written, 1000);
    assert.deepEqual(await readAll(storage, 'full/0'), Buffer.from('older'));
    assert.deepEqual((await contentsOf(root)).leftovers, []);
    assert.deepEqual(openFiles(root), []);
  });

  test('a real file system that is full answers the same', async (t) => {
    const mountAndFill =
      'mount -t tmpfs -o size=1m tmpfs "$3" || exit 99; exec "$0" "$1" "$2" "$3"';
    const command = [process.execPath, childScript, 'fill', await mkdtemp(join(root, 'mount-'))];
    const child = spawn('unshare', ['-rm', 'sh', '-c', mountAndFill, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (d: Buffer) => output.push(d));
    const code = await new Promise((resolve) => {
      child.on('error', () => resolve(99)).on('close', resolve);
    });
    const refused = /unshare: unshare failed/.test(Buffer.concat(output).toString());
    if (code === 99 || refused) return t.skip('this machine lets nobody mount a small file system');
    assert.equal(code, 0, Buffer.concat(output).toString());
    assert.match(Buffer.concat(output).toString(), /^StorageFull older 0 left/m);
  });

  test('bytes that did not reach the disk are not acknowledged', async () => {
    const storage = new DiskStorage(root, {
      createFile: handleWith((handle) => {
        handle.sync = () =>
          Promise.reject(Object.assign(new Error('EIO: i/o error'), { code: 'EIO' }));
      }),
    });
    await assert.rejects(storage.put('eio/0', chunked(Buffer.from('lost'), 4)), { code: 'EIO' });
    assert.equal(await storage.open('eio/0'), null);
    assert.deepEqual((await contentsOf(root)).leftovers, []);
  });

  test('a file is synced when it is completely written, before it gets its name', async () => {
    const steps: string[] = [];
    const storage = new DiskStorage(root, {
      createFile: handleWith((handle) => {
        const sync = handle.sync.bind(handle);
        handle.sync = async () => {
          const { size } = await handle.stat();
          steps.push(`sync at ${size} bytes, named: ${existsSync(join(root, 'synced/0'))}`);
          await sync();
        };
      }),
    });
    await storage.put('synced/0', chunked(Buffer.alloc(300_000), 65_536));
    assert.deepEqual(steps, ['sync at 300000 bytes, named: false']);
  });

  test('a key below an object is refused, and the object stays', async () => {
    const storage = new DiskStorage(root);
    await storage.put('below', chunked(Buffer.from('object'), 6));
    await assert.rejects(storage.put('below/0', chunked(Buffer.from('x'), 1)));
    assert.equal(await storage.open('below/0'), null);
    await storage.remove('below/0');
    await storage.removeAll('below/0');
    assert.deepEqual(await readAll(storage, 'below'), Buffer.from('object'));
    assert.deepEqual((await contentsOf(root)).leftovers, []);
  });

  test('a put succeeds even if removals delete its folder meanwhile', async () => {
    const storage = new DiskStorage(root);
    const busy = async (_: unknown, i: number): Promise<void> => {
      for (let round = 0; round < (isLong ? 80 : 20); round += 1) {
        await storage.put(`tidied/away/${i}`, chunked(Buffer.from('x'), 1));
        await storage.remove(`tidied/away/${i}`);
      }
    };
    await Promise.all(Array.from({ length: 3 }, busy));
    assert.equal(await exists(join(root, 'tidied')), false);
  });

  test('removing leaves no empty folders behind', async () => {
    const storage = new DiskStorage(root);
    await storage.put('tidy/a/b/0', chunked(Buffer.from('x'), 1));
    await storage.put('tidy/a/1', chunked(Buffer.from('x'), 1));
    await storage.remove('tidy/a/b/0');
    assert.equal(await exists(join(root, 'tidy/a/b')), false);
    assert.equal(await exists(join(root, 'tidy/a/1')), true);
    await storage.removeAll('tidy/a');
    assert.equal(await exists(join(root, 'tidy')), false);
    assert.equal(await exists(root), true);
  });

  test('no other user of the machine can read an object', async () => {
    const storage = new DiskStorage(root);
    await storage.put('private/0', chunked(Buffer.from('x'), 1));
    assert.equal((await stat(join(root, 'private/0'))).mode & 0o077, 0);
    assert.equal((await stat(join(root, 'private'))).mode & 0o077, 0);
  });

  test('a path that cannot be a folder fails at the start', async () => {
    await writeFile(join(root, 'file'), '');
    assert.throws(() => openStorage(`disk:${join(root, 'file')}`));
    assert.throws(() => openStorage(`disk:${join(root, 'file', 'below')}`), /EEXIST.*file'/);
    assert.throws(() => openStorage('disk:'), TypeError);
    assert.equal((await readFile(join(root, 'file'))).length, 0);
  });
});

/** Makes file handles as the store does, with changes. */
function handleWith(change: (handle: FileHandle) => void): (path: string) => Promise<FileHandle> {
  return async (path) => {
    const handle = await open(path, 'wx', 0o600);
    change(handle);
    return handle;
  };
}

async function contentsOf(root: string): Promise<{ keys: string[]; leftovers: string[] }> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  const isTemp = (path: string): boolean => path.startsWith('.temp/');
  return { keys: files.filter((path) => !isTemp(path)).sort(), leftovers: files.filter(isTemp) };
}

/** The files below `root` that this process has open. */
function openFiles(root: string): string[] {
  if (process.platform !== 'linux') return [];
  const folder = '/proc/self/fd';
  const names = readdirSync(folder).map((fd) => {
    try {
      return readlinkSync(join(folder, fd));
    } catch {
      return '';
    }
  });
  return names.filter((name) => name.startsWith(root));
}
