import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Makes a folder and those above it that are missing. Returns the first that it made; nothing where
 * all were there. Level by level, since Node's `recursive` tries for ever where the system shows a
 * parent and then denies that it is there, as /proc does.
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
      // Another process may have made it at the same moment; anything else is in the way.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isFolder(each)) throw error;
    }
  }
  return first;
}

/**
 * Makes a folder that other users of this machine cannot read, and takes excess rights from one
 * that exists. Folders of others, and those that are shared on purpose, stay as they are.
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
