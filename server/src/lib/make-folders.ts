import { mkdirSync, statSync } from 'node:fs';
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

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
