import type { Catalog, Model } from '../../core/catalog/catalog.ts';
import { ApiError } from '../../core/errors.ts';
import { demandModel, findModel } from '../../core/catalog/find-model.ts';
import { fingerprint } from '../../core/request/fingerprint.ts';
import type { ReplicateDoor } from '../../core/request/views.ts';
import type { Metadata } from '../../core/request/metadata.ts';
import { promptLine } from '../../core/request/prompt-line.ts';
import { dataInputs, fieldOf, invalid, mediaInputs } from '../../core/catalog/media-input.ts';
import { typeName } from '../../core/media/content-type.ts';
import { canTake, typeRule } from '../../core/media/input-types.ts';
import { typeOfData } from '../../core/media/sniff.ts';
import {
  keptInput,
  unknownInputs,
  validateInput,
  withoutNulls,
} from '../../core/catalog/model-input.ts';
import { sizedInput } from '../../core/catalog/stated-size.ts';
import { sizedQuote } from '../../core/price/sized-quote.ts';
import { quoteToJson, withUnknown } from '../../core/price/quote-json.ts';
import type { Spender } from '../../db/accounts/callers.ts';
import { newId } from '../../lib/id.ts';
import { tooManyOpenJobs, type AccountLimits, type SubmitResult } from './admit.ts';
import type { Operations } from './batched.ts';
import { badWebhook, requireMedia, demandWebhookUrl, type MediaDeps } from './check-media.ts';
import type { WebhookFetches } from './webhook-fetch.ts';
import { chooseRoutes, type RouteDeps } from '../upstreams/choose-routes.ts';

/** A job that a caller submits, through any of the APIs (ours, fal's, the studio). */
export interface WantedJob {
  caller: Spender;
  model_id: string;
  /** The parsed body: the inputs of the model, and perhaps a `webhook_url`. */
  body: Record<string, unknown>;
  /** The query parameter `webhook_url`, or undefined. */
  webhook_url: unknown;
  idempotency_key: string | null;
  /** The call that repeats are compared with. Default: `body` at the path of the queue. */
  compared?: { path: string; body: unknown };
  metadata: Metadata | null;
  call: CallTrace;
  /** How the caller named the model in another service's API. Left out: our own API. */
  door?: ReplicateDoor;
}

/** The call that makes a request: its numbers lead to the request. */
export interface CallTrace {
  /** The caller's own number; null: none. */
  caller_id: string | null;
  /** The place in a trace from which its job goes on; null: none is recorded. */
  traceparent: string | null;
  /**
   * Names the call after the request that it tries to make. Throws if the caller has left, so that
   * nothing is reserved that nobody waits for.
   */
  willCreate(request_id: string, model_id: string): void;
  /**
   * The request of an earlier call with this fingerprint whose reply was lost. Left out: a call
   * without an Idempotency-Key is never a repeat.
   */
  findLostRepeat?(print: Buffer): Promise<SubmitResult | null>;
  /** The call made this request, or repeats the call that did. */
  created(request: { request_id: string; replayed: boolean }): void;
}

export interface SubmitDeps extends MediaDeps, RouteDeps {
  fetches: WebhookFetches;
  operations: Pick<Operations, 'submit'>;
  catalog: () => Catalog;
  settings: {
    /** For keys that have no limit of their own. */
    FAREBOX_OPEN_JOBS: number;
    account: AccountLimits;
    FAREBOX_WEBHOOK_HTTPS_ONLY: boolean;
  };
}

/**
 * Refuses a key that already has all the open jobs it may have, before the body is read. A call
 * with an Idempotency-Key may be a repeat, which opens no job; the transaction decides on it.
 */
export function demandFreeJob(
  { caller, idempotency_key }: Pick<WantedJob, 'caller' | 'idempotency_key'>,
  { settings }: Pick<SubmitDeps, 'settings'>,
): void {
  const openJobs = caller.open_jobs ?? settings.FAREBOX_OPEN_JOBS;
  if (idempotency_key === null && caller.open_requests >= openJobs) throw tooManyOpenJobs(openJobs);
}

