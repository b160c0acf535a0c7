import { nameMax } from '../../core/account/name.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import * as operatorRole from '../../core/account/operator-role.ts';
import { ApiError } from '../../core/errors.ts';
import type { Reason } from '../../core/reasons.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as operators from '../../db/accounts/operators.ts';
import * as people from '../../db/accounts/people.ts';
import { networkOf } from '../../lib/caller-address.ts';
import { hashToken } from '../../operations/accounts/link.ts';
import {
  acceptInvitation,
  resetLink,
  signUp as makePerson,
} from '../../operations/accounts/person.ts';
import { Role } from '../schemas/account.ts';
import { Banner } from '../operator/banner.ts';
import { OperatorRole } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { passwordMax, passwordMin } from './auth-library.ts';
import { guessesOfPerson, linkToken } from './confirmation.ts';
import { knownDevice, rememberDevice, rememberSignUp } from './devices.ts';
import { openPageEndpoint, sessionEndpoint } from '../endpoint.ts';
import { againLetter, knownLetter } from './letters.ts';
import { libraryCall, passOn } from './library-call.ts';
import { throttle, type Throttle } from './throttle.ts';
import { runSignIn } from '../database-share.ts';
import { findSession, type WebDeps } from './session-request.ts';

/** Calls of visitors before and right after they sign in. */

/**
 * Limits of tries with one e-mail address, from wherever they come, and of tries from one network.
 */
const triesOfEmail: Record<string, Record<'email' | 'network', Throttle>> = {
  '/sign-in/email': {
    email: { max: 20, seconds: 900 },
    network: { max: 10, seconds: 60 },
  },
  '/request-password-reset': {
    email: { max: 5, seconds: 3600 },
    network: { max: 10, seconds: 3600 },
  },
  '/send-verification-email': {
    email: { max: 5, seconds: 3600 },
    network: { max: 10, seconds: 3600 },
  },
};
/**
 * Calls of signed-in people that take a password or a code. They are limited, so that a stranger
 * who finds an open browser cannot guess the password or code.
 */
const guesses = new Set([
  '/change-password',
  '/two-factor/enable',
  '/two-factor/disable',
  '/two-factor/generate-backup-codes',
  '/two-factor/verify-totp',
  '/two-factor/verify-backup-code',
]);
const signUpsOfAddress = { max: 10, seconds: 3600 };
const readsOfAddress = { max: 60, seconds: 600 };

const name = s.line(nameMax);

/** GET /api/web: what the pages need to know before anybody has signed in. */
export const settings = openPageEndpoint(
  {
    reply: s.namedObject('WebSettings', {
      base_url: s.url(),
      sign_up: s.choice(['open', 'invite', 'closed']),
      has_mail: s.boolean(),
      oidc_name: s.nullable(
        s.text(
          "The label of the identity provider's button; null if there is no identity provider.",
        ),
      ),
      password_min: s.integer(),
      banner: s.nullable(Banner),
    }),
  },
  async (_call, { web, links, banner }) => ({
    base_url: links.baseUrl,
    sign_up: web.signUp,
    has_mail: web.hasMail,
    oidc_name: web.oidcName,
    password_min: passwordMin,
    banner: await banner.read(),
  }),
);

/** The calls in `authCalls`, which the sign-in library answers. */
export async function auth(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  const { path, email, request } = await libraryCall(req, deps);
  const tries = request.method === 'POST' ? triesOfEmail[path] : undefined;
  if (tries && email !== null) {
    const device = knownDevice(req.headers.cookie, email, deps);
    if (device === null) {
      // The network's limit comes first: calls that it refuses do not use up the address's tries.
      await throttle(deps, `${path} from`, networkOf(req.address), tries.network);
      await throttle(deps, path, email, tries.email);
    } else {
      // In a known browser, tries that strangers make with the address do not count.
      await throttle(deps, `${path} device`, device, tries.email);
    }
  }
  const person = guesses.has(path) ? (await findSession(req, deps))?.session.person_id : null;
  if (person) await throttle(deps, 'guess', person, guessesOfPerson);
  const response = await runSignIn(req, deps, () => deps.auth.handle(request));
  if (path === '/sign-in/email' && response.ok && email !== null)
    rememberDevice(reply, email, deps);
  return passOn(response, reply);
}

