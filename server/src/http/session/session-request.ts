import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Sample } from '../../catalog/samples.ts';
import { ApiError } from '../../core/errors.ts';
import { may, type Right, type Role } from '../../core/account/role.ts';
import { rightsOf, type OperatorRight } from '../../core/account/operator-role.ts';
import * as operators from '../../db/accounts/operators.ts';
import * as people from '../../db/accounts/people.ts';
import { isUuid } from '../../lib/id.ts';
import type { Letter } from '../../lib/mail.ts';
import { fieldOf } from '../../lib/unknown.ts';
import { demandScope, demandNotOperators } from '../auth.ts';
import { runSignIn } from '../database-share.ts';
import type { HttpDeps, SpareRule } from '../deps.ts';
import { addressHeader } from './auth-library.ts';
import type { Auth, Session } from './auth.ts';
import type { LetterKind } from './throttle.ts';

/** A call of the web pages: who makes it, and with what right. */
export interface SessionRequest extends FastifyRequest {
  session: Session;
  /** The account that the path names; empty for calls outside an account. */
  account_id: string;
  role: Role;
  /** Only for calls inside an account. */
  grant?: people.PersonGrant;
}

/** Dependencies of the routes of the web pages. */
export interface WebDeps extends HttpDeps {
  auth: Auth;
  web: WebSettings;
}

export interface WebSettings {
  /** The operator's picture of a model; rejects if the file is gone. */
  readSample: (name: string) => Promise<Sample>;
  /** Origin of the pages, without a path. */
  origin: () => string;
  signUp: 'open' | 'invite' | 'closed';
  /** The operator's words about the service, for the public pages. */
  site: {
    name: string;
    /** Null: the page's own. */
    line: string | null;
    links: readonly (readonly [text: string, href: string])[];
    /** Whether search engines may list the pages. */
    robots: boolean;
  };
  hasMail: boolean;
  /** The label of the identity provider's button; null: there is none. */
  oidcName: string | null;
  /** How to pay, in the operator's words; null: not shown. */
  topUpText: string | null;
  sendMail: ((letter: Letter) => Promise<void>) | null;
  /** As `post`, within the limit of letters to one address: anybody may cause it. */
  postToStranger: ((letter: Letter, kind: LetterKind) => void) | null;
}

/** True for a route that anyone may call and that takes a body: its calls have separate slots. */
export function isStranger(config: unknown): boolean {
  return fieldOf(config, 'isStranger') === true;
}

/**
 * Refuses a change that another site's page could have sent: browsers send the page's origin with
 * every change.
 */
export function demandOwnOrigin(req: FastifyRequest, { web }: WebDeps): void {
  if (req.method === 'GET' || req.method === 'HEAD') return;
  if (req.headers.origin === web.origin()) return;
  throw new ApiError('forbidden', {
    message:
      'Only the web pages of this service may make this call, but the Origin header names another site.',
    reason: 'origin_foreign',
  });
}

/** The session of the caller; null: nobody is signed in. */
export function findSession(req: FastifyRequest, deps: WebDeps): ReturnType<Auth['session']> {
  return runSignIn(req, deps, () => deps.auth.session(fetchHeaders(req)));
}

/** The session of the caller. Throws `unauthorized`. */
export async function demandSession(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<Session> {
  const found = await findSession(req, deps);
  if (found) {
    if (found.cookies.length > 0) reply.header('set-cookie', found.cookies);
    return found.session;
  }
  throw new ApiError('unauthorized', { message: 'Sign in first.' });
}

/**
 * Throws `not_found` if the person does not belong to the account, as if it did not exist, and
 * `forbidden` without the right.
 */
export async function demandRight(
  visit: SessionRequest,
  right: Right,
  { db }: WebDeps,
): Promise<void> {
  const account_id = fieldOf(visit.params, 'account_id');
  if (!isUuid(account_id)) throw new ApiError('not_found');
  const found = await people.findMembership(db, visit.session.person_id, account_id);
  if (!found) throw new ApiError('not_found');
  if (!may(found.role, right)) {
    throw new ApiError('forbidden', {
      message: `Your role, ${found.role}, may not do this.`,
      reason: 'role_too_low',
      details: { role: found.role },
    });
  }
  if (found.status !== 'active' && right !== 'view') {
    throw new ApiError('forbidden', {
      message: 'This account is suspended. Ask the operator.',
      reason: 'account_suspended',
    });
  }
  visit.account_id = account_id;
  // All its people and keys share its part of the database.
  visit.owner = account_id;
  visit.role = found.role;
  const { session_id, person_id } = visit.session;
  visit.grant = { session_id, person_id, account_id };
}

/**
 * Throws `not_found` for all but operators, as if these calls did not exist, and `forbidden` for
 * operators whose role lacks the right.
 */
export async function demandOperator(
  visit: SessionRequest,
  { right, ...spared }: { right: OperatorRight } & SpareRule,
  deps: WebDeps,
): Promise<void> {
  const { db } = deps;
  const { person_id, email } = visit.session;
  const role = await operators.findRole(db, person_id);
  if (role === null) throw new ApiError('not_found');
  visit.operator = { by: { person_id, email }, scopes: rightsOf(role), role };
  demandScope(visit.operator, right);
  await demandNotOperators(visit, visit.operator, spared, deps);
}

export function isSessionRequest(req: FastifyRequest): req is SessionRequest {
  return fieldOf(req, 'session') !== undefined;
}

/** The call's headers in the form that the sign-in library takes. */
export function fetchHeaders(req: FastifyRequest): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  headers.set(addressHeader, req.address);
  return headers;
}
