import { appendFile } from 'node:fs/promises';
import { PRIVATE } from './folder.ts';
import type { Folder } from './folder.ts';

/** A line for each call that reached the sandbox: the upstream's own word on what was submitted. */
export function createJournal({ at, ready }: Folder) {
  return {
    /** Adds a line; never fails, since what the line tells of has happened already. */
    async note(entry: Record<string, unknown>): Promise<void> {
      const line = JSON.stringify({ at: new Date().toISOString(), ...entry, pid: process.pid });
      await ready()
        .then(() => appendFile(at('journal.ndjson'), `${line}\n`, PRIVATE))
        .catch(() => undefined);
    },
  };
}
