import { mkdir, readFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivate } from '../../lib/private-folder.ts';

/** The folder that the processes of one machine share, and how it is read. */

export interface Folder {
  at(...parts: string[]): string;
  /** Makes what is missing; cheap after the first time. */
  ready(): Promise<void>;
}

/** For every file: prompts and callers' media are nobody else's on this machine. */
export const PRIVATE = { mode: 0o600 };

const PARTS = ['jobs', 'files', 'results', 'claims', 'tmp'];

export function openFolder(dir: string): Folder {
  let made: Promise<void> | undefined;
  const make = async (): Promise<void> => {
    makePrivate(dir, 0o700);
    for (const part of PARTS) await mkdir(join(dir, part), { recursive: true, mode: 0o700 });
  };
  return {
    at: (...parts) => join(dir, ...parts),
    ready() {
      made ??= make().catch((error) => {
        made = undefined;
        throw error;
      });
      return made;
    },
  };
}

/** Null where there is no such file, or not a whole one. */
export async function readJson<T>(path: string): Promise<T | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T;
  } catch (error) {
    if (isCode(error, 'ENOENT') || error instanceof SyntaxError) return null;
    throw error;
  }
}

export async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

export async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}

/** Names in a folder of what nobody has changed since `before` (milliseconds). */
export async function untouched(path: string, before: number): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(path)) {
    const info = await stat(join(path, name)).catch(() => null);
    if (info && info.mtimeMs < before) found.push(name);
  }
  return found;
}

export function isCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '');
}
