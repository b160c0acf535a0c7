import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, type ErrorCode } from '../../core/errors.ts';
import * as people from '../../db/accounts/people.ts';
import { requireEmail } from '../../operations/accounts/account.ts';
import { authPath } from './auth-library.ts';
import { nameOfEmail } from './auth-tables.ts';
import { readJsonForm } from '../json-form.ts';
import { fetchHeaders, type WebDeps } from './session-request.ts';
import { isObject, objectOf } from '../../lib/json.ts';
import * as s from '../schemas/schema.ts';
import { readBody, readQuery } from '../schemas/validate.ts';
import { authCalls } from './auth-calls.ts';

/** A call of the sign-in library, checked before the library gets it. */
export interface LibraryCall {
  /** Below /api/auth. */
  path: string;
  /** The address in the body as it is stored; null if the body has none. */
  email: string | null;
  request: Request;
}

const fieldsOf = new Map(authCalls.map(([method, path, fields]) => [`${method} ${path}`, fields]));

/** Throws `unsupported_media_type`, `bad_request`, `invalid_input`, `forbidden`, `not_found`. */
export async function libraryCall(req: FastifyRequest, deps: WebDeps): Promise<LibraryCall> {
  const origin = deps.web.origin();
  const url = new URL(req.url, origin);
  const route = req.routeOptions.url!;
  // The library reads the address by its own rules, so both readings must lead to the same route.
  if (url.origin !== origin || !isOf(url.pathname, route)) throw new ApiError('not_found');
  // The library would also take form-encoded bodies, which our checks cannot read.
  const given = await readJsonForm(req, deps);
  demandOwnTargets([...url.searchParams, ...Object.entries(given)], origin);
  const path = route.slice(authPath.length);
  const isPost = req.method === 'POST';
  const fields = fieldsOf.get(`${isPost ? 'POST' : 'GET'} ${path}`) ?? s.object({});
  // The library gets exactly the fields that were checked.
  const body = isPost ? objectOf(readBody(fields, given)) : {};
  url.search = isPost ? '' : searchOf(objectOf(readQuery(fields, req.query)));
  // A changed password ends the other sessions, because others may have learnt the old one.
  const email = typeof body.email === 'string' ? await mailboxOf(body.email, deps) : null;
  const sent = {
    ...body,
    ...(path === '/change-password' && { revokeOtherSessions: true }),
    ...(email !== null && { email: nameOfEmail(email) }),
  };
  const headers = fetchHeaders(req);
  headers.delete('content-length');
  const hasBody = isPost && Object.keys(sent).length > 0;
  const request = new Request(url, {
    method: req.method,
    headers,
    ...(hasBody && { body: JSON.stringify(sent) }),
  });
  return { path, email, request };
}

function searchOf(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).map(([name, value]) => [name, String(value)] as const);
  return new URLSearchParams(Object.fromEntries(pairs)).toString();
}

/**
 * The address as it is stored; the form of an unknown one. Throws `Refusal` if nobody has it and it
 * is not a usable address.
 */
async function mailboxOf(given: string, { db }: WebDeps): Promise<string> {
  return (await people.find(db, given))?.email ?? requireEmail(given);
}

/**
 * Compares a path with a route such as `/reset-password/:token`, whose `:token` is any one part.
 */
function isOf(path: string, route: string): boolean {
  const parts = path.split('/');
  const wanted = route.split('/');
  return (
    parts.length === wanted.length &&
    wanted.every((part, i) => part === parts[i] || (part.startsWith(':') && parts[i] !== ''))
  );
}

const targets = new Set(['callbackURL', 'redirectTo', 'errorCallbackURL', 'newUserCallbackURL']);

/** Refuses redirects to other sites, however the browser or the library normalises the address. */
function demandOwnTargets(fields: [string, unknown][], origin: string): void {
  const wrong = fields.find(([name, value]) => targets.has(name) && !isOwn(value, origin));
  if (!wrong) return;
  throw new ApiError('forbidden', {
    message: `${wrong[0]} must be an address of these pages.`,
    param: wrong[0],
  });
}

function isOwn(value: unknown, origin: string): boolean {
  if (typeof value !== 'string' || !URL.canParse(value, origin)) return false;
  const url = new URL(value, origin);
  return url.origin === origin && !url.pathname.startsWith('//');
}

/** Passes the library's answer on, without the token that only the cookie may hold. */
export async function passOn(response: Response, reply: FastifyReply): Promise<unknown> {
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) reply.header('set-cookie', cookies);
  const text = await response.text();
  if (response.status >= 400) throw refusalOf(response, text);
  reply.code(response.status).header('cache-control', 'no-store');
  for (const [name, value] of response.headers) {
    if (name !== 'set-cookie' && name !== 'content-length') reply.header(name, value);
  }
  const isJson = response.headers.get('content-type')?.includes('json') && text !== '';
  return reply.send(isJson ? JSON.stringify(withoutToken(JSON.parse(text))) : text);
}

const codes: Record<number, ErrorCode> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'payload_too_large',
  415: 'unsupported_media_type',
  429: 'rate_limited',
};
/** Seconds for which too many wrong codes lock a person out; the library does not send them. */
const lockSeconds = 900;

/** Turns the library's error into ours; its code becomes the reason. */
function refusalOf({ status, headers }: Response, text: string): ApiError {
  const said = parse(text);
  const reason = typeof said.code === 'string' ? said.code.slice(0, 100) : undefined;
  const message = typeof said.message === 'string' ? said.message.slice(0, 300) : '';
  const details = { ...(reason !== undefined && { details: { reason } }) };
  if (status >= 500) {
    const cause = new Error(`the sign-in library: ${reason ?? status}`);
    return new ApiError('internal_error', { ...details, cause });
  }
  const wait = headers.get('x-retry-after') ?? String(lockSeconds);
  return new ApiError(codes[status] ?? 'bad_request', {
    ...details,
    ...((message || status === 401) && { message: message || 'Sign in first.' }),
    ...(status === 429 && { headers: { 'retry-after': wait } }),
  });
}

function parse(text: string): Record<string, unknown> {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function withoutToken(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutToken);
  if (!isObject(value)) return value;
  const { token: _token, session: _session, ...rest } = value;
  return Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, withoutToken(each)]));
}
