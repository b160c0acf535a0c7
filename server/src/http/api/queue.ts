import type { FastifyReply } from 'fastify';
import { idempotencyKey } from '../../core/request/fingerprint.ts';
import { submittedBody } from '../../core/request/views.ts';
import { headerValues } from '../../lib/headers.ts';
import type { Submitted } from '../../operations/admit.ts';
import { demandFreeJob, submitJob, type WantedJob } from '../../operations/submit.ts';
import { jsonMaxBytes, readObject } from '../body.ts';
import type { HttpDeps, Keyed } from '../deps.ts';

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
  asked: Pick<WantedJob, 'model_id' | 'webhook_url'>,
  req: Keyed,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<Submitted> {
  const { caller } = req;
  const idempotency_key = idempotencyKey(headerValues(req.raw.rawHeaders, 'idempotency-key'));
  demandFreeJob({ caller, idempotency_key }, deps);
  const body = await readObject(req, reply, jsonMaxBytes, deps);
  const submitted = await submitJob({ ...asked, caller, idempotency_key, body }, deps);
  if (submitted.replayed) reply.header('idempotent-replayed', 'true');
  return submitted;
}
