import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileProblem } from '../core/catalog/catalog-file.ts';
import { messageOf } from '../lib/unknown.ts';
import { emptyText, parseCatalogText, type ParsedText } from './text.ts';

/** The present contents of a file in the folder. */
export interface ReadFile {
  file: string;
  /** Null: it could not be read. */
  text: string | null;
  parsed: ParsedText;
}

/** A catalog of a thousand rows is about 2 MB; a larger file is not a catalog. */
const fileBytesMax = 8 * 1024 * 1024;

/** The latest contents that this process has read, by file name. */
const latest = new Map<string, ReadFile>();

/** The files of a folder, sorted by name. Rejects if the folder cannot be read. */
export async function readFiles(dir: string): Promise<ReadFile[]> {
  const names = await fileNames(dir);
  return Promise.all(names.map((file) => readOne(join(dir, file), file)));
}

async function readOne(path: string, file: string): Promise<ReadFile> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > fileBytesMax) throw new Error(`larger than ${fileBytesMax} bytes`);
    text = await readFile(path, 'utf8');
  } catch (error) {
    return { file, text: null, parsed: emptyText([unreadable(file, error)], null) };
  }
  // An unchanged file keeps its row objects, and so the values cached for each (a compiled schema).
  const old = latest.get(file);
  if (old?.text === text) return old;
  const read = { file, text, parsed: parseCatalogText(text, file) };
  latest.set(file, read);
  return read;
}

export function unreadable(file: string, error: unknown): FileProblem {
  return { file, path: '', message: `cannot be read: ${messageOf(error)}.` };
}

/** A string that changes when a file of the folder changes, or the folder appears or disappears. */
export async function signatureOf(dir: string): Promise<string> {
  const names = await fileNames(dir).catch(() => ['?']);
  const marks = names.map(async (name) => {
    const found = await stat(join(dir, name)).catch(() => null);
    return `${name} ${found?.ino} ${found?.size} ${found?.mtimeMs}`;
  });
  return (await Promise.all(marks)).join('\n');
}

async function fileNames(dir: string): Promise<string[]> {
  const names = await readdir(dir);
  return names.filter((name) => /^[^.].*\.ya?ml$/.test(name)).sort();
}
