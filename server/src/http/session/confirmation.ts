import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { networkOf } from '../../lib/caller-address.ts';
import { verifyPassword } from '../../lib/password.ts';
import {
  confirmAddress,
  findUnconfirmed,
  setNewPassword,
} from '../../operations/accounts/person.ts';
import * as s from '../schemas/schema.ts';
import { passwordMax, passwordMin } from './auth-library.ts';
import { hasSignedUp } from './devices.ts';
import { runSignIn } from '../database-share.ts';
import { openPageEndpoint } from '../endpoint.ts';
import { libraryCall } from './library-call.ts';
import { throttle } from './throttle.ts';
import { findSession, type WebDeps } from './session-request.ts';

/**
 * The calls of the pages that letters link to. Opening a link changes nothing. A program that reads
 * the letter and presses the page's button changes nothing either: it has neither the browser nor
 * the password.
 */

const readsOfAddress = { max: 60, seconds: 600 };
const resetsOfAddress = { max: 10, seconds: 60 };
export const guessesOfPerson = { max: 20, seconds: 900 };

/** The token of a link in an e-mail. */
export const linkToken = s.text(undefined, { minLength: 1, maxLength: 100 });
/** The password of the person whom a link is for. */
export const holdersPassword = s.optional(
  s.text('Required in a browser that is not known to be theirs.', { maxLength: passwordMax }),
);

/** POST /api/confirm: confirms the address of a sign-up with the token of the link sent to it. */
export const confirm = openPageEndpoint(
  {
    body: s.form({ token: linkToken, password: holdersPassword }),
    reply: s.object({ email: s.text() }),
  },
  async ({ req, body }, deps) => {
    await throttle(deps, 'confirmation', networkOf(req.address), readsOfAddress);
    const person = await findUnconfirmed(deps.db, body.token);
    if (!hasSignedUp(req, person, deps)) await demandPassword(person, body.password, deps);
    return { email: await confirmAddress(deps.db, body.token) };
  },
);

/** Throws `forbidden` without a password, and `bad_request` if it is wrong. */
export async function demandPassword(
  { id, password: stored }: { id: string; password: string | null },
  given: string | undefined,
  deps: WebDeps,
): Promise<void> {
  if (!given)
    throw new ApiError('forbidden', {
      message:
        'Open the link in the browser in which you asked for it, or enter your password as well.',
      reason: 'password_needed',
    });
  await throttle(deps, 'guess', id, guessesOfPerson);
  if (stored !== null && (await verifyPassword(given, stored))) return;
  throw new ApiError('bad_request', {
    message: 'The password is wrong.',
    param: 'password',
    details: { reason: 'INVALID_PASSWORD' },
  });
}

/** POST /api/auth/reset-password: sets a new password with the token of a link. */
export const reset = openPageEndpoint(
  {
    body: s.form({ newPassword: s.text(), token: linkToken }),
    reply: s.object({ status: s.onlyTrue() }),
  },
  async ({ req, body: { newPassword, token } }, deps) => {
    await throttle(deps, 'new password', networkOf(req.address), resetsOfAddress);
    if (newPassword.length < passwordMin) throw badLength('PASSWORD_TOO_SHORT');
    if (newPassword.length > passwordMax) throw badLength('PASSWORD_TOO_LONG');
    const signed_in_id = (await findSession(req, deps))?.session.person_id ?? null;
    const link = { token, text: newPassword, signed_in_id };
    await runSignIn(req, deps, () => setNewPassword(deps.db, link));
    return { status: true as const };
  },
);

function badLength(reason: string): ApiError {
  return new ApiError('bad_request', {
    message: `A password has ${passwordMin} to ${passwordMax} characters.`,
    param: 'newPassword',
    details: { reason },
  });
}

/** GET /api/auth/verify-email: links of letters from before this page existed. */
export async function formerLink(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  await libraryCall(req, deps);
  return reply.redirect('/confirm', 302);
}
