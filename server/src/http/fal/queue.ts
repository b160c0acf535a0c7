import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { falAddresses, falStatus, newLines } from '../../core/request/fal.ts';
import { isFinal } from '../../core/request/request.ts';
import { objectOf } from '../../lib/json.ts';
import type { HttpDeps, KeyedRequest, RequestDeps, StreamDeps } from '../deps.ts';
import { enqueue, setChargeHeader } from '../api/queue.ts';
import * as requests from '../requests/status.ts';
import { waitForEnd, withWaitingShare } from '../api/waiting.ts';
import type { WithParams } from '../path.ts';
import { preferredMaxSeconds } from '../prefer.ts';
import { readQuery } from '../schemas/validate.ts';
import { falOffer } from './refusal.ts';

/** fal's queue and `run`: each call is an ordinary request, answered in fal's format. */

/** POST {model_id}?fal_webhook= */
export async function submit(
  req: WithParams<{ '*': string }, KeyedRequest>,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<unknown> {
  const model_id = req.params['*'];
  const webhook_url = webhookOf(req);
  const submitted = await enqueue({ model_id, webhook_url }, req, reply, deps);
  const { request_id, queue_position } = submitted;
  name(reply, request_id);
  return {
    status: 'IN_QUEUE',
    request_id,
    ...falAddresses(request_id, submitted.model_id, deps.links),
    queue_position,
  };
}

/** POST https://fal.run/{model_id}: submits, and answers with the output. Takes `fal_webhook`. */
export async function run(
  req: WithParams<{ '*': string }, KeyedRequest>,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<unknown> {
  const asked = { model_id: req.params['*'], webhook_url: webhookOf(req) };
  const isStream = asked.model_id.endsWith('/stream');
  if (isStream && !deps.catalog().models.has(asked.model_id))
    throw new ApiError('not_found', { message: falOffer(`/${asked.model_id}`) });
  // Without a free slot nothing is submitted, because this caller gets no id to poll.
  return withWaitingShare(req, deps, async (over) => {
    const submitted = await enqueue(asked, req, reply, deps);
    const { request_id, model_id } = submitted;
    name(reply, request_id);
    const patience = { waitSeconds: preferredMaxSeconds, over, stop: deps.cutoff };
    const { status } = await waitForEnd(request_id, patience, req, deps);
    if (isFinal(status)) {
      const row = (await deps.operations.card(request_id))!;
      const output = await requests.requireOutput(row, deps);
      setChargeHeader(reply, row, submitted);
      return output;
    }
    throw new ApiError('request_not_ready', {
      message: `The request ${request_id} is still running. Do not send it again: poll its status_url, then fetch its response_url.`,
      details: { status, request_id, ...falAddresses(request_id, model_id, deps.links) },
    });
  });
}

/** GET {app}/requests/{request_id}/status?logs= : 202 until the status is final. */
export async function status(
  req: requests.StatusCall,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<unknown> {
  const query = readQuery(requests.WaitQuery, req.query);
  const told = await requests.readStatus(req, reply, query, deps);
  name(reply, told.request_id);
  if (!isFinal(told.status)) reply.code(202);
  return falStatus(told, wantsLogs(req) ? (told.logs ?? []) : [], deps.links);
}

/**
 * GET {app}/requests/{request_id}/status/stream?logs= : each event has new log lines only, because
 * fal's client collects them.
 */
export async function stream(
  req: requests.StatusCall,
  reply: FastifyReply,
  deps: StreamDeps & RequestDeps,
): Promise<unknown> {
  const withLogs = wantsLogs(req);
  let shown: readonly string[] = [];
  name(reply, requests.requestId(req));
  return requests.follow(req, reply, deps, (events, told) => {
    const { logs = [] } = told;
    events.send(JSON.stringify(falStatus(told, withLogs ? newLines(shown, logs) : [], deps.links)));
    shown = logs;
  });
}

/** GET {app}/requests/{request_id}: the output itself. */
export async function result(
  req: requests.StatusCall,
  reply: FastifyReply,
  deps: RequestDeps,
): Promise<unknown> {
  name(reply, requests.requestId(req));
  return requests.readOutput(req, deps);
}

/** PUT {app}/requests/{request_id}/cancel */
export async function cancel(
  req: requests.StatusCall,
  reply: FastifyReply,
  deps: RequestDeps,
): Promise<unknown> {
  await requests.cancelRequest(req, deps);
  reply.code(202);
  return { status: 'CANCELLATION_REQUESTED' };
}

/** The unchecked address for a notification. */
function webhookOf(req: KeyedRequest): unknown {
  return objectOf(req.query).fal_webhook;
}

function wantsLogs(req: KeyedRequest): boolean {
  return ['1', 'true'].includes(String(objectOf(req.query).logs));
}

/** fal's client reads the request id of a result from this header. */
function name(reply: FastifyReply, requestId: string): void {
  reply.header('x-fal-request-id', requestId);
}
