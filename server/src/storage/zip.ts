import { Readable } from 'node:stream';
import { makeZip, predictLength } from 'client-zip';
import type { Storage } from './storage.ts';

/** Stored files as one ZIP, which is made while it is sent: no file is held in memory. */

export interface ZippedFile {
  storage_key: string;
  size: number;
  /** Unique among the files, with its ending. */
  file_name: string;
  /** Begins the name, so that people know the file; may be empty. */
  prompt: string;
  at: Date;
}

/** `size`: the bytes of the whole. The stream breaks if a file is deleted meanwhile. */
export function zipOf(
  files: readonly ZippedFile[],
  storage: Pick<Storage, 'open'>,
): { size: bigint; stream: Readable } {
  const size = predictLength(files.map((file) => ({ name: nameInZip(file), size: file.size })));
  return {
    size: BigInt(size),
    stream: Readable.fromWeb(makeZip(readEntries(files, storage)) as never),
  };
}

async function* readEntries(files: readonly ZippedFile[], storage: Pick<Storage, 'open'>) {
  for (const file of files) {
    const input = await storage.open(file.storage_key);
    if (input === null) throw new Error(`${file.storage_key} is not in the storage`);
    yield { name: nameInZip(file), size: file.size, lastModified: file.at, input };
  }
}

/** Some systems allow names of 255 bytes, and a character may have four. */
const wordsMax = 40;

/** Characters that some system forbids in a name, and marks that would turn its text around. */
const unfit = /[\p{Cc}\p{Zl}\p{Zp}\\/:*?"<>|\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]+/gu;

export function nameInZip({ prompt, file_name }: Pick<ZippedFile, 'prompt' | 'file_name'>): string {
  const words = Array.from(prompt.replaceAll(unfit, ' ').replaceAll(/\s+/g, ' ').trim());
  const start = words
    .slice(0, wordsMax)
    .join('')
    .replace(/^[.\s]+|[.\s]+$/g, '');
  return start === '' ? file_name : `${start} ${file_name}`;
}
