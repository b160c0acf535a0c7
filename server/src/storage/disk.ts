import { randomUUID } from 'node:crypto';
import { existsSync, type Stats } from 'node:fs';
import { mkdir, open, opendir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { freeBytesAt } from '../lib/files/free-bytes.ts';
import { makeFolders } from '../lib/files/make-folders.ts';
import type { Bytes } from '../lib/streams.ts';
import { asStorageError, hasCode, writeBody, type PutOptions } from './intake.ts';
import { assertKey, assertRange } from './key.ts';
import type { ListedObject, Storage, StoredObject } from './storage.ts';
import { sweepTemp } from './temp.ts';

const staleTempMs = 60 * 60 * 1000;
const readBytes = 64 * 1024;
const pageLength = 1000;

type FileHandle = Awaited<ReturnType<typeof open>>;
/** Creates a file that must not exist yet. */
type CreateFile = (path: string) => Promise<FileHandle>;

const createFile: CreateFile = (path) => open(path, 'wx', 0o600);

/**
 * Stores objects as files below one folder, which several processes may share. An object is written
 * under a temporary name on the same file system and renamed when it is complete and durable, so
 * the last completed write wins. `put` rejects a key that lies below another object's key.
 */
export class DiskStorage implements Storage {
  readonly #root: string;
  readonly #temp: string;
  readonly #createFile: CreateFile;

  /**
   * Makes the folder if needed and removes leftovers of crashes. Throws if the folder cannot be
   * used. `isKnown`: the folder was used before. If it then lacks `.temp`, its disk is probably not
   * mounted, so nothing is created and the store counts as unavailable.
   */
  constructor(root: string, options: { createFile?: CreateFile; isKnown?: boolean } = {}) {
    this.#root = resolve(root);
    this.#temp = join(this.#root, '.temp');
    this.#createFile = options.createFile ?? createFile;
    if (!options.isKnown) makeFolders(this.#temp, 0o700);
    if (existsSync(this.#temp)) sweepTemp(this.#temp, '', staleTempMs);
  }

  async put(key: string, body: Bytes, options: PutOptions = {}): Promise<StoredObject> {
    const target = this.#pathOf(key);
    const temp = join(this.#temp, randomUUID());
    try {
      const stored = await this.#write(temp, body, options);
      await this.#moveTo(temp, target);
      return stored;
    } catch (error) {
      // If the file cannot be removed now, the next start removes it.
      await rm(temp, { force: true }).catch(() => {});
      throw asStorageError(error);
    }
  }

  async open(key: string, range?: { start: number; end: number }): Promise<Bytes | null> {
    const path = this.#pathOf(key);
    if (range) assertRange(range);
    return (await isFile(path)) ? readFrom(path, range) : null;
  }

  async openAsPath(key: string): Promise<{ path: string; done(): Promise<void> } | null> {
    const path = this.#pathOf(key);
    return (await isFile(path)) ? { path, done: async () => {} } : null;
  }

  async remove(key: string): Promise<void> {
    const path = this.#pathOf(key);
    try {
      await unlink(path);
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR') || (await isFolder(path))) return;
      throw error;
    }
    await this.#tidy(dirname(path));
  }

  async removeAll(prefix: string): Promise<void> {
    const path = this.#pathOf(prefix);
    if (!(await isFolder(path))) return;
    await rm(path, { recursive: true, force: true, maxRetries: 3 });
    await this.#tidy(dirname(path));
  }

  async *list(prefix: string): AsyncGenerator<ListedObject[]> {
    let page: ListedObject[] = [];
    for await (const path of filesBelow(this.#pathOf(prefix))) {
      const found = await statOrNull(path);
      if (found === null) continue;
      page.push({ key: relative(this.#root, path), size: found.size, stored_at: found.mtime });
      if (page.length < pageLength) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }

  async linkTo(): Promise<null> {
    return null;
  }

  async checkReachable(): Promise<void> {
    try {
      await stat(this.#temp);
    } catch (cause) {
      if (!hasCode(cause, 'ENOENT', 'ENOTDIR')) throw cause;
      const words = `${this.#temp} is gone: mount the disk, or create that folder to start empty`;
      throw new Error(words, { cause });
    }
  }

  async freeBytes(): Promise<number> {
    return freeBytesAt(this.#root);
  }

  #pathOf(key: string): string {
    assertKey(key);
    return join(this.#root, key);
  }

  async #write(temp: string, body: Bytes, options: PutOptions): Promise<StoredObject> {
    const handle = await this.#createFile(temp);
    try {
      const stored = await writeBody(handle, body, options);
      // guard: bytes-reach-the-disk
      await handle.sync();
      return stored;
    } finally {
      await handle.close();
    }
  }

  async #moveTo(temp: string, target: string): Promise<void> {
    const folder = dirname(target);
    for (let attempt = 1; ; attempt += 1) {
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await rename(temp, target);
        break;
      } catch (error) {
        // A concurrent removal may delete the empty folder before it is used, so try again.
        if (attempt === 10 || !hasCode(error, 'ENOENT', 'ENOTDIR')) throw error;
      }
    }
    // Sync every folder up to the root, because another `put` may have made one without syncing it
    // yet.
    for (let each = folder; each !== this.#root; each = dirname(each)) await syncFolder(each);
    await syncFolder(this.#root);
  }

  /**
   * Removes the folders that became empty, and makes the removal durable: nothing would repeat it
   * later.
   */
  async #tidy(from: string): Promise<void> {
    let folder = from;
    while (folder !== this.#root) {
      try {
        await rmdir(folder);
      } catch (error) {
        if (!hasCode(error, 'ENOENT')) break;
      }
      folder = dirname(folder);
    }
    await syncFolder(folder);
  }
}

/** Opens the file at the first read, and closes it at the end or when the reader stops. */
async function* readFrom(path: string, range?: { start: number; end: number }): Bytes {
  const handle = await open(path);
  try {
    let position = range?.start ?? 0;
    let left = range ? range.end - range.start + 1 : Infinity;
    while (left > 0) {
      const buffer = Buffer.allocUnsafeSlow(Math.min(readBytes, left));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    if (range && left > 0)
      throw new RangeError(`the object ends ${left} bytes before the end of the range`);
  } finally {
    await handle.close();
  }
}

/** Reads one folder of each level at a time, because there may be millions. */
async function* filesBelow(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder).catch((error: unknown) => {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return [];
    throw error;
  });
  for await (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await statOrNull(path))?.isFile() ?? false;
}

async function isFolder(path: string): Promise<boolean> {
  return (await statOrNull(path))?.isDirectory() ?? false;
}

async function statOrNull(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return null;
    throw error;
  }
}

async function syncFolder(path: string): Promise<void> {
  let handle: FileHandle;
  try {
    handle = await open(path, 'r');
  } catch (error) {
    // The folder was removed in the meantime, and its entries with it.
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
