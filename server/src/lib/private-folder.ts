import { chmodSync, statSync } from 'node:fs';
import { makeFolders } from './make-folders.ts';

/**
 * Makes a folder that other users of this machine cannot read, and takes what they may too much
 * from one that is there. Others' folders, and those that are shared on purpose, are left alone.
 */
export function makePrivate(path: string, mode: 0o700 | 0o711): void {
  makeFolders(path, mode);
  const { mode: found, uid } = statSync(path);
  const isShared = (found & 0o1000) !== 0;
  if (isShared || uid !== process.getuid?.() || (found & 0o777 & ~mode) === 0) return;
  chmodSync(path, found & mode);
}
