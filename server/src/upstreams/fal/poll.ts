import { isSuccess, type Reply } from '../../lib/outbound/fetch.ts';
import { fieldOf } from '../../lib/unknown.ts';
import { collectMedia } from '../outputs.ts';
import { pollFault, outcomeOfReply, objectIn, saysLater } from '../replies.ts';
import { stateOf } from '../states.ts';
import type { Handle, JobState, JobResult } from '../upstream.ts';
import { jobOf, type FalJob } from './job.ts';
import type { CostOf } from './prices.ts';
import { callFal, clientClosed, reasonIn, reasonOf, type Fal } from './wire.ts';

const statusTimeoutMs = 20_000;
const statusMaxBytes = 1024 * 1024;
const resultTimeoutMs = 60_000;
/** A result may contain its media as `data:` addresses. */
const resultMaxBytes = 48 * 1024 * 1024;

/** Statuses that say nothing about the job, so it is polled again. */
const transient: ReadonlySet<number> = new Set([401, 403, 408, 409, 425, 429]);
/** fal's words when a result is requested too early. */
const notYetForm = /in progress|not (?:yet )?(?:ready|complete|finished)/i;

/** The state of a job. Throws if the poll said nothing about it. */
export async function pollJob(
  fal: Fal,
  handle: Handle,
  costOf: CostOf,
  signal: AbortSignal,
): Promise<JobState> {
  const job = jobOf(fal, handle);
  if (job === null) return { state: 'missing', message: 'the stored handle has no job id' };
  const url = new URL(job.status_url);
  url.searchParams.set('logs', '1');
  const limits = { timeoutMs: statusTimeoutMs, maxBytes: statusMaxBytes, signal };
  const reply = await callFal(fal, { url: url.href, ...limits });
  if (reply.status === 404) return { state: 'missing', message: reasonOf(fal, reply) };
  if (saysLater(reply)) return { state: 'running' };
  const body = isSuccess(reply.status) ? objectIn(reply) : null;
  // An error inside a success says nothing about the job either.
  if (body === null || typeof body.status !== 'string')
    throw pollFault(outcomeOfReply(reply, fal.tools.now()), `its status: ${reasonOf(fal, reply)}`);
  const word = stateOf(body.status);
  if (word === 'running') return { state: 'running', logs: logsIn(body.logs) };
  if (word === 'failed' || word === 'stopped')
    return { ...failed(reasonIn(fal, body) ?? 'The model failed.'), state: word };
  return resultOf(fal, job, body, costOf, signal);
}

function logsIn(logs: unknown): string[] {
  if (!Array.isArray(logs)) return [];
  const lines = logs.map((entry) => fieldOf(entry, 'message'));
  return lines.filter((line) => typeof line === 'string');
}

function failed(message: string, isInput = false): JobState & { state: 'failed' } {
  return { state: 'failed', code: isInput ? 'upstream_rejected' : 'upstream_failed', message };
}

/**
 * fal reports a failed job as completed too. Only the result's reply shows the failure: it is the
 * model's own answer, with the model's status and headers.
 */
async function resultOf(
  fal: Fal,
  job: FalJob,
  { error }: Record<string, unknown>,
  costOf: CostOf,
  signal: AbortSignal,
): Promise<JobState> {
  const limits = { timeoutMs: resultTimeoutMs, maxBytes: resultMaxBytes, signal };
  const reply = await callFal(fal, { url: job.response_url, ...limits });
  const billed = async () => {
    const cost = await costOf(job.model, reply.headers['x-fal-billable-units'], signal);
    return cost === undefined ? {} : { cost_usd_micro: cost };
  };
  if (!isSuccess(reply.status)) {
    const failure = failureOf(fal, reply, typeof error === 'string');
    const isStopped = failure.state === 'failed' && reply.status === clientClosed;
    return isStopped ? { ...failure, state: 'stopped', ...(await billed()) } : failure;
  }
  if (saysLater(reply)) return { state: 'running' };
  if (reply.truncated) return failed('The model returned more than this service accepts.');
  const body = objectIn(reply);
  if (body === null) throw new Error('its result is not a JSON object');
  const result = takenFrom(body);
  if (result === null) return failed(reasonIn(fal, body) ?? 'The model returned no output.');
  return { state: 'done', result: { ...result, ...(await billed()) } };
}

function takenFrom(body: Record<string, unknown>): JobResult | null {
  const result: JobResult = collectMedia(body, 'output');
  if (result.media.length > 0 || typeof result.fields.text === 'string') return result;
  // Models that analyse media answer in words.
  const { output, ...rest } = result.fields;
  return typeof output === 'string' ? { media: [], fields: { ...rest, text: output } } : null;
}

function failureOf(fal: Fal, reply: Reply, saysFailed: boolean): JobState {
  const { status, headers } = reply;
  if (status === 404) return { state: 'missing', message: reasonOf(fal, reply) };
  if (status === 410) return failed('The result is no longer kept.');
  const body = objectIn(reply);
  if (body === null || !isOfJob(reply, saysFailed, reasonOf(fal, reply)))
    throw resultFault(fal, reply);
  // The input is not to blame for a failure that may be retried or that is fal's own.
  const isInputs = status < clientClosed && headers['x-fal-retryable'] !== 'true';
  const otherwise = isInputs ? 'The model refused the input.' : 'The model failed.';
  return failed(reasonIn(fal, body) ?? otherwise, isInputs);
}

/** fal has just accepted our key for the status, so a refused key here is the model's own error. */
function resultFault(fal: Fal, reply: Reply): Error {
  const message = `its result: ${reasonOf(fal, reply)}`;
  const outcome = outcomeOfReply(reply, fal.tools.now());
  const isKeys = outcome.outcome === 'not_accepted' && outcome.why !== 'busy';
  return isKeys ? new Error(message) : pollFault(outcome, message);
}

/** Whether the reply is the job's final result, not a passing fault in fetching it. */
function isOfJob({ status, headers }: Reply, saysFailed: boolean, reason: string): boolean {
  if (headers['x-fal-error-type'] !== undefined) return true;
  if (status < 400 || transient.has(status)) return false;
  if (headers['x-fal-retryable'] !== undefined || saysFailed) return true;
  return status < 500 && !(status === 400 && notYetForm.test(reason));
}
