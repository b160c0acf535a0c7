import type { JobState, OutputMedia, JobResult, StartOutcome } from '../../upstream.ts';
import type { Faults } from '../faults.ts';
import type { RenderJob } from '../media/render.ts';
import type { Order } from '../orders/order.ts';
import { between, hashText, randomFrom } from '../random.ts';
import type { SandboxJob, Store } from './store.ts';

/** The sandbox's replies about a job: when it is ready, its progress, its result. */

export function isVideo({ task }: Order): boolean {
  return /video|animation|avatar|lip-sync|motion/.test(task);
}

export function accepted(job: SandboxJob): StartOutcome {
  const left = Date.parse(job.ready_at) - Date.now();
  return { outcome: 'accepted', handle: { job: job.key }, poll_after_ms: pollAfter(left) };
}

/** How much of the job is done at a moment, in unix milliseconds: from 0 to 0.99. */
function shareAt({ accepted_at, ready_at }: SandboxJob, moment: number): number {
  const from = Date.parse(accepted_at);
  const span = Math.max(1, Date.parse(ready_at) - from);
  return Math.max(0, Math.min(0.99, (moment - from) / span));
}

/** Bills the seconds of a video that were made by then; images are not billed in parts. */
export function stoppedAt(job: SandboxJob, moment: number): JobState {
  const { order } = job;
  const seconds = Math.round(order.seconds * shareAt(job, moment) * 1000) / 1000;
  const billed = isVideo(order) ? { quantity: seconds } : {};
  const message = 'The job was cancelled.';
  return { state: 'stopped', code: 'upstream_failed', message, ...billed };
}

export function running(job: SandboxJob, leftMs: number): JobState {
  const share = shareAt(job, Date.now());
  const steps = [
    [0, `accepted: ${job.order.task}`],
    [0.2, 'composing'],
    [0.5, 'rendering'],
    [0.85, 'encoding'],
  ] as const;
  const logs = steps.filter(([least]) => share >= least).map(([, line]) => line);
  const progress = Math.round(share * 100) / 100;
  return { state: 'running', progress, logs, poll_after_ms: pollAfter(leftMs) };
}

function pollAfter(leftMs: number): number {
  return Math.round(Math.max(100, Math.min(5_000, leftMs)));
}

export async function resultOf(job: SandboxJob, made: RenderJob, store: Store): Promise<JobResult> {
  const { fields, quantity } = made;
  const media: OutputMedia[] = [];
  for (const { field, file, content_type } of made.media) {
    const bytes = await store.resultFile(job.key, file);
    media.push({ field, source: { bytes }, content_type, file_name: file });
  }
  return { media, fields, ...(quantity !== undefined && { quantity }) };
}

/** An output that claims to be an image, video or audio, but is a sentence. */
export function badOutput(order: Order): JobResult {
  const field = order.task === 'video-to-audio' ? 'audio' : isVideo(order) ? 'video' : 'images';
  const content_type = { audio: 'audio/wav', video: 'video/mp4', images: 'image/png' }[field];
  const bytes = Buffer.from('This is no media file. The sandbox was asked for a bad output.\n');
  return {
    media: [{ field, source: { bytes }, content_type, file_name: `${field}-0` }],
    fields: { seed: order.seed },
  };
}

/** Milliseconds until the job is ready; by default 0.5 to 1.5 s for images, 2 to 4 s for videos. */
export function readyAfterMs(order: Order, key: string, faults: Faults, speed: number): number {
  if (faults.slowSeconds !== null) return faults.slowSeconds * 1000;
  const random = randomFrom(hashText(key));
  return (isVideo(order) ? between(random, 2000, 4000) : between(random, 500, 1500)) / speed;
}
