import type { FastifyReply } from 'fastify';
import { idByName, replicateName, replicateVersion } from '../../core/catalog/replicate-name.ts';
import { unknownModel } from '../../core/catalog/find-model.ts';
import { ApiError } from '../../core/errors.ts';
import { predictionOf, replicateBase } from '../../core/request/prediction.ts';
import { isFinal } from '../../core/request/request.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import { anyRequest, nextBehind, pageBelow } from '../../db/requests/request-pages.ts';
import type { CardRow } from '../../db/requests/requests.ts';
import { isFilled, isGiven } from '../../core/check.ts';
import { isObject, type Json } from '../../lib/json.ts';
import { isOneOf } from '../../lib/records.ts';
import { submitJob, type CallTrace } from '../../operations/requests/submit.ts';
import { setSubmitHeaders } from '../api/queue.ts';
import { waitForEndWithin } from '../api/waiting.ts';
import { jsonMaxBytes, readObject } from '../body.ts';
import { recordModelForLog, jobHeaders } from '../call.ts';
import type { CallDeps, CatalogDeps, HttpDeps, KeyedRequest, RequestDeps } from '../deps.ts';
import { keyedEndpoint } from '../endpoint.ts';
import { preferredWait } from '../prefer.ts';
import { readCards } from '../requests/read.ts';
import { cancelRequest, requireOwn, requestId, type StatusCall } from '../requests/status.ts';
import * as s from '../schemas/schema.ts';
import { submitOnce } from '../submit-once.ts';
import * as schemas from './replicate-schema.ts';

/** Replicate's predictions and models: each prediction is a request of the queue. */

const { failure } = schemas;
const waitMaxSeconds = 60;
const pageSize = 20;
/** Inputs can be large: so many are read at a time. */
const shownAtOnce = 10;

/** POST /predictions: the version names the model. */
export const create = keyedEndpoint(
  { rawBody: schemas.VersionCreation, reply: schemas.Prediction, failure },
  ({ req, reply }, deps) =>
    predict(req, reply, deps, ({ version }) => {
      if (!isFilled(version))
        throw badInput('version', 'is required: owner/name of a model, or the id of its version');
      const model_id = idByName(deps.catalog(), version);
      if (model_id === null) throw noModel('version', version, 422, deps);
      return { model_id, model: replicateName(model_id), version };
    }),
);

/** POST /models/{model_id}/predictions */
export const createOfModel = keyedEndpoint(
  { params: ['*'], rawBody: schemas.Creation, reply: schemas.Prediction, failure },
  ({ req, reply }, deps) => {
    const [, model] = /^(.+)\/predictions$/.exec(req.params['*']) ?? [];
    if (model === undefined) throw new ApiError('not_found');
    return predict(req, reply, deps, () => {
      const model_id = idByName(deps.catalog(), model);
      if (model_id === null) throw noModel('model', model, 404, deps);
      return { model_id, model, version: null };
    });
  },
);

function noModel(param: string, asked: string, status: number, { catalog }: CatalogDeps): ApiError {
  return new ApiError('unknown_model', { ...unknownModel(asked, catalog()), param, status });
}

function badInput(param: string, wrong: string): ApiError {
  return new ApiError('invalid_input', { message: `${param} ${wrong}.`, param });
}

const eventNames = ['start', 'output', 'logs', 'completed'];

/** Whether a webhook gets the only event that is ever sent. */
function isTold(events: unknown): boolean {
  if (!isGiven(events)) return true;
  const list = [events].flat();
  if (list.every((each) => isOneOf(eventNames, each))) return list.includes('completed');
  throw badInput('webhook_events_filter', `must be a list of ${eventNames.join(', ')}`);
}

interface AskedModel {
  model_id: string;
  model: string;
  version: string | null;
}

