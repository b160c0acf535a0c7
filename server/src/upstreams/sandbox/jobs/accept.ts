import { outcomeUnreadable } from '../../inputs.ts';
import type { StartJob, StartOutcome, UpstreamTools } from '../../upstream.ts';
import { faultsIn, type Faults } from '../faults.ts';
import { gatherInputs } from '../orders/inputs.ts';
import { orderOf } from '../orders/order.ts';
import { SandboxRefusal } from '../refusal.ts';
import type { Renderer } from './renderer.ts';
import { accepted, readyAfterMs } from './reply.ts';
import { keyOf, type SandboxJob, type Store } from './store.ts';
import type { Workshop } from './workshop.ts';

/** Objects shared by the parts of one sandbox. */
export interface Parts {
  store: Store;
  renderer: Renderer;
  workshops: { image: Workshop; video: Workshop };
  speed: number;
  download: UpstreamTools['download'];
}

const busyRetryMs = 2_000;

/** Accepts one job per idempotency key; another start with the key gets the same handle. */
export async function acceptJob(parts: Parts, start: StartJob): Promise<StartOutcome> {
  const { store, renderer } = parts;
  const key = keyOf(start.idempotency_key);
  const faults = faultsIn(start.input.prompt);
  let known: SandboxJob | null;
  try {
    known = await store.read(key);
  } catch {
    return { outcome: 'unknown', message: 'The sandbox could not look the job up.' };
  }
  if (known) return accepted(known);
  // No `limited` or retry time: one caller asked for this fault, so other jobs must not wait.
  if (faults.busy) return { outcome: 'not_accepted', message: 'The sandbox is busy, as asked.' };
  if (faults.reject)
    return { outcome: 'rejected', message: 'The sandbox refuses this prompt, as asked.' };
  let folder: string | undefined;
  let job: SandboxJob;
  try {
    folder = await store.newFolder();
    job = await makeJob(parts, start, key, faults, folder);
  } catch (error) {
    if (folder !== undefined) await store.remove(folder);
    if (error instanceof SandboxRefusal) return { outcome: 'rejected', message: error.message };
    const unreadable = outcomeUnreadable(error);
    if (unreadable !== null) return unreadable;
    const message = 'The sandbox could not take the job.';
    return { outcome: 'not_accepted', message, retry_after_ms: busyRetryMs };
  }
  try {
    if (!(await store.accept(job, folder))) return accepted((await store.read(key)) ?? job);
  } catch {
    // The disk failed, but may have stored the job even so.
    return { outcome: 'unknown', message: 'The sandbox does not know whether it kept the job.' };
  }
  renderer.begin(job);
  if (faults.lost) return { outcome: 'unknown', message: 'The answer got lost, as asked.' };
  return accepted(job);
}

async function makeJob(
  { workshops, speed, download }: Parts,
  start: StartJob,
  key: string,
  faults: Faults,
  folder: string,
): Promise<SandboxJob> {
  const media = await gatherInputs(start, folder, workshops.image, download);
  const order = orderOf(start.task, start.input, media);
  start.signal.throwIfAborted();
  const now = Date.now();
  return {
    key,
    order,
    fault: faults.fail ? 'fail' : faults.hang ? 'hang' : faults.badOutput ? 'bad-output' : null,
    pid: process.pid,
    accepted_at: new Date(now).toISOString(),
    ready_at: new Date(now + readyAfterMs(order, key, faults, speed)).toISOString(),
  };
}
