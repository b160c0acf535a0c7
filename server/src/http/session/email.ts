import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import * as people from '../../db/people.ts';
import * as sessions from '../../db/sessions.ts';
import { verifyPassword } from '../../lib/password.ts';
import { emailOf } from '../../operations/account.ts';
import { askForEmail, confirmEmail } from '../../operations/email.ts';
import { freshAge } from './auth-library.ts';
import { guessesOfPerson, inWords, letters, text } from './entry.ts';
import { emailChangedLetter, emailLetter, emailAskedLetter, emailTakenLetter } from './letters.ts';
import { mayTry, networkOf, throttle } from './throttle.ts';
import { readForm, type Visit, type WebDeps } from './visit.ts';

/** Another e-mail address to sign in with, by who signs in with it. */

const asksOfPerson = { max: 5, seconds: 3600 };
const looksOfAddress = { max: 60, seconds: 600 };

/**
 * POST /api/me/email {email, password}: the answer is the same whether somebody has the address or
 * not; letters tell those who may know.
 */
export async function ask(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const { web, db } = deps;
  const { person_id, session_id, email: before } = visit.session;
  if (!web.hasMail) {
    throw new ApiError('forbidden', {
      message: 'This service sends no mail. Ask the operator to change your e-mail address.',
    });
  }
  const form = await readForm(visit, deps);
  const email = await inWords(readEmail(form));
  if (email === before)
    throw new ApiError('bad_request', { message: 'This is your address already.', param: 'email' });
  await demandHolder(visit, form, deps);
  await throttle(deps, 'ask for e-mail', person_id, asksOfPerson);
  const taken = (await people.find(db, email)) !== null;
  const token = await askForEmail(db, { person_id, session_id, email });
  const url = `${web.origin()}/email?token=${token}`;
  web.post?.(emailAskedLetter(before, email));
  if (await mayTry(db, 'e-mail to', email, letters))
    web.post?.(taken ? emailTakenLetter(email, web.origin()) : emailLetter(email, url));
  return { status: 'check_mail' };
}

/** POST /api/email {token}: whoever reads the new address has opened the link. */
export async function confirm(
  req: FastifyRequest,
  _reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  await throttle(deps, 'e-mail link', networkOf(req.ip), looksOfAddress);
  const token = text(await readForm(req, deps), 'token', 100);
  const { email, before } = await inWords(confirmEmail(deps.db, token));
  deps.web.post?.(emailChangedLetter(before, email));
  return { email };
}

/** A browser that was found open does not take the way in away. */
async function demandHolder(
  { session }: Visit,
  form: Record<string, unknown>,
  deps: WebDeps,
): Promise<void> {
  const { person_id, session_id } = session;
  const stored = await people.passwordOf(deps.db, person_id);
  if (stored === null) {
    if (await sessions.isYounger(deps.db, session_id, freshAge)) return;
    throw new ApiError('forbidden', {
      message: 'For this you have to have signed in within the last hour.',
      details: { reason: 'SESSION_NOT_FRESH' },
    });
  }
  const password = text(form, 'password', 128);
  await throttle(deps, 'guess', person_id, guessesOfPerson);
  if (await verifyPassword(password, stored)) return;
  throw new ApiError('bad_request', {
    message: 'The password is wrong.',
    param: 'password',
    details: { reason: 'INVALID_PASSWORD' },
  });
}

async function readEmail(form: Record<string, unknown>): Promise<string> {
  return emailOf(text(form, 'email', 254));
}
