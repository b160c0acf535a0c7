import type { Handle, JobState, StartJob, StartOutcome, Upstream } from '../upstream.ts';
import { createChat } from './chat.ts';
import { faultsIn } from './faults.ts';
import type { Faults } from './faults.ts';
import { gatherInputs } from './inputs.ts';
import type { Download } from './inputs.ts';
import { isKey, keyOf, openJobs } from './jobs.ts';
import type { Job } from './jobs.ts';
import { orderOf } from './order.ts';
import { Refusal } from './refusal.ts';
import { createRenderer } from './renderer.ts';
import { accepted, isFilm, readyAfterMs, resultOf, running } from './reply.ts';
import { createWorkshop } from './workshop.ts';

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
}

const WORKSHOP_IDLE_MS = 10_000;
const BUSY_RETRY_MS = 2_000;
const PRUNE_EVERY_MS = 10 * 60 * 1000;

export function createSandbox(options: SandboxOptions): Upstream {
  const { dir, name = 'sandbox', concurrency = 8, speed = 1, download } = options;
  if (!(speed > 0)) throw new RangeError('speed must be above 0');
  const jobs = openJobs(dir);
  const pictures = createWorkshop(WORKSHOP_IDLE_MS);
  const films = createWorkshop(WORKSHOP_IDLE_MS);
  const renderer = createRenderer(jobs, (order) => (isFilm(order) ? films : pictures));
  let prunedAt = 0;

  function pruneNowAndThen(): void {
    const now = Date.now();
    if (now - prunedAt < PRUNE_EVERY_MS) return;
    prunedAt = now;
    void jobs.prune(now).catch(() => undefined);
  }

  async function start(job: StartJob): Promise<StartOutcome> {
    pruneNowAndThen();
    const key = keyOf(job.idempotency_key);
    const note = (event: string, more: Record<string, unknown> = {}): Promise<void> =>
      jobs.note({
        event,
        request_id: job.request_id,
        idempotency_key: job.idempotency_key,
        task: job.task,
        model: job.model,
        ...more,
      });
    const known = await jobs.read(key);
    if (known) {
      await note('repeated');
      return accepted(known);
    }
    const faults = faultsIn(job.input.prompt);
    if (faults.busy) {
      await note('busy');
      return {
        outcome: 'not_accepted',
        message: 'The sandbox is busy, as asked.',
        retry_after_ms: BUSY_RETRY_MS,
      };
    }
    try {
      if (faults.reject) throw new Refusal('The sandbox refuses this prompt, as asked.');
      const made = await makeJob(job, key, faults);
      const first = await jobs.accept(made);
      if (!first) await jobs.dropFolder(made.folder);
      await note(first ? 'accepted' : 'repeated');
      const kept = first ? made : ((await jobs.read(key)) ?? made);
      void renderer.begin(kept);
      return first && faults.lost
        ? { outcome: 'unknown', message: 'The answer got lost, as asked.' }
        : accepted(kept);
    } catch (error) {
      if (error instanceof Refusal) {
        await note('refused', { message: error.message });
        return { outcome: 'rejected', message: error.message };
      }
      // Nothing counts before the job's file stands under its name.
      await note('not_accepted', { message: String(error) });
      return {
        outcome: 'not_accepted',
        message: 'The sandbox could not take the job.',
        retry_after_ms: BUSY_RETRY_MS,
      };
    }
  }

  async function makeJob(job: StartJob, key: string, faults: Faults): Promise<Job> {
    const { folder, path } = await jobs.newFolder();
    try {
      const media = await gatherInputs(job, path, pictures, download);
      const order = orderOf(job.task, job.input, media);
      job.signal.throwIfAborted();
      const now = Date.now();
      return {
        version: 1,
        key,
        request_id: job.request_id,
        idempotency_key: job.idempotency_key,
        model: job.model,
        order,
        fault: faults.fail ? 'fail' : faults.hang ? 'hang' : faults.badOutput ? 'bad-output' : null,
        folder,
        accepted_at: new Date(now).toISOString(),
        ready_at: new Date(now + readyAfterMs(order, key, faults, speed)).toISOString(),
      };
    } catch (error) {
      await jobs.dropFolder(folder);
      throw error;
    }
  }

  async function poll(handle: Handle, signal: AbortSignal): Promise<JobState> {
    pruneNowAndThen();
    const job = isKey(handle.job) ? await jobs.read(handle.job) : null;
    if (!job)
      return {
        state: 'failed',
        code: 'upstream_failed',
        message: 'The sandbox does not know this job (any more).',
      };
    if (await jobs.isCancelled(job.key)) {
      return { state: 'failed', code: 'upstream_failed', message: 'The job was cancelled.' };
    }
    const left = Date.parse(job.ready_at) - Date.now();
    if (job.fault === 'hang') return running(job, 2_000);
    if (left <= 0 && job.fault === 'fail') {
      return { state: 'failed', code: 'upstream_failed', message: 'The sandbox failed, as asked.' };
    }
    if (left > 0) {
      void renderer.begin(job);
      return running(job, left);
    }
    const kept = (await jobs.result(job.key)) ?? (await renderer.wait(job, signal));
    if (!kept) return running(job, 500);
    if (kept.state === 'failed') return kept;
    return { state: 'done', result: await resultOf(job, kept, jobs) };
  }

  return {
    name,
    class: 'A',
    concurrency,
    start,
    poll,
    async cancel(handle) {
      if (!isKey(handle.job)) return;
      const job = await jobs.read(handle.job).catch(() => null);
      if (!job) return;
      await jobs.cancel(job.key).catch(() => undefined);
      await jobs.note({
        event: 'cancelled',
        request_id: job.request_id,
        idempotency_key: job.idempotency_key,
      });
    },
    chat: createChat({ name, speed, note: (entry) => jobs.note(entry) }),
    async close() {
      await Promise.all([pictures.close(), films.close()]);
      await renderer.settled();
    },
  };
}
