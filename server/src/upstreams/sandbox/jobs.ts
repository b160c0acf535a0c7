import { createHash, randomUUID } from 'node:crypto';
import {
  appendFile,
  link,
  mkdir,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  unlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import type { Order } from './order.ts';
import type { Made } from './render.ts';

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
 * Everything appears by link or rename, so a process killed at any moment leaves no half of
 * anything that counts.
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

export type Kept =
  | { state: 'done'; made: Made }
  | { state: 'failed'; code: 'upstream_rejected' | 'upstream_failed'; message: string };

export const JOB_LIFE_MS = 2 * 60 * 60 * 1000;
const JOURNAL_MAX_BYTES = 64 * 1024 * 1024;
/** A claim whose holder has not touched it for this long has no holder. */
const CLAIM_LIFE_MS = 20_000;
export const CLAIM_TOUCH_MS = 5_000;

/** A file name for an idempotency key: plain keys as they are, others by their hash. */
export function keyOf(idempotency_key: string): string {
  if (/^[a-z0-9][a-z0-9_-]{0,99}$/.test(idempotency_key)) return idempotency_key;
  return `~${createHash('sha256').update(idempotency_key).digest('hex')}`;
}

export function isKey(value: unknown): value is string {
  return typeof value === 'string' && /^(~[0-9a-f]{64}|[a-z0-9][a-z0-9_-]{0,99})$/.test(value);
}

export function openJobs(dir: string) {
  const at = (...parts: string[]): string => join(dir, ...parts);
  let made: Promise<void> | undefined;

  function ready(): Promise<void> {
    made ??= (async () => {
      for (const part of ['jobs', 'files', 'results', 'claims', 'tmp'])
        await mkdir(at(part), { recursive: true });
    })().catch((error) => {
      made = undefined;
      throw error;
    });
    return made;
  }

  return {
    /** A new folder for one job's files, below `files`. */
    async newFolder(): Promise<{ folder: string; path: string }> {
      await ready();
      const folder = randomUUID();
      await mkdir(at('files', folder));
      return { folder, path: at('files', folder) };
    },
    folderPath: (job: Job): string => at('files', job.folder),
    dropFolder: (folder: string): Promise<void> => remove(at('files', folder)),

    async read(key: string): Promise<Job | null> {
      return readJson<Job>(at('jobs', `${key}.json`));
    },
    /** False where the key was accepted before: by this process or another. */
    async accept(job: Job): Promise<boolean> {
      await ready();
      const temporary = at('tmp', randomUUID());
      await writeFile(temporary, JSON.stringify(job));
      try {
        await link(temporary, at('jobs', `${job.key}.json`));
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        return false;
      } finally {
        // Accepted or not, a file left over decides nothing; it is pruned one day.
        await unlink(temporary).catch(() => undefined);
      }
    },
    async cancel(key: string): Promise<void> {
      await writeFile(at('jobs', `${key}.cancelled`), '');
    },
    isCancelled: (key: string): Promise<boolean> => exists(at('jobs', `${key}.cancelled`)),

    result: (key: string): Promise<Kept | null> =>
      readJson<Kept>(at('results', key, 'manifest.json')),
    resultFile: (key: string, file: string): Promise<Buffer> => readFile(at('results', key, file)),
    async newOut(): Promise<string> {
      await ready();
      const path = at('tmp', randomUUID());
      await mkdir(path);
      return path;
    },
    dropOut: (path: string): Promise<void> => remove(path),
    /**
     * Makes a folder of made files the job's result; where there is one already, that one stays.
     */
    async keep(key: string, out: string, kept: Kept): Promise<void> {
      await writeFile(join(out, 'manifest.json'), JSON.stringify(kept));
      try {
        await rename(out, at('results', key));
      } catch (error) {
        if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? ''))
          throw error;
        await remove(out);
      }
    },

    /** Takes the right to render; false while another living process holds it. */
    async claim(key: string): Promise<boolean> {
      const path = at('claims', key);
      const holder = JSON.stringify({ pid: process.pid });
      try {
        await writeFile(path, holder, { flag: 'wx' });
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      if (await isHeld(path)) return false;
      // Two may take over at the same time: both render the same bytes, one result stays.
      await writeFile(path, holder);
      return true;
    },
    touchClaim: (key: string): Promise<void> => {
      const now = new Date();
      return utimes(at('claims', key), now, now).catch(() => undefined);
    },
    dropClaim: (key: string): Promise<void> => remove(at('claims', key)),

    /** Adds a line; never fails, since what the line tells of has happened already. */
    async note(entry: Record<string, unknown>): Promise<void> {
      await ready().catch(() => undefined);
      const line = JSON.stringify({ at: new Date().toISOString(), ...entry, pid: process.pid });
      await appendFile(at('journal.ndjson'), `${line}\n`).catch(() => undefined);
    },
    /** Removes what is older than two hours. */
    async prune(now: number): Promise<void> {
      await ready();
      const before = now - JOB_LIFE_MS;
      for (const file of await old(at('jobs'), before)) {
        const key = file.replace(/\.(json|cancelled)$/, '');
        const job = await readJson<Job>(at('jobs', `${key}.json`));
        await remove(at('jobs', file));
        await remove(at('results', key));
        if (job) await remove(at('files', job.folder));
      }
      // Left by processes that died before accepting or keeping.
      for (const part of ['files', 'results', 'claims', 'tmp']) {
        for (const name of await old(at(part), before)) await remove(at(part, name));
      }
      const size = (await stat(at('journal.ndjson')).catch(() => null))?.size ?? 0;
      if (size > JOURNAL_MAX_BYTES) await rename(at('journal.ndjson'), at('journal.1.ndjson'));
    },
  };
}

export type Jobs = ReturnType<typeof openJobs>;

async function isHeld(path: string): Promise<boolean> {
  const held = await stat(path).catch(() => null);
  if (!held || Date.now() - held.mtimeMs > CLAIM_LIFE_MS) return false;
  const pid = (await readJson<{ pid: number }>(path))?.pid;
  if (pid === undefined || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

async function old(folder: string, before: number): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(folder)) {
    const info = await stat(join(folder, name)).catch(() => null);
    if (info && info.mtimeMs < before) found.push(name);
  }
  return found;
}

/** Null where there is no such file. */
async function readJson<T>(path: string): Promise<T | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || error instanceof SyntaxError)
      return null;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null)) !== null;
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}
