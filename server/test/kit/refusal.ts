import assert from 'node:assert/strict';
import { errors, type ErrorCode } from '../../src/core/errors.ts';
import type { Reply } from './service.ts';

/** Internals that no reply may contain: stacks, our file names, the database's messages. */
const inside =
  /\bat .+:\d+:\d+|node:internal|node_modules|\.ts\b|violates|relation "|syntax error at/;

/**
 * Asserts a refusal in the common form: body, headers, and no internals. Returns the body's
 * `error`.
 */
export function assertRefused(
  reply: Reply,
  code: ErrorCode,
  options: { status?: number; about?: string } = {},
): Record<string, any> {
  const { status = errors[code].status, about = '' } = options;
  const said = `${about} ${reply.status} ${reply.text.slice(0, 300)}`;
  const error = reply.body?.error;
  assert.equal(error?.code, code, said);
  assert.equal(reply.status, status, said);
  assertErrorShape(reply, said);
  return error;
}

/** Like `assertRefused` for any code of the catalogue. Returns the code. */
export function assertErrorShape(reply: Reply, about = ''): ErrorCode {
  assert.match(reply.headers.get('content-type') ?? '', /^application\/json\b/, about);
  assert.equal(reply.headers.get('cache-control'), 'no-store', about);
  const { message: told, title, detail, status, invalid_fields, ...own } = ours(reply.body);
  // The clients of fal and Replicate read these fields; our own refusals do not have them.
  assert.equal(told === undefined && title === undefined, detail === undefined, about);
  if (title !== undefined) assert.equal(status, reply.status, about);
  assert.ok(invalid_fields === undefined || status === 422, about);
  assert.deepEqual(Object.keys(own), ['error'], about);
  const { code, message, type, param, request_id, details, ...rest } = own.error;
  assert.deepEqual(rest, {}, about);
  assert.ok(Object.hasOwn(errors, code), `${about}: ${code} is not in the catalogue`);
  assert.equal(type, errors[code as ErrorCode].type, about);
  assert.ok(typeof message === 'string' && message.length > 10 && message.length < 1_000, about);
  assert.ok(param === null || typeof param === 'string', about);
  assert.equal(request_id, reply.headers.get('x-request-id'), about);
  assert.match(String(request_id), /^req_[\w-]{8,}$/, about);
  assert.ok(details === undefined || typeof details === 'object', about);
  assert.doesNotMatch(reply.text, inside, about);
  assertRetryHeaders(reply, about);
  return code;
}

/** The body without the fields that Anthropic's form adds. */
function ours(body: Record<string, any>): Record<string, any> {
  if (body.type !== 'error') return body;
  const { type: _, request_id, error, ...rest } = body;
  assert.match(error.type, /^(api|overloaded|request_too_large|\w+_error)/);
  const type = errors[error.code as ErrorCode]?.type;
  return { ...rest, error: { ...error, type, request_id } };
}

function assertRetryHeaders({ status, headers, text, body }: Reply, about: string): void {
  const after = headers.get('retry-after');
  if (status === 429 || status === 503) assert.match(after ?? 'none', /^[1-9]\d*$/, about);
  // A program must not retry a call that may have been charged, or whose job has failed for good.
  const hasFailed = status === 502 && body.error.details?.status === 'FAILED';
  const isFinal =
    status === 402 || status === 409 || hasFailed || text.includes('it is unknown whether');
  assert.equal(headers.get('x-should-retry'), isFinal ? 'false' : null, about);
  assert.equal(headers.has('allow'), status === 405, about);
}
