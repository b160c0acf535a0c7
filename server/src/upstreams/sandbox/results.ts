import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE, isCode, readJson, remove } from './folder.ts';
import type { Folder } from './folder.ts';
import type { Made } from './render.ts';

/** What came of a job, kept beside the files that were made. */
export type Kept =
  | { state: 'done'; made: Made }
  | { state: 'failed'; code: 'upstream_rejected' | 'upstream_failed'; message: string };

export function createResults({ at, ready }: Folder) {
  return {
    result: (key: string): Promise<Kept | null> => {
      return readJson<Kept>(at('results', key, 'manifest.json'));
    },
    resultFile: (key: string, file: string): Promise<Buffer> => readFile(at('results', key, file)),
    /** A folder to render into; nobody looks at it before `keep`. */
    async newOut(): Promise<string> {
      await ready();
      const path = at('tmp', randomUUID());
      await mkdir(path, { mode: 0o700 });
      return path;
    },
    dropOut: (path: string): Promise<void> => remove(path),
    /** Makes a folder of made files the result; where there is one already, that one stays. */
    async keep(key: string, out: string, kept: Kept): Promise<void> {
      await writeFile(join(out, 'manifest.json'), JSON.stringify(kept), PRIVATE);
      try {
        await rename(out, at('results', key));
      } catch (error) {
        if (!isCode(error, 'ENOTEMPTY', 'EEXIST')) throw error;
        await remove(out);
      }
    },
  };
}