/** Checks, prices and submits a job. Throws the `ApiError` that refuses it. */
export async function submitJob(wanted: WantedJob, deps: SubmitDeps): Promise<SubmitResult> {
  const { caller, idempotency_key, metadata, call } = wanted;
  const model = findModel(deps.catalog(), wanted.model_id);
  if (model.kind === 'text') throw new ApiError('use_chat_completions', { param: 'model_id' });
  demandModel(caller, model.id, 'model_id');
  const { webhook_url, input } = await takeWebhook(wanted, deps);
  const sized = sizedInput(input, model);
  const quote = sizedQuote(model, sized, caller.price_ppm);
  await checkInput(model, sized.input, caller.account_id, deps);
  const compared = wanted.compared ?? { path: `/queue/${model.id}`, body: input };
  const print =
    idempotency_key === null && call.findLostRepeat === undefined
      ? null
      : fingerprint({ method: 'POST', ...compared, webhook_url });
  const earlier = idempotency_key === null && print ? await call.findLostRepeat?.(print) : null;
  if (earlier) {
    call.created(earlier);
    return earlier;
  }
  const { routes, refusal } = await chooseRoutes(model, caller.account_id, deps);
  const { upstream, model: upstream_model } = routes[0]!;
  if (refusal && idempotency_key === null) throw refusal;
  const unknown = unknownInputs(model, sized.input);
  const id = newId();
  // Before the submit, because the database's answer may be lost after it has stored the request.
  call.willCreate(id, model.id);
  const submitted = await deps.operations.submit({
    row: {
      id,
      account_id: caller.account_id,
      key_id: caller.key_id,
      person_id: caller.person_id ?? null,
      model_id: model.id,
      kind: model.kind,
      upstream,
      upstream_model,
      quoted_usd_micro: quote.price_usd_micro,
      idempotency_key,
      fingerprint: idempotency_key === null ? null : print,
      input: JSON.stringify(keptInput(model, input, sized.stated)),
      prompt: promptLine(input),
      quote: JSON.stringify(withUnknown(quoteToJson(quote), unknown)),
      queue_position: await deps.queue.enter(upstream, id),
      webhook_url,
      metadata: metadata && JSON.stringify(metadata),
      caller_id: call.caller_id,
      traceparent: call.traceparent,
      door: wanted.door === undefined ? null : JSON.stringify(wanted.door),
      call_seconds: null,
      ...(unknown.length > 0 && { unknown_inputs: unknown }),
    },
    monthly_limit_usd_micro: caller.monthly_limit_usd_micro,
    open_jobs: caller.open_jobs ?? deps.settings.FAREBOX_OPEN_JOBS,
    account: deps.settings.account,
    refusal,
  });
  call.created(submitted);
  return submitted;
}

/** Takes `webhook_url` out of the query or the body, and checks it. Null counts as omitted. */
async function takeWebhook(
  { webhook_url: inQuery, body, caller }: WantedJob,
  deps: SubmitDeps,
): Promise<{ webhook_url: string | null; input: Record<string, unknown> }> {
  const { webhook_url: inBody, ...input } = withoutNulls(body);
  const given = [inQuery, inBody].filter((value) => value !== undefined);
  if (given.length === 0) return { webhook_url: null, input };
  const bad = (rule: string) => badWebhook('webhook_url', rule, deps);
  const [url] = given;
  if (typeof url !== 'string' || given.some((value) => typeof value !== 'string'))
    throw bad('must be one address, as a string');
  if (given.length === 2 && inQuery !== inBody)
    throw bad('differs between the query and the body; give it only once');
  await demandWebhookUrl(url, 'webhook_url', caller.account_id, deps);
  return { webhook_url: url, input };
}

/** Checks the input against its schema, and each file and address in it. */
async function checkInput(
  model: Model,
  input: Record<string, unknown>,
  accountId: string,
  deps: SubmitDeps,
): Promise<void> {
  const errors = validateInput(model, input);
  if (errors) {
    const [first] = errors;
    throw new ApiError('invalid_input', {
      message: `The input does not fit the model's schema: ${first!.path || 'it'} ${first!.message}.`,
      param: fieldOf(first!.path),
      details: {
        errors: errors.map(({ path, message }) => ({ path, message })),
        rules: errors.map(({ rule }) => rule),
      },
    });
  }
  const files = await requireMedia(mediaInputs(input), accountId, deps, invalid);
  checkTypes(model, [...files, ...(await sniffTypesOfData(input))]);
}

/** Refuses a file of a type that the row neither takes nor gets converted. */
function checkTypes(model: Model, files: { path: string; content_type: string }[]): void {
  const types = model.input_types ?? null;
  const wrong = files.find(({ content_type }) => !canTake(types, content_type));
  if (!wrong) return;
  const found = typeName(wrong.content_type);
  throw invalid(wrong.path, typeRule(types, wrong.content_type), { reason: 'media_type', found });
}

async function sniffTypesOfData(input: Record<string, unknown>) {
  return Promise.all(
    dataInputs(input).map(async ({ path, address }) => ({
      path,
      content_type: await typeOfData(address),
    })),
  );
}
