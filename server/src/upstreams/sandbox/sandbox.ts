import { codeOf } from '../../lib/unknown.ts';
import type { Handle, JobState, Upstream, UpstreamTools } from '../upstream.ts';
import { acceptJob, type Parts } from './jobs/accept.ts';
import { createRenderer } from './jobs/renderer.ts';
import { badOutput, isVideo, resultOf, running, stoppedAt } from './jobs/reply.ts';
import { openStore, type SandboxJob, type Store } from './jobs/store.ts';
import { Workshop } from './jobs/workshop.ts';
import { createChat } from './replies/chat.ts';

/**
 * The sandbox upstream: does every task without a network or GPU, and makes real media. Any number
 * of processes on one machine may share its folder; all of them know a job that one has accepted,
 * even after that process has died.
 */

export interface SandboxOptions {
  /** The sandbox's folder; created when needed. */
  dir: string;
  name?: string;
  concurrency?: number;
  /** Speed of jobs and chats, as a multiple of the natural speed; `Infinity`: at once. */
  speed?: number;
  /** Downloads a caller's address; if absent, only uploaded files are accepted. */
  download?: UpstreamTools['download'];
}

const pruneEveryMs = 10 * 60 * 1000;
const hangPollMs = 2_000;
const unfinishedPollMs = 500;
/** If a job is not rendered within this time after its `ready_at`, its process is assumed dead. */
const overdueMs = 60_000;

export function createSandbox(options: SandboxOptions): Upstream {
  const { dir, name = 'sandbox', concurrency = 8, speed = 1 } = options;
  if (!(speed > 0)) throw new RangeError('speed must be above 0');
  const store = openStore(dir);
  const workshops = { image: new Workshop(), video: new Workshop() };
  const renderer = createRenderer(store, (order) => workshops[isVideo(order) ? 'video' : 'image']);
  const noDownload = () => Promise.reject(new Error('this sandbox fetches no addresses'));
  const parts = { store, renderer, workshops, speed, download: options.download ?? noDownload };
  let prunedAt = 0;
  let pruning = Promise.resolve();
  const prune = (): void => {
    if (Date.now() - prunedAt < pruneEveryMs) return;
    prunedAt = Date.now();
    pruning = store.prune(prunedAt).catch(() => undefined);
  };
  return {
    name,
    class: 'A',
    concurrency,
    start(job) {
      prune();
      return acceptJob(parts, job);
    },
    poll(handle, signal) {
      prune();
      return pollJob(parts, handle, signal);
    },
    cancel: (handle) => cancelJob(store, handle),
    chat: createChat(speed),
    async close() {
      await Promise.all([workshops.image.close(), workshops.video.close(), pruning]);
      await renderer.settled();
    },
  };
}

async function pollJob(parts: Parts, handle: Handle, signal: AbortSignal): Promise<JobState> {
  const { store, renderer } = parts;
  const job = await store.read(handle.job);
  if (!job) return failed('The sandbox does not know this job; it forgets jobs after two hours.');
  const cancelledAt = await store.cancelledAt(job.key);
  if (cancelledAt !== null) return stoppedAt(job, cancelledAt);
  if (job.fault === 'hang') return running(job, hangPollMs);
  const left = Date.parse(job.ready_at) - Date.now();
  if (left > 0) return running(job, left);
  if (job.fault === 'fail') return failed('The sandbox failed, as asked.');
  if (job.fault === 'bad-output') return { state: 'done', result: badOutput(job.order) };
  const kept = await store.result(job.key);
  const result = kept ?? (isElsewhere(job) ? null : await renderer.result(job, signal));
  if (!result) return running(job, unfinishedPollMs);
  if (result.state === 'failed') return result;
  return { state: 'done', result: await resultOf(job, result.made, store) };
}

/** Whether another running process renders the job. */
function isElsewhere({ pid, ready_at }: SandboxJob): boolean {
  if (pid === process.pid || Date.now() - Date.parse(ready_at) > overdueMs) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

function failed(message: string): JobState {
  return { state: 'failed', code: 'upstream_failed', message };
}

/** Stops a job that is not ready yet. */
async function cancelJob(store: Store, handle: Handle): Promise<void> {
  const job = await store.read(handle.job);
  const isReady = job?.fault !== 'hang' && Date.parse(job?.ready_at ?? '') <= Date.now();
  if (job && !isReady && (await store.cancelledAt(job.key)) === null) await store.cancel(job.key);
}
