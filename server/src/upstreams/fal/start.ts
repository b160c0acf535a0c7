import { isSuccess } from '../../lib/outbound/fetch.ts';
import { InputRefused, mapMedia } from '../inputs.ts';
import { openMedia } from '../open-media.ts';
import { outcomeOfFault, outcomeOfReply, objectIn } from '../replies.ts';
import type { StartJob, StartOutcome, UpstreamTools } from '../upstream.ts';
import { jobOf } from './job.ts';
import { NotUploaded, upload } from './storage.ts';
import { callFal, clientClosed, reasonOf, type Fal } from './wire.ts';

const timeoutMs = 60_000;
const maxBytes = 256 * 1024;

/** Submits a job, never twice. */
export async function startJob(
  fal: Fal,
  job: StartJob,
  tools: Pick<UpstreamTools, 'download'>,
): Promise<StartOutcome> {
  let json: Record<string, unknown>;
  try {
    json = await falInput(job, tools, (file) => upload(fal, file, job.signal));
  } catch (error) {
    if (error instanceof NotUploaded) return error.outcome;
    if (error instanceof InputRefused)
      return { outcome: 'rejected', message: error.message, unasked: true };
    throw error;
  }
  const query =
    job.callback_url === null ? '' : `?fal_webhook=${encodeURIComponent(job.callback_url)}`;
  const url = `${fal.base}/${job.model}${query}`;
  let reply;
  try {
    reply = await callFal(fal, {
      method: 'POST',
      url,
      json,
      timeoutMs,
      maxBytes,
      signal: job.signal,
    });
  } catch (error) {
    return outcomeOfFault(error);
  }
  const message = reasonOf(fal, reply);
  if (reply.status === clientClosed) return { outcome: 'unknown', message };
  // fal's rate limit applies to all our running jobs together, of any model.
  const wide = reply.status === 429 && { account_wide: true };
  if (!isSuccess(reply.status))
    return { ...outcomeOfReply(reply, fal.tools.now()), message, ...wide };
  const made = jobOf(fal, objectIn(reply) ?? {}, job.model);
  if (made === null)
    return { outcome: 'unknown', message: 'its answer has no job id', answer: 'unreadable' };
  return { outcome: 'accepted', handle: { ...made } };
}

/** The input, with stored files uploaded to fal's storage. */
async function falInput(
  job: StartJob,
  tools: Pick<UpstreamTools, 'download'>,
  upload: (file: Awaited<ReturnType<typeof openMedia>>) => Promise<string>,
): Promise<Record<string, unknown>> {
  const uploaded = new Map<string, Promise<string>>();
  // fal itself fetches the caller's own addresses, and decodes `data:` addresses.
  const handOver = async (value: string, field: string): Promise<string> => {
    if (!Object.hasOwn(job.files, value)) return value;
    const known =
      uploaded.get(value) ?? openMedia(value, field, job, tools).then((file) => upload(file));
    uploaded.set(value, known);
    return known;
  };
  return mapMedia(job, handOver);
}
