import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { codeOf } from '../unknown.ts';

/**
 * Makes a folder and its missing parents. Returns the first folder that it made, or undefined if
 * all existed. Works level by level, because Node's `recursive` loops forever if the system lists a
 * parent and then denies that it exists, as /proc does.
 */
export function makeFolders(path: string, mode = 0o777): string | undefined {
  const missing: string[] = [];
  for (let each = resolve(path); !isFolder(each); each = dirname(each)) missing.unshift(each);
  let first: string | undefined;
  for (const each of missing) {
    try {
      mkdirSync(each, { mode });
      first ??= each;
    } catch (error) {
      // Another process may have just made the folder. A file with this name is an error.
      if (codeOf(error) !== 'EEXIST' || !isFolder(each)) throw error;
    }
  }
  return first;
}

/**
 * Makes a folder that other users of this machine cannot read, and removes excess rights from an
 * existing one. Folders of other users, and folders with a sticky bit, which are shared on purpose,
 * stay unchanged.
 */
export function makePrivate(path: string, mode: 0o700 | 0o711): void {
  makeFolders(path, mode);
  const { mode: found, uid } = statSync(path);
  const isShared = (found & 0o1000) !== 0;
  if (isShared || uid !== process.getuid?.() || (found & 0o777 & ~mode) === 0) return;
  chmodSync(path, found & mode);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
