import { rename, stat } from 'node:fs/promises';
import { readJson, remove, untouched } from './folder.ts';
import type { Folder } from './folder.ts';
import type { Job } from './jobs.ts';

const JOB_LIFE_MS = 2 * 60 * 60 * 1000;
const JOURNAL_MAX_BYTES = 64 * 1024 * 1024;

/** Removes what is older than two hours, and starts a new journal where the old one is long. */
export async function prune({ at, ready }: Folder, now: number): Promise<void> {
  await ready();
  const before = now - JOB_LIFE_MS;
  for (const file of await untouched(at('jobs'), before)) {
    const key = file.replace(/\.(json|cancelled)$/, '');
    const job = await readJson<Job>(at('jobs', `${key}.json`));
    await remove(at('jobs', file));
    await remove(at('results', key));
    if (job) await remove(at('files', job.folder));
  }
  // Left by processes that died before accepting or keeping.
  for (const part of ['files', 'results', 'claims', 'tmp']) {
    for (const name of await untouched(at(part), before)) await remove(at(part, name));
  }
  const size = (await stat(at('journal.ndjson')).catch(() => null))?.size ?? 0;
  if (size > JOURNAL_MAX_BYTES) await rename(at('journal.ndjson'), at('journal.1.ndjson'));
}
