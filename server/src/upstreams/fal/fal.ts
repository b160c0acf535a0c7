import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { isSuccess } from '../../lib/outbound/fetch.ts';
import { outcomeOfReply } from '../replies.ts';
import type { Handle, Upstream, UpstreamTools } from '../upstream.ts';
import { callbacks } from './callback.ts';
import { jobOf } from './job.ts';
import { pollJob } from './poll.ts';
import { costs, hasModel, listModels, listTerms } from './prices.ts';
import { startJob } from './start.ts';
import { callFal, falOf, faultWords, objectIn, reasonOf } from './wire.ts';
import type { Fal } from './wire.ts';

/** Files of the input are uploaded first, and a large one takes its time. */
const startSeconds = 600;
const shortMs = 20_000;
const shortBytes = 64 * 1024;

/** fal.ai: image, video and audio models behind one queue. Throws if the options are invalid. */
export function createFal(settings: UpstreamSettings, tools: UpstreamTools): Upstream {
  const fal = falOf(settings, tools);
  const costOf = costs(fal);
  return {
    name: settings.name,
    class: 'C+',
    concurrency: settings.concurrency,
    start_seconds: startSeconds,
    start: (job) => startJob(fal, job, tools),
    poll: (handle, signal) => pollJob(fal, handle, costOf, signal),
    cancel: (handle, signal) => cancel(fal, handle, signal),
    callback: callbacks(fal),
    check: (signal) => check(fal, signal),
    models: (signal) => listModels(fal, signal),
    hasModel: (model, signal) => hasModel(fal, model, signal),
    terms: (models, signal) => listTerms(fal, models, signal),
  };
}

/** The answer is not used: a job may complete all the same. */
async function cancel(fal: Fal, handle: Handle, signal: AbortSignal): Promise<void> {
  const url = jobOf(fal, handle)?.cancel_url;
  if (url === undefined) return;
  const limits = { timeoutMs: shortMs, maxBytes: shortBytes, signal };
  await callFal(fal, { method: 'PUT', url, ...limits }).catch(() => {});
}

/** Prices are shown to a known key only, and reading them is free. */
async function check(fal: Fal, signal: AbortSignal): Promise<string | null> {
  const url = `${fal.api}/models/pricing?endpoint_id=fal-ai%2Fflux%2Fdev`;
  try {
    const reply = await callFal(fal, { url, timeoutMs: shortMs, maxBytes: shortBytes, signal });
    const told = objectIn(reply);
    if (isSuccess(reply.status) && !Array.isArray(told?.prices))
      return 'the service at its address for models is not fal';
    // A model that is gone there still shows that the key was accepted.
    if (isSuccess(reply.status) || (reply.status === 404 && told !== null)) return null;
    const reason = reasonOf(fal, reply);
    const outcome = outcomeOfReply(reply, fal.tools.now());
    const why = outcome.outcome === 'not_accepted' ? outcome.why : null;
    if (why === 'account') return `the account is out of credit: ${reason}`;
    if (why === 'credential') return `it rejects the key: ${reason}`;
    return `its prices could not be read: ${reason}`;
  } catch (error) {
    return faultWords(fal, error);
  }
}
