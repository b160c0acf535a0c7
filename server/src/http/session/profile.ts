import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import * as people from '../../db/people.ts';
import * as sessions from '../../db/sessions.ts';
import { isUuid } from '../../lib/id.ts';
import {
  endOtherSessions as endOthers,
  endSession as end,
  openAccount as makeAccount,
  renamePerson,
} from '../../operations/person.ts';
import { inWords, text } from './entry.ts';
import { readForm, type Visit, type WebDeps } from './visit.ts';

/** What people see and change of themselves. What they sign in with is the sign-in library's. */

/** PATCH /api/me {name}. */
export async function rename(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const name = text(await readForm(visit, deps), 'name', 100);
  await inWords(renamePerson(deps.db, visit.session.person_id, name));
  return { name: name.trim() };
}

/** GET /api/me/security: how they can sign in, and where they are signed in. */
export async function security(
  { session }: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  const [logins, signedIn] = await Promise.all([
    people.loginsOf(db, session.person_id),
    sessions.list(db, session.person_id),
  ]);
  return {
    has_password: logins.includes('credential'),
    has_oidc: logins.includes('oidc'),
    sessions: signedIn.map(({ id, created_at, expires_at, ...row }) => ({
      session_id: id,
      is_this: id === session.session_id,
      ...row,
      created_at: created_at.toISOString(),
      expires_at: expires_at.toISOString(),
    })),
  };
}

/** DELETE /api/me/sessions/:session_id: signs one browser out. */
export async function endSession(
  { session, params }: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  const { session_id: id } = params as { session_id: string };
  const ended = isUuid(id) && (await end(db, session.person_id, id));
  if (!ended) throw new ApiError('not_found', { message: 'This browser is signed out already.' });
  return { session_id: id };
}

/** DELETE /api/me/sessions: signs all browsers out but this one. */
export async function endOtherSessions(
  { session }: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  return { ended: await endOthers(db, session.person_id, session.session_id) };
}

/** POST /api/me/account: for who belongs to none. */
export async function openAccount(
  { session }: Visit,
  _reply: FastifyReply,
  { db, web }: WebDeps,
): Promise<unknown> {
  if (web.signUp !== 'open') {
    throw new ApiError('forbidden', { message: 'Accounts are opened by invitation here.' });
  }
  const { person_id: id, email } = session;
  return { account_id: await inWords(makeAccount(db, { id, email })) };
}
