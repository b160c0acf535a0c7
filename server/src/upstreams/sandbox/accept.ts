import type { StartJob, StartOutcome } from '../upstream.ts';
import { faultsIn } from './faults.ts';
import type { Faults } from './faults.ts';
import { gatherInputs } from './inputs.ts';
import { keyOf } from './jobs.ts';
import type { Job } from './jobs.ts';
import { orderOf } from './order.ts';
import { Refusal } from './refusal.ts';
import { accepted, readyAfterMs } from './reply.ts';
import type { Parts } from './sandbox.ts';

const BUSY_RETRY_MS = 2_000;

/**
 * Takes a job, once for each idempotency key: the job counts from the moment its file stands under
 * its name, and whoever comes with the same key gets the same handle.
 */
export async function acceptJob(parts: Parts, job: StartJob): Promise<StartOutcome> {
  const { jobs } = parts;
  const key = keyOf(job.idempotency_key);
  const { request_id, idempotency_key, task, model } = job;
  const note = (event: string, message?: string): Promise<void> =>
    jobs.note({ event, request_id, idempotency_key, task, model, message });

  let known: Job | null;
  try {
    known = await jobs.read(key);
  } catch {
    return { outcome: 'unknown', message: 'The sandbox could not look the job up.' };
  }
  if (known) {
    await note('repeated');
    return accepted(known);
  }
  const faults = faultsIn(job.input.prompt);
  if (faults.busy) {
    await note('busy');
    // Asked for by one caller, so that no other is to wait for it.
    return { outcome: 'not_accepted', message: 'The sandbox is busy, as asked.' };
  }
  let made: Job;
  try {
    if (faults.reject) throw new Refusal('The sandbox refuses this prompt, as asked.');
    made = await makeJob(parts, job, key, faults);
  } catch (error) {
    if (error instanceof Refusal) {
      await note('refused', error.message);
      return { outcome: 'rejected', message: error.message };
    }
    await note('not_accepted', String(error));
    return notAccepted('The sandbox could not take the job.');
  }
  return keepJob(parts, made, faults, note);
}

async function keepJob(
  { jobs, renderer }: Parts,
  made: Job,
  faults: Faults,
  note: (event: string, message?: string) => Promise<void>,
): Promise<StartOutcome> {
  let kept: Job | null;
  let first: boolean;
  try {
    first = await jobs.accept(made);
    kept = first ? made : await jobs.read(made.key);
  } catch (error) {
    // The disk said no, but it may have kept the job all the same.
    await note('unknown', String(error));
    return { outcome: 'unknown', message: 'The sandbox does not know whether it kept the job.' };
  }
  if (!first) await jobs.dropFolder(made.folder);
  await note(first ? 'accepted' : 'repeated');
  void renderer.begin(kept ?? made);
  if (first && faults.lost) {
    return { outcome: 'unknown', message: 'The answer got lost, as asked.' };
  }
  return accepted(kept ?? made);
}

async function makeJob(parts: Parts, job: StartJob, key: string, faults: Faults): Promise<Job> {
  const { jobs, speed } = parts;
  const { folder, path } = await jobs.newFolder();
  try {
    const media = await gatherInputs(job, path, parts);
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
      fault: lastingFault(faults),
      folder,
      accepted_at: new Date(now).toISOString(),
      ready_at: new Date(now + readyAfterMs(order, key, faults, speed)).toISOString(),
    };
  } catch (error) {
    await jobs.dropFolder(folder);
    throw error;
  }
}

function lastingFault(faults: Faults): Job['fault'] {
  if (faults.fail) return 'fail';
  if (faults.hang) return 'hang';
  return faults.badOutput ? 'bad-output' : null;
}

function notAccepted(message: string): StartOutcome {
  return { outcome: 'not_accepted', message, retry_after_ms: BUSY_RETRY_MS };
}
