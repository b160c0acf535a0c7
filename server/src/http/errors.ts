import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { messagesError } from '../core/apis/messages/write-reply.ts';
import { ApiError } from '../core/errors.ts';
import { replicateRefusal } from '../core/request/prediction.ts';
import { falRefusal } from '../core/request/fal.ts';
import { BatchFull } from '../lib/batch.ts';
import { JsonError } from '../lib/json.ts';
import { LogThrottle } from '../lib/log-throttle.ts';
import { isUnavailable } from '../lib/sql/sql.ts';
import { StreamStalled } from '../lib/streams.ts';
import { activeSpan } from '../lib/trace.ts';
import { codeOf, fieldOf } from '../lib/unknown.ts';
import { Refusal } from '../operations/refusal.ts';
import { StorageAway, StorageFull, TooLarge } from '../storage/storage.ts';
import { speaksFal } from './fal/refusal.ts';
import { speaksMessages, noStore, usualHeaders } from './speaks-messages.ts';

/** Sent with every 401. */
export const challenge = { 'www-authenticate': 'Key realm="farebox"' };

/** The body of an error reply; other clients get it with further fields, or in another form. */
export function errorBody(error: ApiError, requestId: string) {
  const { code, message, type, param, details } = error;
  return {
    error: { code, message, type, param, request_id: requestId, ...(details && { details }) },
  };
}

const refusals = new WeakMap<FastifyInstance, LogThrottle>();

/** Without capacity every call is refused, so the log gets one line a minute for each reason. */
function tellRefused({ code, message, cause, expected }: ApiError, req: FastifyRequest): void {
  if (expected) return;
  const throttle = refusals.get(req.server) ?? new LogThrottle();
  refusals.set(req.server, throttle);
  const reason = typeof cause === 'string' ? cause : codeOf(cause);
  const refused = throttle.due(`${reason} ${message}`);
  if (refused === null) return;
  req.log.warn({ call_id: req.id, err: cause ?? message, code, refused }, 'call failed');
}

/** Sends the error, and logs what the caller may not see. */
export function sendError(thrown: unknown, req: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = asApiError(thrown);
  activeSpan()?.note({ 'farebox.error_code': error.code });
  if (error.code === 'capacity_unavailable') tellRefused(error, req);
  else if (error.status >= 500 && error.code !== 'submit_failed') {
    const level = error.code === 'internal_error' ? 'error' : 'warn';
    const err = error.cause ?? thrown;
    req.log[level]({ call_id: req.id, err, code: error.code }, 'call failed');
  }
  const path = req.routeOptions.url ?? req.url;
  const other = speaksFal(req)
    ? falRefusal(error)
    : path.startsWith('/replicate/')
      ? replicateRefusal(error)
      : null;
  const body = errorBody(error, req.id);
  // An invalid target is refused before any hook has set the headers.
  return reply
    .code(other?.status ?? error.status)
    .headers({ ...usualHeaders(req.id, path), ...noStore, ...errorHeaders(error) })
    .send(
      speaksMessages(path) ? messagesError(body.error, error.status) : { ...other?.body, ...body },
    );
}

export function errorHeaders(error: ApiError): Record<string, string> {
  const headers: Record<string, string> = { ...error.headers };
  const isStopped = error.details?.reason === 'stopped';
  if (error.status === 503 && !isStopped) headers['retry-after'] ??= '2';
  if (error.status === 429) headers['retry-after'] ??= '1';
  // Stock clients would repeat a 409 and a 503 by themselves. Repeating does not help against a
  // 402, nor while a model is stopped.
  if (error.status === 402 || error.status === 409 || isStopped)
    headers['x-should-retry'] = 'false';
  return headers;
}

const badPath =
  'The path is invalid: % must be followed by two hexadecimal digits of a UTF-8 character.';

/** Turns anything thrown into an error for the caller. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof Refusal)
    return new ApiError(thrown.code, {
      message: thrown.message,
      ...(typeof thrown.why.field === 'string' && { param: thrown.why.field }),
      details: thrown.why,
      cause: thrown,
    });
  if (thrown instanceof JsonError)
    return new ApiError('bad_request', {
      message: thrown.message,
      ...(thrown.place !== null && { param: thrown.place }),
      cause: thrown,
    });
  if (thrown instanceof TooLarge) {
    return new ApiError('payload_too_large', {
      message: `The body is larger than ${thrown.maxBytes} bytes, the most this call accepts.`,
      details: { max_bytes: thrown.maxBytes },
    });
  }
  if (thrown instanceof StreamStalled) {
    return new ApiError('bad_request', { message: 'The body came too slowly and was cut off.' });
  }
  // Node's error for a caller who left before the whole body had come.
  if (thrown instanceof Error && thrown.message === 'aborted') {
    return new ApiError('bad_request', { message: 'The body ended early.', cause: thrown });
  }
  const isNoRoom = thrown instanceof BatchFull || thrown instanceof StorageFull;
  if (isNoRoom || thrown instanceof StorageAway || isUnavailable(thrown)) {
    return new ApiError('capacity_unavailable', { cause: thrown });
  }
  const statusCode = fieldOf(thrown, 'statusCode');
  if (statusCode === 413) return new ApiError('payload_too_large');
  if (statusCode === 415) {
    return new ApiError('unsupported_media_type', {
      message:
        "The Content-Type is invalid. Send application/json; for a file, send the file's own " +
        'type: images, video, audio, PDF and plain text are accepted.',
      param: 'content-type',
    });
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    // Fastify's own message names parts of Fastify, which callers do not know.
    return new ApiError('bad_request', {
      ...(codeOf(thrown) === 'FST_ERR_BAD_URL' && { message: badPath }),
      cause: thrown,
    });
  }
  return new ApiError('internal_error', { cause: thrown });
}
