import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, unlink, writeFile } from 'node:fs/promises';
import { createClaims } from './claims.ts';
import { PRIVATE, exists, isCode, openFolder, readJson, remove } from './folder.ts';
import type { Folder } from './folder.ts';
import { createJournal } from './journal.ts';
import type { Order } from './order.ts';
import { prune } from './prune.ts';
import { createResults } from './results.ts';

/**
 * The sandbox's memory: a folder that several processes share.
 *
 *   jobs/<key>.json            one accepted job; its existence is the acceptance
 *   jobs/<key>.cancelled       a wish to stop
 *   files/<folder>/<n>         the caller's files of one job
 *   results/<key>/             manifest.json and the made files; appears whole
 *   claims/<key>               who renders the job now
 *   journal.ndjson             a line a call
 *
 * Everything that counts appears by link or rename, so a process killed at any moment leaves no
 * half of it.
 */

export interface Job {
  version: 1;
  key: string;
  request_id: string;
  idempotency_key: string;
  model: string;
  order: Order;
  fault: 'fail' | 'hang' | 'bad-output' | null;
  /** Name of the job's folder below `files`. */
  folder: string;
  accepted_at: string;
  ready_at: string;
}

export type Jobs = ReturnType<typeof openJobs>;

/** A file name for an idempotency key: plain keys as they are, others by their hash. */
export function keyOf(idempotency_key: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,99}$/.test(idempotency_key)) return idempotency_key;
  return `~${createHash('sha256').update(idempotency_key).digest('hex')}`;
}

export function isKey(value: unknown): value is string {
  return typeof value === 'string' && /^(~[0-9a-f]{64}|[a-z0-9][a-z0-9_-]{0,99})$/.test(value);
}

export function openJobs(dir: string) {
  const folder = openFolder(dir);
  return {
    ...acceptance(folder),
    ...createResults(folder),
    ...createClaims(folder),
    ...createJournal(folder),
    prune: (now: number): Promise<void> => prune(folder, now),
  };
}

function acceptance({ at, ready }: Folder) {
  return {
    /** A new folder for one job's files, below `files`. */
    async newFolder(): Promise<{ folder: string; path: string }> {
      await ready();
      const folder = randomUUID();
      await mkdir(at('files', folder), { mode: 0o700 });
      return { folder, path: at('files', folder) };
    },
    folderPath: (job: Job): string => at('files', job.folder),
    dropFolder: (folder: string): Promise<void> => remove(at('files', folder)),

    read: (key: string): Promise<Job | null> => readJson<Job>(at('jobs', `${key}.json`)),
    /** False where the key was accepted before: by this process or another. */
    async accept(job: Job): Promise<boolean> {
      await ready();
      const temporary = at('tmp', randomUUID());
      await writeFile(temporary, JSON.stringify(job), PRIVATE);
      try {
        await link(temporary, at('jobs', `${job.key}.json`));
        return true;
      } catch (error) {
        if (!isCode(error, 'EEXIST')) throw error;
        return false;
      } finally {
        // Accepted or not, a file left over decides nothing; it is pruned one day.
        await unlink(temporary).catch(() => undefined);
      }
    },
    cancel: (key: string): Promise<void> => writeFile(at('jobs', `${key}.cancelled`), '', PRIVATE),
    isCancelled: (key: string): Promise<boolean> => exists(at('jobs', `${key}.cancelled`)),
  };
}
