import type { Handle, JobState, Upstream } from '../upstream.ts';
import { acceptJob } from './accept.ts';
import { createChat } from './chat.ts';
import type { Download } from './inputs.ts';
import { isKey, openJobs } from './jobs.ts';
import type { Jobs } from './jobs.ts';
import { Renderer } from './renderer.ts';
import { badOutput, isFilm, resultOf, running } from './reply.ts';
import { Workshop } from './workshop.ts';

/**
 * The sandbox upstream: takes every task with no network and no GPU, and makes real media. Any
 * number of processes on one machine may share its folder; a job accepted by one is known to all,
 * also after that one has died.
 */

export interface SandboxOptions {
  /** Its folder; made when needed. */
  dir: string;
  name?: string;
  concurrency?: number;
  /** How many times faster than natural jobs get ready and chats talk; `Infinity`: at once. */
  speed?: number;
  /** Fetches a caller's https address, guarded; without it only uploaded files are taken. */
  download?: Download;
  /** How long all addresses of one input may take to be fetched. */
  inputSeconds?: number;
}

/** What the parts of one sandbox share. */
export interface Parts {
  jobs: Jobs;
  renderer: Renderer;
  /** Looks into callers' files, and draws pictures. */
  pictures: Workshop;
  speed: number;
  download: Download | undefined;
  inputSeconds: number;
}

const WORKSHOP_IDLE_MS = 10_000;
const PRUNE_EVERY_MS = 10 * 60 * 1000;
const HANG_POLL_MS = 2_000;
const UNFINISHED_POLL_MS = 500;

export function createSandbox(options: SandboxOptions): Upstream {
  const {
    dir,
    name = 'sandbox',
    concurrency = 8,
    speed = 1,
    download,
    inputSeconds = 30,
  } = options;
  if (!(speed > 0)) throw new RangeError('speed must be above 0');
  const jobs = openJobs(dir);
  const pictures = new Workshop(WORKSHOP_IDLE_MS);
  const films = new Workshop(WORKSHOP_IDLE_MS);
  const renderer = new Renderer(jobs, (order) => (isFilm(order) ? films : pictures));
  const parts: Parts = { jobs, renderer, pictures, speed, download, inputSeconds };
  const prune = nowAndThen(PRUNE_EVERY_MS, (now) => jobs.prune(now));
  return {
    name,
    class: 'A',
    concurrency,
    start(job) {
      prune.due();
      return acceptJob(parts, job);
    },
    poll(handle, signal) {
      prune.due();
      return pollJob(parts, handle, signal);
    },
    cancel: (handle) => cancelJob(jobs, handle),
    chat: createChat({ speed, note: (entry) => jobs.note(entry) }),
    async close() {
      await Promise.all([pictures.close(), films.close(), prune.settled()]);
      await renderer.settled();
    },
  };
}

async function pollJob(parts: Parts, handle: Handle, signal: AbortSignal): Promise<JobState> {
  const { jobs, renderer } = parts;
  const job = isKey(handle.job) ? await jobs.read(handle.job) : null;
  if (!job) return failed('The sandbox does not know this job, or not any more.');
  if (await jobs.isCancelled(job.key)) return failed('The job was cancelled.');
  if (job.fault === 'hang') return running(job, HANG_POLL_MS);
  const left = Date.parse(job.ready_at) - Date.now();
  if (left > 0) {
    // Made before it is due; also by this process, where the one that accepted it has died.
    void renderer.begin(job);
    return running(job, left);
  }
  if (job.fault === 'fail') return failed('The sandbox failed, as asked.');
  if (job.fault === 'bad-output') return { state: 'done', result: badOutput(job.order) };
  const kept = (await jobs.result(job.key)) ?? (await renderer.wait(job, signal));
  if (!kept) return running(job, UNFINISHED_POLL_MS);
  if (kept.state === 'failed') return kept;
  return { state: 'done', result: await resultOf(job, kept.made, jobs) };
}

function failed(message: string): JobState {
  return { state: 'failed', code: 'upstream_failed', message };
}

/** Best effort: a result that is there already stays unread. */
async function cancelJob(jobs: Jobs, handle: Handle): Promise<void> {
  try {
    const job = isKey(handle.job) ? await jobs.read(handle.job) : null;
    if (!job) return;
    await jobs.cancel(job.key);
    const { request_id, idempotency_key } = job;
    await jobs.note({ event: 'cancelled', request_id, idempotency_key });
  } catch {
    // The job runs on, and nobody asks for it.
  }
}

/** Does `work` when first due, and then when due after a pause; its failure is no one's. */
function nowAndThen(everyMs: number, work: (now: number) => Promise<void>) {
  let last = 0;
  let underWay = Promise.resolve();
  return {
    due(): void {
      const now = Date.now();
      if (now - last < everyMs) return;
      last = now;
      underWay = work(now).catch(() => undefined);
    },
    settled: (): Promise<void> => underWay,
  };
}
