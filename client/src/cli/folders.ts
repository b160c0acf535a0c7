import { closeSync, existsSync, mkdirSync, openSync, rmdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { newKey } from '../runtime.ts';

/**
 * Makes a folder and its missing parents. Node's own recursive form never returns if a parent
 * exists but takes no folders, as in /proc. `made` gets the new folders, outermost first.
 */
export function makeFolder(folder: string, mode = 0o777, made: string[] = []): void {
  const missing: string[] = [];
  for (let at = path.resolve(folder); !existsSync(at); at = path.dirname(at)) missing.unshift(at);
  for (const each of missing) {
    mkdirSync(each, { mode });
    made.push(each);
  }
}

/** Throws the system's error if no file of this name can be made in the folder. */
export function tryFile(folder: string, name: string): void {
  const file = path.join(folder, `${name}.${newKey().slice(0, 8)}.part`);
  closeSync(openSync(file, 'wx'));
  rmSync(file);
}

/** As `tryFile`, in a folder that may be missing and is then removed again. */
export function tryFolder(folder: string, name: string): void {
  const made: string[] = [];
  try {
    makeFolder(folder, undefined, made);
    tryFile(folder, name);
  } finally {
    for (const each of made.toReversed()) rmdirSync(each);
  }
}
