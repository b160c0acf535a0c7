import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { isSuccess } from '../../lib/outbound/fetch.ts';
import { demandStop, outcomeOfReply, objectIn } from '../replies.ts';
import type { Handle, Upstream, UpstreamTools } from '../upstream.ts';
import { callbacks } from './callback.ts';
import { jobOf } from './job.ts';
import { pollJob } from './poll.ts';
import { costs, hasModel, listModels, listTerms } from './prices.ts';
import { startJob } from './start.ts';
import { callFal, falOf, faultWords, reasonOf, type Fal } from './wire.ts';

/** Long, because the files of the input are uploaded first. */
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

/** A job may complete even if fal has agreed to cancel it. */
async function cancel(fal: Fal, handle: Handle, signal: AbortSignal): Promise<void> {
  const url = jobOf(fal, handle)?.cancel_url;
  if (url === undefined) return;
  const limits = { timeoutMs: shortMs, maxBytes: shortBytes, signal };
  demandStop(await callFal(fal, { method: 'PUT', url, ...limits }), fal.tools.now());
}

/** Tries the key by reading a price, which is free. */
async function check(fal: Fal, signal: AbortSignal): Promise<string | null> {
  const url = `${fal.api}/models/pricing?endpoint_id=fal-ai%2Fflux%2Fdev`;
  try {
    const reply = await callFal(fal, { url, timeoutMs: shortMs, maxBytes: shortBytes, signal });
    const told = objectIn(reply);
    if (isSuccess(reply.status) && !Array.isArray(told?.prices))
      return 'the service at its address for models is not fal';
    // A 404 in fal's own form also shows that fal accepted the key, even if the model is gone.
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
