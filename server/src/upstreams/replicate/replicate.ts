import type { UpstreamSettings } from '../../core/catalog/upstream-definition.ts';
import { objectOf } from '../../lib/json.ts';
import { isSuccess, type Reply } from '../../lib/outbound/fetch.ts';
import { messageOf } from '../../lib/unknown.ts';
import { outcomeUnprepared } from '../inputs.ts';
import { JsonBody, type SentBody } from '../json-body.ts';
import {
  demandStop,
  jsonOf,
  pollFault,
  outcomeOfFault,
  outcomeOfReply,
  redacted,
  saidBy,
} from '../replies.ts';
import type {
  Handle,
  JobState,
  StartJob,
  StartOutcome,
  Upstream,
  UpstreamTools,
} from '../upstream.ts';
import { createBearerApi, type BearerApi } from '../bearer-api.ts';
import { placedInput } from './files.ts';
import { hasModel, listModels } from './models.ts';
import { predictionOf, stateOfPrediction } from './prediction.ts';
import { createVerify } from './webhook.ts';

/**
 * Replicate (https://replicate.com): a model is named `owner/name`, one of its versions
 * `owner/name:hash`, and the operator's deployments `deployments/owner/name`.
 */

const submitMs = 60_000;
/** Long, because the files of the input are uploaded first. */
const startSeconds = 360;
/** An output may be a `data:` address. */
const predictionMaxBytes = 16 * 1024 * 1024;
const segment = '[A-Za-z0-9][A-Za-z0-9._-]{0,99}';
const modelForm = new RegExp(`^(deployments/)?(${segment}/${segment})(?::([A-Za-z0-9]{1,100}))?$`);

export function createReplicate(settings: UpstreamSettings, tools: UpstreamTools): Upstream {
  const api = createBearerApi(settings, tools);
  const verify = createVerify(settings.secret, api, tools.now);
  // Replicate refuses a prediction whose callback address is not https. A server at an http
  // address, such as one for tests, may get http.
  const takesHttp = settings.url.startsWith('http:');
  const webhookFor = ({ callback_url }: StartJob) =>
    callback_url !== null && (takesHttp || callback_url.startsWith('https:'))
      ? { webhook: callback_url, webhook_events_filter: ['completed'] }
      : {};

  return {
    name: settings.name,
    class: 'C+',
    concurrency: settings.concurrency,
    start_seconds: startSeconds,
    async start(job) {
      const target = targetOf(job.model);
      if (target === null) {
        const message = `it has no model named ${job.model}`;
        return { outcome: 'not_accepted', why: 'model', message };
      }
      const body = new JsonBody();
      let input: Record<string, unknown>;
      try {
        input = await placedInput(job, api, tools, body);
      } catch (error) {
        return redacted(outcomeUnprepared(error), api);
      }
      const json = { ...target.body, input, ...webhookFor(job) };
      return submit(target.path, body.write(json), job.signal, api, tools);
    },
    poll: (handle, signal) => poll(handle, signal, api, tools),
    async cancel(handle, signal) {
      const path = `/predictions/${idOf(handle)}/cancel`;
      demandStop(await api.send({ method: 'POST', path, signal }), tools.now());
    },
    async callback(call) {
      await verify(call);
      const prediction = predictionOf(jsonOf(call.body));
      return prediction === null ? null : { id: prediction.id };
    },
    async check(signal) {
      try {
        const reply = await api.send({ path: '/account', signal });
        if (reply.status !== 200) return api.redact(saidBy(reply));
        const { username } = objectOf(jsonOf(reply.body));
        return typeof username === 'string' ? null : 'the service at its address is not Replicate';
      } catch (error) {
        return `it could not be reached: ${messageOf(error)}`;
      }
    },
    models: (signal) => listModels(api, signal),
    hasModel: (model, signal) => hasModel(api, model, signal),
  };
}

export function isModelName(model: string): boolean {
  return targetOf(model) !== null;
}

/** Where to create a prediction of this model; null if the name is invalid. */
function targetOf(model: string): { path: string; body: Record<string, unknown> } | null {
  const [whole, deployment, name, version] = modelForm.exec(model) ?? [];
  if (whole === undefined || (deployment && version)) return null;
  if (deployment) return { path: `/deployments/${name}/predictions`, body: {} };
  if (version) return { path: '/predictions', body: { version } };
  return { path: `/models/${name}/predictions`, body: {} };
}

async function submit(
  path: string,
  sent: SentBody,
  signal: AbortSignal,
  api: BearerApi,
  tools: UpstreamTools,
): Promise<StartOutcome> {
  let reply: Reply;
  try {
    const call = { method: 'POST', path, ...sent, timeoutMs: submitMs, signal };
    reply = await api.send({ ...call, maxBytes: predictionMaxBytes });
  } catch (error) {
    return outcomeOfFault(error);
  }
  if (isSuccess(reply.status)) {
    const prediction = predictionOf(jsonOf(reply.body));
    if (prediction !== null) return { outcome: 'accepted', handle: { id: prediction.id } };
    return {
      outcome: 'unknown',
      message: `answered ${reply.status} without a prediction`,
      answer: 'unreadable',
    };
  }
  const refusal = refusalOf(reply, api, tools);
  // Replicate's rate limit applies to our account, across all models.
  return refusal.outcome === 'not_accepted' && refusal.limited
    ? { ...refusal, account_wide: true }
    : refusal;
}

function refusalOf(
  reply: Reply,
  api: BearerApi,
  tools: UpstreamTools,
): ReturnType<typeof outcomeOfReply> {
  const said = redacted(outcomeOfReply(reply, tools.now()), api);
  // Replicate answers an unknown version with the same status as an invalid input.
  const { title } = objectOf(jsonOf(reply.body));
  if (said.outcome === 'rejected' && /^invalid version/i.test(String(title)))
    return { outcome: 'not_accepted', why: 'model', message: said.message };
  if (said.outcome === 'not_accepted' && said.retry_after_ms === undefined) {
    const [, seconds] = /resets in ~?(\d{1,4})s/.exec(said.message) ?? [];
    if (seconds !== undefined) return { ...said, retry_after_ms: Number(seconds) * 1000 };
  }
  return said;
}

async function poll(
  handle: Handle,
  signal: AbortSignal,
  api: BearerApi,
  tools: UpstreamTools,
): Promise<JobState> {
  const id = idOf(handle);
  const path = `/predictions/${id}`;
  const reply = await api.send({ path, maxBytes: predictionMaxBytes, signal });
  if (reply.status === 404) return { state: 'missing', message: 'it does not know the prediction' };
  if (reply.status !== 200)
    throw pollFault(refusalOf(reply, api, tools), api.redact(saidBy(reply)));
  const prediction = predictionOf(jsonOf(reply.body));
  if (prediction?.id !== id) throw new Error('it answered 200 without the prediction');
  const state = stateOfPrediction(prediction);
  return state.state === 'failed' ? { ...state, message: api.redact(state.message) } : state;
}

/** Escaped although the handle comes from our own rows, because it becomes part of an address. */
function idOf({ id }: Handle): string {
  return encodeURIComponent(String(id));
}