async function predict(
  req: KeyedRequest,
  reply: FastifyReply,
  deps: HttpDeps,
  find: (body: Json) => AskedModel,
) {
  const waitSeconds = Math.min(preferredWait(req.raw.rawHeaders), waitMaxSeconds);
  const headers = jobHeaders(req, deps);
  const body = await readObject(req, reply, jsonMaxBytes, deps);
  const { input, webhook, webhook_events_filter: events, version: _, stream: _s, ...others } = body;
  const { model_id, ...names } = find(body);
  recordModelForLog(req, model_id, deps);
  if (!isObject(input)) throw badInput('input', "is required: an object of the model's inputs");
  const wanted = {
    ...headers,
    caller: req.caller,
    model_id,
    body: input,
    webhook_url: isTold(events) ? (webhook ?? undefined) : undefined,
    door: { api: 'replicate' as const, ...names },
  };
  const submit = (call: CallTrace) => submitJob({ ...wanted, call }, deps);
  const submitted = await submitOnce(req, reply, deps, submit).catch((error: unknown) => {
    throw error instanceof ApiError && error.param === 'webhook_url' ? error.at('webhook') : error;
  });
  const isTimed = req.headers['cancel-after'] !== undefined;
  setSubmitHeaders(reply, submitted, [
    ...Object.keys(others),
    ...(isTimed ? ['Cancel-After'] : []),
  ]);
  await waitForEndWithin(waitSeconds, submitted.request_id, req, deps);
  const [made] = await findPredictions([submitted.request_id], deps);
  reply.code(201);
  // The client takes every other state as the end of a call that waits.
  return made!.completed_at === null ? { ...made!, status: 'starting' as const } : made!;
}

async function findPredictions(ids: string[], deps: RequestDeps) {
  const found = await readCards(ids, deps);
  return found.map(({ row, progress, outputs }) =>
    predictionOf(row, progress, outputs, Date.now(), deps.links),
  );
}

/** A prediction of the caller's account. Throws `not_found`. */
async function ownPrediction(req: StatusCall, deps: RequestDeps): Promise<CardRow> {
  const row = requireOwn(req, await deps.operations.card(requestId(req)));
  if (row.kind === 'text') throw new ApiError('not_found');
  return row;
}

/** GET /predictions/{request_id} */
export const read = keyedEndpoint(
  { params: ['request_id'], reply: schemas.Prediction, failure },
  async ({ req }, deps) => {
    const { id } = await ownPrediction(req, deps);
    return (await findPredictions([id], deps))[0]!;
  },
);

/** POST /predictions/{request_id}/cancel: a running one goes on if its model cannot be stopped. */
export const cancel = keyedEndpoint(
  { params: ['request_id'], reply: schemas.Prediction, failure },
  async ({ req }, deps) => {
    const { id, status } = await ownPrediction(req, deps);
    if (!isFinal(status))
      await cancelRequest(req, deps, { running: true }).catch((error: unknown) => {
        if (!(error instanceof ApiError && error.code === 'not_cancellable')) throw error;
      });
    return (await findPredictions([id], deps))[0]!;
  },
);

/** GET /predictions */
export const list = keyedEndpoint(
  { query: s.object({ cursor: s.optional(s.cursor()) }), reply: schemas.PredictionList, failure },
  async ({ req, query }, deps: RequestDeps) => {
    const kinds = ['image' as const, 'video' as const];
    const filter = { ...anyRequest, account_id: req.caller.account_id, kinds };
    const bounds = { below_id: query.cursor ?? null, limit: pageSize };
    const page = await pageBelow(deps.db, filter, bounds);
    const results = [];
    for (let at = 0; at < page.ids.length; at += shownAtOnce)
      results.push(...(await findPredictions(page.ids.slice(at, at + shownAtOnce), deps)));
    const next = nextBehind(page);
    const address = `${replicateBase(deps.links)}/predictions?cursor=${next}`;
    return { previous: null, next: next === null ? null : address, results };
  },
);

/** GET /models/{model_id} */
export const model = keyedEndpoint(
  { params: ['*'], reply: schemas.ReplicateModel, failure },
  async ({ params }, deps: RequestDeps) => {
    const asked = params['*'];
    const id = idByName(deps.catalog(), asked);
    if (id === null) throw noModel('model', asked, 404, deps);
    const { description, input_schema, created } = deps.catalog().models.get(id)!;
    const [owner = '', name = ''] = replicateName(id).split('/');
    return {
      url: `${deps.links.baseUrl}/models/${id}`,
      owner,
      name,
      description,
      visibility: 'public' as const,
      is_official: false,
      run_count: 0,
      latest_version: {
        id: replicateVersion(id),
        created_at: new Date(created * 1000),
        cog_version: null,
        openapi_schema: { components: { schemas: { Input: input_schema } } },
      },
    };
  },
);

/** GET /webhooks/default/secret */
export const secret = keyedEndpoint(
  { reply: schemas.WebhookSecret, failure },
  async ({ req }, deps: CallDeps) => {
    const account = await accounts.find(deps.db, req.caller.account_id);
    return { key: account!.webhook_secrets[0]! };
  },
);