/** POST /api/sign-up: the answer is the same whether the address was free or not. */
export const signUp = openPageEndpoint(
  {
    body: s.form({
      name,
      email: s.email(),
      password: s.text(undefined, { minLength: passwordMin, maxLength: passwordMax }),
      token: s.optional(s.nullable(linkToken)),
    }),
    reply: s.object({ status: s.choice(['check_mail', 'sign_in']) }),
  },
  async ({ req, reply, body }, deps) => {
    await throttle(deps, 'sign-up', networkOf(req.address), signUpsOfAddress);
    const { signUp: mode, hasMail } = deps.web;
    const { token = null } = body;
    if (mode === 'closed')
      throw closed('sign_up_off', 'Sign-up is closed here. Ask the operator for an account.');
    if (mode === 'invite' && token === null)
      throw closed(
        'invitation_needed',
        'Signing up needs an invitation. Ask the operator for one.',
      );
    const wanted = { ...body, token, email_verified: false, has_mail: hasMail };
    const made = await runSignIn(req, deps, () => makePerson(deps.db, wanted));
    if (hasMail) rememberSignUp(reply, made.login, deps);
    // Not awaited: the time it takes would reveal which letter is sent.
    if (hasMail) {
      write(made, deps).catch((error: Error) =>
        deps.log.error({ cause: error.message }, 'e-mail not sent'),
      );
    }
    const status = hasMail && !made.email_verified ? 'check_mail' : 'sign_in';
    return { status } as const;
  },
);

/**
 * Sends the letter that fits the address, because the answer does not reveal whether it is known.
 */
async function write(
  { person, email, email_verified }: Awaited<ReturnType<typeof makePerson>>,
  { db, web, auth: library }: WebDeps,
): Promise<void> {
  if (person !== 'known' && email_verified) return;
  if (person === 'new') return library.sendVerification(email);
  const url = `${web.origin()}/reset?token=${await resetLink(db, email)}`;
  web.postToStranger?.(
    person === 'known' ? knownLetter(email, web.origin(), url) : againLetter(email, url),
    'way in',
  );
}

/** POST /api/invitation: the invitation that a link belongs to. */
export const invitation = openPageEndpoint(
  {
    body: s.form({ token: linkToken }),
    reply: s.namedObject('Invitation', {
      email: s.text(),
      role: Role,
      account_name: s.nullable(s.text('Null: the person gets a new account.')),
      expires_at: s.time(),
    }),
  },
  async ({ req, body }, deps) => {
    await throttle(deps, 'invitation', networkOf(req.address), readsOfAddress);
    const found = await invitations.findOpen(deps.db, hashToken(body.token));
    if (found) return found;
    throw new ApiError('not_found', {
      message: 'This invitation was used or has expired. Ask for a new one.',
      reason: 'invitation_gone',
    });
  },
);

/** POST /api/invitation/accept: the signed-in person joins the account. */
export const accept = sessionEndpoint(
  { body: s.form({ token: linkToken }), reply: s.object({ account_id: s.nullable(s.id()) }) },
  async ({ req, body }, deps) => {
    const { person_id: id, email } = req.session;
    return acceptInvitation(deps.db, { id, email }, body.token);
  },
);

const Account = s.namedObject('Account', {
  account_id: s.id(),
  name: s.text(),
  role: Role,
  status: s.choice(['active', 'suspended']),
  is_operator: s.boolean('Its owners run the service.'),
});

const Me = s.namedObject('Me', {
  person_id: s.id(),
  session_id: s.id(),
  email: s.text(),
  name: s.text(),
  email_verified: s.boolean(),
  two_factor_enabled: s.boolean(),
  is_operator: s.boolean(),
  operator: s.nullable(
    s.object(
      { role: OperatorRole, rights: s.list(s.choice(operatorRole.operatorRights)) },
      { description: 'Their role on the console; null: none.' },
    ),
  ),
  accounts: s.list(Account),
});

/** GET /api/me: who is signed in, and which accounts they belong to. */
export const me = sessionEndpoint({ reply: Me }, async ({ req: { session } }, { db }) => ({
  ...session,
  ...consoleOf(await operators.findRole(db, session.person_id)),
  accounts: await people.listMemberships(db, session.person_id),
}));

function consoleOf(role: operatorRole.OperatorRole | null) {
  const operator = role && { role, rights: [...operatorRole.rightsOf(role)] };
  return { is_operator: role !== null, operator };
}

function closed(reason: Reason, message: string): ApiError {
  return new ApiError('forbidden', { message, reason });
}
