import { nameMax } from '../../core/account/name.ts';
import { ApiError } from '../../core/errors.ts';
import { may } from '../../core/account/role.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as members from '../../db/accounts/members.ts';
import type { SignedInPerson } from '../../operations/operator-action.ts';
import {
  inviteMember,
  removeMember,
  renameAccount,
  setRole as giveRole,
  withdrawInvitation,
} from '../../operations/accounts/team.ts';
import { changeBilledTo } from '../../operations/accounts/receipt.ts';
import * as s from '../schemas/schema.ts';
import { sessionEndpoint } from '../endpoint.ts';
import { idIn } from '../ids.ts';
import { invitationLetter } from '../session/letters.ts';
import { countLetter, throttle } from '../session/throttle.ts';
import type { SessionRequest, WebDeps } from '../session/session-request.ts';
import { Role } from '../schemas/account.ts';

/** The people of an account. */

/** Limited, because an invitation may send a letter to somebody who did not ask for it. */
const invitationsOfAccount = { max: 30, seconds: 3600 };

const Member = s.namedObject('Member', {
  person_id: s.id(),
  name: s.text(),
  email: s.text(),
  role: Role,
  is_me: s.boolean(),
  two_factor_enabled: s.optional(s.boolean('Shown to owners only.')),
  joined_at: s.time(),
});

const Invitee = s.namedObject('Invitee', {
  invitation_id: s.id(),
  email: s.text(),
  role: Role,
  expires_at: s.time(),
});

/** GET /team: the members of the account; owners also see the open invitations. */
export const team = sessionEndpoint(
  {
    reply: s.namedObject('Team', {
      is_operator: s.boolean(),
      members: s.list(Member),
      invitations: s.list(Invitee),
      billed_to: s.nullable(s.text('Further lines about the account on its receipts.')),
    }),
  },
  async ({ req }, { db }) => {
    const { account_id, role } = req;
    const owns = may(role, 'own');
    const [account, { billed_to }, belonging, open] = await Promise.all([
      accounts.find(db, account_id),
      accounts.findBilled(db, account_id),
      members.list(db, account_id),
      owns ? invitations.listOpen(db, account_id) : [],
    ]);
    return {
      is_operator: account!.is_operator,
      billed_to,
      members: belonging.map(({ created_at: joined_at, two_factor_enabled, ...member }) => ({
        ...member,
        is_me: member.person_id === req.session.person_id,
        ...(owns && { two_factor_enabled }),
        joined_at,
      })),
      invitations: open.map(({ id: invitation_id, ...invitee }) => ({ invitation_id, ...invitee })),
    };
  },
);

const name = s.line(nameMax);

/** PATCH /account */
export const rename = sessionEndpoint(
  { body: s.form({ name }), reply: s.object({ name: s.text() }) },
  async ({ req, body }, deps) => {
    await renameAccount(deps.db, req.account_id, body.name);
    return { name: body.name.trim() };
  },
);

/** PUT /billed-to: an empty text removes it. */
export const setBilledTo = sessionEndpoint(
  {
    body: s.form({ billed_to: s.text(undefined, { maxLength: 500 }) }),
    reply: s.object({ billed_to: s.nullable(s.text()) }),
  },
  async ({ req, body }, deps) => ({
    billed_to: await changeBilledTo(deps.db, req.account_id, body.billed_to),
  }),
);

/** PATCH /members/:person_id */
export const setRole = sessionEndpoint(
  {
    params: ['person_id'],
    body: s.form({ role: Role }),
    reply: s.object({ person_id: s.id(), role: Role }),
  },
  async ({ req, params, body: { role } }, deps) => {
    const member = requireMember(req, params);
    if (!(await giveRole(deps.db, { ...member, role }, byOf(req)))) throw nobody();
    return { person_id: member.person_id, role };
  },
);

/** DELETE /members/:person_id */
export const remove = sessionEndpoint(
  { params: ['person_id'], reply: s.object({ person_id: s.id() }) },
  async ({ req, params }, deps) => {
    const member = requireMember(req, params);
    if (!(await removeMember(deps.db, member, byOf(req)))) throw nobody();
    return member;
  },
);

/** POST /leave: the signed-in person leaves the account. */
export const leave = sessionEndpoint(
  { reply: s.object({ account_id: s.id() }) },
  async ({ req }, deps) => {
    const by = byOf(req);
    const member = { account_id: req.account_id, person_id: by.person_id };
    if (!(await removeMember(deps.db, member, by))) throw nobody();
    return member;
  },
);

/** POST /invitations: only this reply shows the link. */
export const invite = sessionEndpoint(
  {
    body: s.form({ email: s.email(), role: Role }),
    reply: s.namedObject('NewInvitation', {
      invitation_id: s.id(),
      email: s.text(),
      role: Role,
      url: s.url(),
      mailed: s.boolean(),
    }),
  },
  async ({ req, body }, deps) => {
    const { account_id } = req;
    await throttle(deps, 'invite', account_id, invitationsOfAccount);
    const made = await inviteMember(deps.db, { account_id, ...body }, byOf(req));
    const link = (token: string) => `${deps.web.origin()}/invitation?token=${token}`;
    return {
      invitation_id: made.id,
      email: made.email,
      role: body.role,
      url: link(made.token),
      mailed: await write(made.email, link(made.mail_token), req, deps),
    };
  },
);

/**
 * Sends the invitation. Otherwise false, and the inviter has to pass on the link: mail is not set
 * up or was refused, the address got enough letters, or the account has never paid.
 */
async function write(
  to: string,
  url: string,
  { account_id, session }: SessionRequest,
  { db, web }: WebDeps,
): Promise<boolean> {
  if (web.sendMail === null || !(await accounts.mayCauseLetters(db, account_id))) return false;
  if (!(await countLetter(db, to, 'notice'))) return false;
  const by = session.email_verified ? session.email : null;
  return web.sendMail(invitationLetter(to, url, by)).then(
    () => true,
    () => false,
  );
}

/** DELETE /invitations/:invitation_id */
export const withdraw = sessionEndpoint(
  { params: ['invitation_id'], reply: s.object({ invitation_id: s.id() }) },
  async ({ req, params }, { db }) => {
    const { account_id } = req;
    const invitation_id = idIn(params.invitation_id);
    const withdrawn =
      invitation_id !== null &&
      (await withdrawInvitation(db, { account_id, id: invitation_id }, byOf(req)));
    if (!withdrawn) {
      throw new ApiError('not_found', {
        message: 'This invitation was already accepted or withdrawn.',
        reason: 'invitation_closed',
      });
    }
    return { invitation_id };
  },
);

function byOf({ session }: SessionRequest): SignedInPerson {
  return { person_id: session.person_id, email: session.email };
}

function requireMember({ account_id }: SessionRequest, params: { person_id: string }) {
  const person_id = idIn(params.person_id);
  if (person_id === null) throw nobody();
  return { account_id, person_id };
}

function nobody(): ApiError {
  return new ApiError('not_found', {
    message: 'This person does not belong to this account.',
    reason: 'member_unknown',
  });
}
