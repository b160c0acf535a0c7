import type { FastifyReply } from 'fastify';
import type { Model } from '../core/catalog.ts';
import { ApiError } from '../core/errors.ts';
import { fingerprint, idempotencyKey } from '../core/fingerprint.ts';
import { fieldOf, invalid, mediaInputs } from '../core/media-input.ts';
import { keptInput, unknownInputs, validateInput, withoutNulls } from '../core/model-input.ts';
import { price } from '../core/price.ts';
import { quoteToJson, withUnknown } from '../core/quote-json.ts';
import { submittedBody } from '../core/views.ts';
import { headerValues } from '../lib/headers.ts';
import { newId } from '../lib/id.ts';
import { tooManyOpenJobs, type Submitted } from '../operations/submit.ts';
import { demandModel } from './auth.ts';
import { jsonMaxBytes, readObject } from './body.ts';
import type { HttpDeps, Keyed } from './deps.ts';
import { checkMedia, judgePublic } from './media.ts';
import { findModel } from './models.ts';
import { place } from './place.ts';

/** POST /queue/{model_id} */
export async function submit(req: Keyed, reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const model_id = (req.params as { '*': string })['*'];
  const { webhook_url } = req.query as Record<string, unknown>;
  const submitted = await enqueue({ model_id, webhook_url }, req, reply, deps);
  reply.header('location', `${deps.links.baseUrl}/requests/${submitted.request_id}/status`);
  reply.code(submitted.replayed ? 200 : 202).type('application/json; charset=utf-8');
  return submittedBody(submitted, deps.links);
}

/** Reads the model input and submits it. `webhook_url` is that of the query, as it came. */
export async function enqueue(
  asked: { model_id: string; webhook_url: unknown },
  req: Keyed,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<Submitted> {
  const { caller } = req;
  const openJobs = caller.open_jobs ?? deps.settings.openJobs;
  const idempotency_key = idempotencyKey(headerValues(req.raw.rawHeaders, 'idempotency-key'));
  // A repeat opens no job, so only the transaction can judge it; everything else is refused without
  // further work.
  if (idempotency_key === null && caller.open_requests >= openJobs) throw tooManyOpenJobs(openJobs);
  const body = await readObject(req, reply, jsonMaxBytes, deps);
  const model = findModel(deps, asked.model_id);
  if (model.kind === 'text') throw new ApiError('use_chat_completions', { param: 'model_id' });
  demandModel(caller, model.id, 'model_id');
  const { webhook_url, input } = await takeWebhook(asked.webhook_url, body, deps);
  const quote = price(model, input, caller.price_ppm);
  await checkInput(model, input, caller.account_id, deps);
  const { routes, refusal } = await place(model, caller.account_id, deps);
  const { upstream, model: upstream_model } = routes[0]!;
  if (refusal && idempotency_key === null) throw refusal;
  const unknown = unknownInputs(model, input);
  const path = `/queue/${model.id}`;
  const id = newId();
  const submitted = await deps.submit({
    row: {
      id,
      account_id: caller.account_id,
      key_id: caller.key_id,
      model_id: model.id,
      kind: model.kind,
      upstream,
      upstream_model,
      quoted_usd_micro: quote.price_usd_micro,
      idempotency_key,
      fingerprint:
        idempotency_key === null
          ? null
          : fingerprint({ method: 'POST', path, body: input, webhook_url }),
      input: JSON.stringify(keptInput(model, input)),
      quote: JSON.stringify(withUnknown(quoteToJson(quote), unknown)),
      queue_position: await deps.queue.enter(upstream, id),
      webhook_url,
      call_seconds: null,
      ...(unknown.length > 0 && { unknown_inputs: unknown }),
    },
    monthly_limit_usd_micro: caller.monthly_limit_usd_micro,
    open_jobs: openJobs,
    account: deps.settings.account,
    refusal,
  });
  if (submitted.replayed) reply.header('idempotent-replayed', 'true');
  return submitted;
}

/** Takes `webhook_url` out of query and body, and judges it; what is null counts as left out. */
async function takeWebhook(
  inQuery: unknown,
  body: Record<string, unknown>,
  deps: HttpDeps,
): Promise<{ webhook_url: string | null; input: Record<string, unknown> }> {
  const { webhook_url: inBody, ...input } = withoutNulls(body);
  const given = [inQuery, inBody].filter((value) => value !== undefined);
  if (given.length === 0) return { webhook_url: null, input };
  const bad = (reason: string) =>
    new ApiError('bad_webhook_url', { message: `webhook_url ${reason}.`, param: 'webhook_url' });
  const [url] = given;
  if (given.some((value) => typeof value !== 'string'))
    throw bad('must be one address, as a string');
  if (given.length === 2 && inQuery !== inBody)
    throw bad('differs between the query and the body; give it once');
  await judgePublic(url as string, deps, deps.settings.webhookHttpsOnly, (reason) => bad(reason));
  return { webhook_url: url as string, input };
}

/** The input against its schema, and every file and address that it names. */
async function checkInput(
  model: Model,
  input: Record<string, unknown>,
  accountId: string,
  deps: HttpDeps,
): Promise<void> {
  const errors = validateInput(model, input);
  if (errors) {
    const [first] = errors;
    throw new ApiError('invalid_input', {
      message: `The input does not fit the model's schema: ${first!.path || 'it'} ${first!.message}.`,
      param: fieldOf(first!.path),
      details: { errors },
    });
  }
  await checkMedia(mediaInputs(input), accountId, deps, invalid);
}
