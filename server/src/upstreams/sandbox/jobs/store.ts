import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivate } from '../../../lib/files/make-folders.ts';
import { codeOf } from '../../../lib/unknown.ts';
import type { RenderJob } from '../media/render.ts';
import type { Order } from '../orders/order.ts';
import { fromJson } from '../../../lib/json.ts';

/**
 * The sandbox's storage: a folder that the processes of one machine share.
 *
 *   jobs/<key>/job.json      an accepted job
 *   jobs/<key>/0, 1, …       the caller's files
 *   jobs/<key>/cancelled     marks a cancelled job
 *   jobs/<key>/result/       result.json and the files that were made
 *   tmp/<uuid>/              a folder that will become a job or a result
 *
 * Jobs and results appear complete, by a rename, even if the process is killed at any moment. Only
 * this system user can read them, because prompts and callers' media are private.
 */

export interface SandboxJob {
  key: string;
  order: Order;
  fault: 'fail' | 'hang' | 'bad-output' | null;
  /** PID of the process that accepted the job and renders it unless it dies. */
  pid: number;
  accepted_at: string;
  ready_at: string;
}

export type SandboxResult =
  | { state: 'done'; made: RenderJob }
  | { state: 'failed'; code: 'upstream_rejected' | 'upstream_failed'; message: string };

export type Store = ReturnType<typeof openStore>;

const jobLifeMs = 2 * 60 * 60 * 1000;
const readable = { mode: 0o600 };

const plainKey = /^[a-z0-9][a-z0-9_-]{0,99}$/;

/** A file name for an idempotency key: a plain key is used unchanged, any other is hashed. */
export function keyOf(idempotency_key: string): string {
  if (plainKey.test(idempotency_key)) return idempotency_key;
  return `~${createHash('sha256').update(idempotency_key).digest('hex')}`;
}

export function openStore(dir: string) {
  const folderOf = (key: string): string => join(dir, 'jobs', key);
  return {
    folderOf,
    async newFolder(): Promise<string> {
      makePrivate(dir, 0o700);
      const path = join(dir, 'tmp', randomUUID());
      for (const each of [path, join(dir, 'jobs')])
        await mkdir(each, { recursive: true, mode: 0o700 });
      return path;
    },
    remove: (path: string): Promise<void> => rm(path, { recursive: true, force: true }),
    /** Turns a new folder into the job; false if any process has already accepted the key. */
    async accept(job: SandboxJob, folder: string): Promise<boolean> {
      await writeFile(join(folder, 'job.json'), JSON.stringify(job), readable);
      return becomes(folder, folderOf(job.key));
    },
    /** Null for an unknown job or an invalid key. */
    async read(key: unknown): Promise<SandboxJob | null> {
      const isKey = (name: string) => plainKey.test(name) || /^~[0-9a-f]{64}$/.test(name);
      return typeof key === 'string' && isKey(key)
        ? readJson<SandboxJob>(join(folderOf(key), 'job.json'))
        : null;
    },
    cancel: (key: string): Promise<void> =>
      writeFile(join(folderOf(key), 'cancelled'), '', readable),
    /** Unix milliseconds; null if it was not cancelled. */
    cancelledAt: (key: string): Promise<number | null> =>
      stat(join(folderOf(key), 'cancelled')).then(
        ({ mtimeMs }) => mtimeMs,
        () => null,
      ),
    result: (key: string): Promise<SandboxResult | null> =>
      readJson<SandboxResult>(join(folderOf(key), 'result', 'result.json')),
    resultFile: (key: string, file: string): Promise<Buffer> =>
      readFile(join(folderOf(key), 'result', file)),
    /** Turns a new folder into the job's result; an existing result is kept instead. */
    async keep(key: string, folder: string, result: SandboxResult): Promise<void> {
      await writeFile(join(folder, 'result.json'), JSON.stringify(result), readable);
      await becomes(folder, join(folderOf(key), 'result'));
    },
    /** Removes everything unchanged for two hours, also files of older versions. */
    async prune(now: number): Promise<void> {
      for (const part of await readdir(dir)) {
        for (const name of await readdir(join(dir, part)).catch(() => [])) {
          const path = join(dir, part, name);
          const changed = (await stat(path).catch(() => null))?.mtimeMs ?? now;
          if (changed < now - jobLifeMs) await rm(path, { recursive: true, force: true });
        }
      }
    },
  };
}

/** Gives a folder its final name. If the name is taken, removes the folder and returns false. */
async function becomes(folder: string, name: string): Promise<boolean> {
  try {
    await rename(folder, name);
    return true;
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
    await rm(folder, { recursive: true, force: true });
    return false;
  }
}

async function readJson<T>(path: string): Promise<T | null> {
  try {
    return fromJson<T>(await readFile(path, 'utf8'));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}
