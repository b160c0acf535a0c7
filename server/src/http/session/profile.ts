import { nameMax } from '../../core/account/name.ts';
import { ApiError } from '../../core/errors.ts';
import * as people from '../../db/accounts/people.ts';
import * as sessions from '../../db/accounts/sessions.ts';
import { isUuid } from '../../lib/id.ts';
import {
  endOtherSessions as endOthers,
  endSession as end,
  openAccount as makeAccount,
  renamePerson,
} from '../../operations/accounts/person.ts';
import * as s from '../schemas/schema.ts';
import { sessionEndpoint } from '../endpoint.ts';

/**
 * The profile that people see and change. The sign-in library changes their ways to sign in.
 */

/** PATCH /api/me */
export const rename = sessionEndpoint(
  {
    body: s.form({ name: s.line(nameMax) }),
    reply: s.object({ name: s.text() }),
  },
  async ({ req, body }, deps) => {
    await renamePerson(deps.db, req.session.person_id, body.name);
    return { name: body.name.trim() };
  },
);

const Session = s.namedObject('Session', {
  session_id: s.id(),
  is_this: s.boolean('True for the session of this call.'),
  ip_address: s.nullable(s.text()),
  user_agent: s.nullable(s.text()),
  created_at: s.time(),
  expires_at: s.time(),
});

/** GET /api/me/security: how the person can sign in, and where they are signed in. */
export const security = sessionEndpoint(
  {
    reply: s.namedObject('Security', {
      has_password: s.boolean(),
      has_oidc: s.boolean(),
      sessions: s.list(Session),
    }),
  },
  async ({ req: { session } }, { db }) => {
    const [logins, signedIn] = await Promise.all([
      people.listLogins(db, session.person_id),
      sessions.list(db, session.person_id),
    ]);
    return {
      has_password: logins.includes('credential'),
      has_oidc: logins.includes('oidc'),
      sessions: signedIn.map(({ id: session_id, ...row }) => ({
        session_id,
        is_this: session_id === session.session_id,
        ...row,
      })),
    };
  },
);

/** DELETE /api/me/sessions/:session_id: signs one browser out. */
export const endSession = sessionEndpoint(
  { params: ['session_id'], reply: s.object({ session_id: s.id() }) },
  async ({ req, params }, { db }) => {
    const session_id = params.session_id;
    const ended = isUuid(session_id) && (await end(db, req.session.person_id, session_id));
    if (!ended)
      throw new ApiError('not_found', {
        message: 'This browser is already signed out.',
        reason: 'session_over',
      });
    return { session_id };
  },
);

/** DELETE /api/me/sessions: signs all browsers out but this one. */
export const endOtherSessions = sessionEndpoint(
  { reply: s.object({ ended: s.integer() }) },
  async ({ req: { session } }, { db }) => ({
    ended: await endOthers(db, session.person_id, session.session_id),
  }),
);

/** POST /api/me/account: opens an account for a person who belongs to none. */
export const openAccount = sessionEndpoint(
  { reply: s.object({ account_id: s.id() }) },
  async ({ req: { session } }, { db, web }) => {
    if (web.signUp !== 'open') {
      throw new ApiError('forbidden', {
        message: 'On this service, an account needs an invitation.',
        reason: 'invitation_needed',
      });
    }
    const { person_id: id, email } = session;
    return { account_id: await makeAccount(db, { id, email }) };
  },
);
