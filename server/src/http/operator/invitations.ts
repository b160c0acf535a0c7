import { ApiError } from '../../core/errors.ts';
import { memberRolesOf } from '../../core/account/operator-role.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import { demandOperators } from '../../operations/accounts/manage-person.ts';
import { inviteAs, type NewInvitation } from '../../operations/accounts/person.ts';
import { Role } from '../schemas/account.ts';
import type { CallDeps, MailDeps } from '../deps.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { requireId } from '../ids.ts';
import { OperatorRole } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { badField } from '../schemas/validate.ts';
import { operatorAccountRefusal } from '../auth.ts';
import { requireAccountIn } from './account.ts';

/** Links with which somebody may sign up and get their own account, or join an account. */

const SignUpInvitation = s.namedObject('SignUpInvitation', {
  invitation_id: s.id(),
  email: s.text(),
  expires_at: s.time(),
});

/** GET /operator/invitations: the open invitations, and who may sign up without one. */
export const list = operatorEndpoint(
  {
    reply: s.object({
      sign_up: s.choice(['open', 'invite', 'closed']),
      data: s.list(SignUpInvitation),
    }),
  },
  async (_call, { db, settings }) => {
    const rows = await invitations.listOpen(db, null);
    const data = rows.map(({ id: invitation_id, ...row }) => ({ invitation_id, ...row }));
    return { sign_up: settings.signUp, data };
  },
);

const MadeInvitation = s.namedObject('MadeInvitation', {
  invitation_id: s.id(),
  email: s.text(),
  link: s.text('Shown only here.'),
});

/** POST /operator/invitations */
export const create = operatorAction(
  'invitation.create',
  { body: s.form({ email: s.email() }), reply: MadeInvitation },
  async ({ body, by, reply }, deps: MailDeps) => {
    reply.code(201);
    return async (db) => {
      const made = await inviteAs(by, db, { account_id: null, email: body.email, role: 'owner' });
      return { ...made, answer: view(made.answer, deps) };
    };
  },
);

/** POST /operator/accounts/{account_id}/invitations */
export const inviteInto = operatorAction(
  'account.invite',
  {
    params: ['account_id'],
    body: s.form({
      email: s.email(),
      role: s.optional(Role),
      operator_role: s.optional(OperatorRole),
    }),
    reply: MadeInvitation,
  },
  async ({ req, params, body, by, reply }, deps: CallDeps & MailDeps) => {
    const roles = requireRoles(body);
    const { id: account_id } = await requireAccountIn(params, deps.db);
    reply.code(201);
    return async (db) => {
      // With the lock, the account becomes an operator's either before or after this.
      const account = await accounts.lock(db, account_id);
      if (account.is_operator && !req.operator.scopes.includes('own'))
        throw operatorAccountRefusal(false);
      if (body.operator_role !== undefined) demandOperators(account);
      const made = await inviteAs(by, db, { account_id, email: body.email, ...roles });
      return { ...made, answer: view(made.answer, deps) };
    };
  },
);

/** One of the two is given. Throws `bad_request`. */
function requireRoles({
  role,
  operator_role,
}: {
  role?: s.Static<typeof Role>;
  operator_role?: s.Static<typeof OperatorRole>;
}) {
  if ((role === undefined) === (operator_role === undefined))
    throw badField('role', 'either role or operator_role');
  return operator_role === undefined
    ? { role: role!, operator_role: null }
    : memberRolesOf(operator_role);
}

function view({ id: invitation_id, email, token }: NewInvitation, { origin }: MailDeps) {
  return { invitation_id, email, link: `${origin()}/invitation?token=${token}` };
}

/** DELETE /operator/invitations/{invitation_id} */
export const withdraw = operatorAction(
  'invitation.withdraw',
  { params: ['invitation_id'], reply: s.object({ withdrawn: s.boolean() }) },
  async ({ params }, deps: CallDeps) => {
    const invitation_id = requireId(params.invitation_id);
    const open = await invitations.listOpen(deps.db, null);
    const target = open.find((each) => each.id === invitation_id)?.email ?? invitation_id;
    return async (db) => {
      if (!(await invitations.withdraw(db, invitation_id, null))) throw new ApiError('not_found');
      return { answer: { withdrawn: true }, target };
    };
  },
);
