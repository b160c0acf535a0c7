import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { submittedView } from '../../core/request/views.ts';
import type { CardRow } from '../../db/requests/requests.ts';
import { objectOf } from '../../lib/json.ts';
import { namesInHeader } from '../../lib/outbound/headers.ts';
import type { SubmitResult } from '../../operations/requests/admit.ts';
import { submitJob, type WantedJob } from '../../operations/requests/submit.ts';
import { jsonMaxBytes, readObject } from '../body.ts';
import { recordModelForLog, jobHeaders, traceCall } from '../call.ts';
import type { HttpDeps, KeyedRequest } from '../deps.ts';
import { preferredWait } from '../prefer.ts';
import * as s from '../schemas/schema.ts';
import { bodyOf } from '../schemas/serialize.ts';
import { keyedEndpoint } from '../endpoint.ts';
import { ModelInput } from './model-schema.ts';
import { Notification, QueuedRequest } from '../requests/schema.ts';
import { requireOutput } from '../requests/status.ts';
import { waitForEndWithin } from './waiting.ts';

const webhook_url = s.text(
  'A public http or https address that gets one POST when the request is final.',
  { format: 'uri', example: 'https://example.com/hooks/farebox' },
);
export const webhookQuery = s.object({ webhook_url: s.optional(webhook_url) });
const shapes = {
  params: ['*'],
  rawQuery: webhookQuery,
  rawBody: ModelInput,
  written: QueuedRequest,
  webhook: Notification,
} as const;

/**
 * POST /queue/{model_id}: a repeated call gets the same bytes. With `Prefer: wait` the answer is
 * the output if it is there in time.
 */
export const submit = keyedEndpoint(shapes, async ({ req, reply }, deps) => {
  const { webhook_url } = objectOf(req.query);
  const asked = { model_id: req.params['*'], webhook_url };
  const waitSeconds = preferredWait(req.raw.rawHeaders);
  const submitted = await enqueue(asked, req, reply, deps);
  reply.header('location', `${deps.links.baseUrl}/requests/${submitted.request_id}/status`);
  const done = await doneWithin(waitSeconds, submitted.request_id, req, deps);
  if (done !== null) {
    reply.header('preference-applied', 'wait');
    setChargeHeader(reply, done.row, submitted);
    return done.output;
  }
  reply.code(submitted.replayed ? 200 : 202);
  return bodyOf(reply, QueuedRequest, submittedView(submitted, deps.links));
});

/** Sends the charge of this call: a repeat of an earlier call costs nothing. */
export function setChargeHeader(
  reply: FastifyReply,
  { charged_usd_micro }: CardRow,
  { replayed }: SubmitResult,
): void {
  reply.header('x-charge-usd-micro', replayed ? '0' : String(charged_usd_micro ?? 0n));
}

/**
 * The request and its output if it is COMPLETED in time, otherwise null. Does not throw: the
 * request has been submitted, so its caller must get at least its id.
 */
async function doneWithin(
  waitSeconds: number,
  requestId: string,
  req: KeyedRequest,
  deps: HttpDeps,
): Promise<{ row: CardRow; output: Record<string, unknown> } | null> {
  const status = await waitForEndWithin(waitSeconds, requestId, req, deps);
  if (status !== 'COMPLETED') return null;
  try {
    const row = await deps.operations.card(requestId);
    return row && { row, output: await requireOutput(row, deps) };
  } catch (error) {
    if (!(error instanceof ApiError))
      deps.log.warn({ err: error, request_id: requestId }, 'could not wait for a request');
    return null;
  }
}

/** Reads the model input and submits it. `webhook_url` is the unchecked value from the query. */
export async function enqueue(
  asked: Pick<WantedJob, 'model_id' | 'webhook_url'>,
  req: KeyedRequest,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<SubmitResult> {
  recordModelForLog(req, asked.model_id, deps);
  const headers = jobHeaders(req, deps);
  const body = await readObject(req, reply, jsonMaxBytes, deps);
  const wanted = { ...asked, ...headers, caller: req.caller, body, call: traceCall(req, reply) };
  const submitted = await submitJob(wanted, deps);
  setSubmitHeaders(reply, submitted);
  return submitted;
}

/** Tells about the submit in headers, because the body may be an output or an error. */
export function setSubmitHeaders(
  reply: FastifyReply,
  { replayed, unknown_inputs }: SubmitResult,
  others: string[] = [],
): void {
  if (replayed) reply.header('idempotent-replayed', 'true');
  const unknown = (unknown_inputs ?? []).map(({ field }) => field);
  const ignored = namesInHeader([...others, ...unknown]);
  if (ignored.length > 0) reply.header('x-ignored-fields', ignored.join(', '));
}
