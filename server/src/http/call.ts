import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { callerId, callNumber, repeatNumber } from '../core/request/call-number.ts';
import { idempotencyKey } from '../core/request/fingerprint.ts';
import { metadataHeader, metadataIn } from '../core/request/metadata.ts';
import { headerValues } from '../lib/outbound/headers.ts';
import { redact } from '../lib/log.ts';
import { activeSpan } from '../lib/trace.ts';
import { demandFreeJob, type CallTrace } from '../operations/requests/submit.ts';
import type { CallDeps, CatalogDeps, KeyedRequest } from './deps.ts';
import { usualHeaders } from './speaks-messages.ts';

/**
 * The number by which the caller knows this call; null: the caller sent none, or one that looks
 * like a secret.
 */
export function callerIdOf({ raw }: Pick<FastifyRequest, 'raw'>): string | null {
  const { headers, rawHeaders } = raw;
  if (headers['x-request-id'] === undefined && headers.traceparent === undefined) return null;
  const all = (name: string) => headerValues(rawHeaders, name);
  const id = callerId(all('x-request-id'), all('traceparent'));
  return id !== null && redact(id) === id ? id : null;
}

/** Notes the model that a call asks for, if there is one with this id. */
export function recordModelForLog(
  req: FastifyRequest,
  id: unknown,
  { catalog }: CatalogDeps,
): void {
  if (typeof id === 'string' && catalog().models.has(id)) req.model_id = id;
}

/** This call for the request that it makes. The reply's number becomes that of the request. */
export function traceCall(req: FastifyRequest, reply: FastifyReply): CallTrace {
  const own = req.id;
  const rename = (number: string) => {
    req.id = number;
    reply.headers(usualHeaders(number, req.routeOptions.url ?? req.url));
  };
  return {
    caller_id: callerIdOf(req),
    traceparent: activeSpan()?.recorded() ?? null,
    willCreate(request_id, model_id) {
      demandAwaited(reply);
      req.model_id = model_id;
      rename(callNumber(request_id));
    },
    created({ request_id, replayed }) {
      req.made = request_id;
      if (replayed) rename(repeatNumber(request_id, own));
    },
  };
}

/** The headers of a call that makes a job. Throws what forbids to read its body. */
export function jobHeaders({ caller, raw }: KeyedRequest, deps: CallDeps) {
  const headers = requestHeaders(raw);
  demandFreeJob({ caller, idempotency_key: headers.idempotency_key }, deps);
  return headers;
}

/** The headers of a call that makes a request. Throws if one is invalid. */
export function requestHeaders({ rawHeaders }: FastifyRequest['raw']) {
  const idempotency_key = idempotencyKey(headerValues(rawHeaders, 'idempotency-key'));
  return { idempotency_key, metadata: metadataIn(headerValues(rawHeaders, metadataHeader)) };
}

/**
 * Work of a call that keeps what the call holds, its slot too, until it is over. This does not
 * depend on the caller, who may leave meanwhile. For a caller who has left, it does not begin.
 */
export function toItsEnd<T>(work: (req: FastifyRequest, reply: FastifyReply) => Promise<T>) {
  return async (req: FastifyRequest, reply: FastifyReply): Promise<T> => {
    demandAwaited(reply);
    const releases: (() => void)[] = [];
    req.atEnd = releases;
    try {
      return await work(req, reply);
    } finally {
      req.atEnd = null;
      for (const release of releases) release();
    }
  };
}

/** Throws if the caller has left, so that nothing more is held or begun for it. */
export function demandAwaited({ raw }: FastifyReply): void {
  if (raw.destroyed) throw nobodyWaits();
}

/** Fires when the caller has left, or has its reply. */
export function leftOf(req: FastifyRequest, { raw }: FastifyReply): AbortSignal {
  if (req.left) return req.left;
  const left = new AbortController();
  const leave = () => left.abort(nobodyWaits());
  if (raw.destroyed) leave();
  else raw.once('close', leave);
  req.left = left.signal;
  return left.signal;
}

function nobodyWaits(): ApiError {
  return new ApiError('capacity_unavailable', { message: 'Nobody waits.', expected: true });
}
