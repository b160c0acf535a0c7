import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import * as invitations from '../../db/invitations.ts';
import * as people from '../../db/people.ts';
import { newId } from '../../lib/id.ts';
import { Refused } from '../../operations/account.ts';
import { acceptInvitation, hashToken, signUp as makePerson } from '../../operations/person.ts';
import { passwordMax, passwordMin } from './auth.ts';
import { fetchRequest, passOn, readForm, type Visit, type WebDeps } from './visit.ts';

/** The way in: what a visitor may do before and right after signing in. */

/** Sign-ins of one e-mail address in a quarter of an hour, from wherever they come. */
const triesOfEmail = { max: 20, seconds: 900 };
const signUpsOfAddress = { max: 10, seconds: 3600 };
const looksOfAddress = { max: 60, seconds: 600 };

/** GET /api/web: what the pages need to know before anybody has signed in. */
export async function settings(
  _req: FastifyRequest,
  reply: FastifyReply,
  { web, links }: WebDeps,
): Promise<unknown> {
  reply.header('cache-control', 'no-store');
  return {
    base_url: links.baseUrl,
    sign_up: web.signUp,
    has_mail: web.hasMail,
    oidc_name: web.oidcName,
    password_min: passwordMin,
  };
}

/** /api/auth/*: the sign-in library's own calls. */
export async function auth(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  const request = await fetchRequest(req, deps);
  if (request.method === 'POST' && new URL(request.url).pathname.endsWith('/sign-in/email')) {
    const { email } = (await request
      .clone()
      .json()
      .catch(() => ({}))) as { email?: unknown };
    if (typeof email === 'string') await throttle(deps, 'email', email.toLowerCase(), triesOfEmail);
  }
  return passOn(await deps.auth.handle(request), reply);
}

/**
 * POST /api/sign-up {name, email, password, token?}: the answer is the same whether the address was
 * free or not.
 */
export async function signUp(
  req: FastifyRequest,
  _reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  await throttle(deps, 'sign-up', req.ip, signUpsOfAddress);
  const form = await readForm(req, deps);
  const wanted = {
    name: text(form, 'name', 100),
    email: text(form, 'email', 254),
    password: text(form, 'password', passwordMax, passwordMin),
    token: form.token === undefined || form.token === null ? null : text(form, 'token', 100),
    email_verified: false,
  };
  const { signUp: mode } = deps.web;
  if (mode === 'closed') throw closed('Nobody can sign up here. Ask the operator for an account.');
  if (mode === 'invite' && wanted.token === null)
    throw closed('Signing up needs an invitation. Ask the operator for one.');
  const made = await inWords(makePerson(deps.db, wanted));
  if (made !== null && wanted.token === null) await deps.auth.sendVerification(wanted.email);
  return { status: deps.web.hasMail && wanted.token === null ? 'check_mail' : 'sign_in' };
}

/** POST /api/invitation {token}: what the link is good for. */
export async function invitation(
  req: FastifyRequest,
  _reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  await throttle(deps, 'invitation', req.ip, looksOfAddress);
  const token = text(await readForm(req, deps), 'token', 100);
  const found = await invitations.findOpen(deps.db, hashToken(token));
  if (!found) {
    throw new ApiError('not_found', {
      message: 'This invitation is used up or no longer good. Ask again.',
    });
  }
  const { email, role, account_name, expires_at } = found;
  return { email, role, account_name, expires_at: expires_at.toISOString() };
}

/** POST /api/invitation/accept {token}: into the account, for who is signed in. */
export async function accept(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const token = text(await readForm(visit, deps), 'token', 100);
  const { person_id: id, email } = visit.session;
  const { account_id } = await inWords(acceptInvitation(deps.db, { id, email }, token));
  return { account_id };
}

/** GET /api/me: who is signed in, and where they may go. */
export async function me(visit: Visit, reply: FastifyReply, { db }: WebDeps): Promise<unknown> {
  reply.header('cache-control', 'no-store');
  const { person_id, session_id, ...session } = visit.session;
  const accounts = await people.memberships(db, person_id);
  return {
    person_id,
    session_id,
    ...session,
    is_operator: await people.isOperator(db, person_id),
    accounts: accounts.map(({ account_id, name, role, status }) => ({
      account_id,
      name,
      role,
      status,
    })),
  };
}

/** The operator's own words for what cannot be done fit who asks here as well. */
export async function inWords<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    throw new ApiError('bad_request', { message: error.message, cause: error });
  }
}

function closed(message: string): ApiError {
  return new ApiError('forbidden', { message });
}

/** Exact over all processes; nothing that was typed is kept, only its hash. */
export async function throttle(
  { db }: WebDeps,
  what: string,
  who: string,
  { max, seconds }: { max: number; seconds: number },
): Promise<void> {
  const key = `${what} ${createHash('sha256').update(who).digest('base64url')}`;
  if (await people.countTry(db, { id: newId(), key, max, seconds })) return;
  throw new ApiError('rate_limited', {
    message: 'Too many tries. Wait some minutes, then try again.',
    headers: { 'retry-after': String(seconds) },
  });
}

/** A text of the form. Throws `bad_request`. */
export function text(form: Record<string, unknown>, name: string, max: number, min = 1): string {
  const value = form[name];
  if (typeof value === 'string' && value.length >= min && value.length <= max) return value;
  throw new ApiError('bad_request', {
    message: `${name} must be a text of ${min} to ${max} characters.`,
    param: name,
  });
}
