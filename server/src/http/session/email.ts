import { ApiError } from '../../core/errors.ts';
import * as people from '../../db/accounts/people.ts';
import * as sessions from '../../db/accounts/sessions.ts';
import { networkOf } from '../../lib/caller-address.ts';
import { requireEmail } from '../../operations/accounts/account.ts';
import {
  makeEmailLink,
  findPersonOfChange,
  confirmEmail,
} from '../../operations/accounts/email.ts';
import * as s from '../schemas/schema.ts';
import { badField } from '../schemas/validate.ts';
import { freshAge, passwordMax } from './auth-library.ts';
import { openPageEndpoint, sessionEndpoint } from '../endpoint.ts';
import { demandPassword, holdersPassword, linkToken } from './confirmation.ts';
import { emailChangedLetter, emailLetter, emailAskedLetter, emailTakenLetter } from './letters.ts';
import { throttle } from './throttle.ts';
import { findSession, type SessionRequest, type WebDeps } from './session-request.ts';

/** Changing the e-mail address that a person signs in with. */

const asksOfPerson = { max: 5, seconds: 3600 };
const readsOfAddress = { max: 60, seconds: 600 };

/**
 * POST /api/me/email: the answer is the same whether somebody already has the address or not; only
 * letters tell the people concerned.
 */
export const ask = sessionEndpoint(
  {
    body: s.form({
      email: s.email(),
      password: s.optional(
        s.text('Required if the person has a password.', { maxLength: passwordMax }),
      ),
    }),
    reply: s.object({ status: s.choice(['check_mail']) }),
  },
  async ({ req, body }, deps) => {
    const { web, db } = deps;
    const { person_id, session_id, email: before } = req.session;
    if (!web.hasMail) {
      throw new ApiError('forbidden', {
        message: 'This service sends no mail. Ask the operator to change your e-mail address.',
        reason: 'mail_off',
      });
    }
    const email = requireEmail(body.email);
    if (email === before) {
      throw new ApiError('bad_request', {
        message: 'This already is your address.',
        reason: 'email_same',
        param: 'email',
      });
    }
    await demandHolder(req, body.password, deps);
    await throttle(deps, 'ask for e-mail', person_id, asksOfPerson);
    const taken = (await people.find(db, email)) !== null;
    const token = await makeEmailLink(db, { person_id, session_id, email });
    const url = `${web.origin()}/email?token=${token}`;
    deps.post?.(emailAskedLetter(before, email));
    const letter = taken ? emailTakenLetter(email, web.origin()) : emailLetter(email, url);
    web.postToStranger?.(letter, 'notice');
    return { status: 'check_mail' as const };
  },
);

/**
 * POST /api/email: confirms the new address with the token of the link that was sent to it, in a
 * browser in which the person is signed in, or with their password.
 */
export const confirm = openPageEndpoint(
  {
    body: s.form({ token: linkToken, password: holdersPassword }),
    reply: s.object({ email: s.text() }),
  },
  async ({ req, body }, deps) => {
    await throttle(deps, 'e-mail link', networkOf(req.address), readsOfAddress);
    const id = await findPersonOfChange(deps.db, body.token);
    const here = await findSession(req, deps);
    if (here?.session.person_id !== id) {
      const password = await people.findPassword(deps.db, id);
      await demandPassword({ id, password }, body.password, deps);
    }
    const { email, before } = await confirmEmail(deps.db, body.token);
    deps.post?.(emailChangedLetter(before, email));
    return { email };
  },
);

/** A stranger who finds an open browser must not be able to change the address. */
async function demandHolder(
  { session }: SessionRequest,
  password: string | undefined,
  deps: WebDeps,
): Promise<void> {
  const { person_id, session_id } = session;
  const stored = await people.findPassword(deps.db, person_id);
  if (stored === null) {
    if (await sessions.isYounger(deps.db, session_id, freshAge)) return;
    throw new ApiError('forbidden', {
      message: 'To do this you must have signed in within the last hour. Sign in again.',
      details: { reason: 'SESSION_NOT_FRESH' },
    });
  }
  if (!password)
    throw badField('password', `a string of 1 to ${passwordMax} characters`, {
      min_length: 1,
      max_length: passwordMax,
    });
  await demandPassword({ id: person_id, password: stored }, password, deps);
}
