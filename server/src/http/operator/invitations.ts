import { ApiError } from '../../core/errors.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import { invite } from '../../operations/accounts/person.ts';
import { idOf } from '../form.ts';
import {
  boolean,
  choice,
  email,
  form,
  id,
  list as listOf,
  named,
  object,
  text,
  time,
} from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';

/** Links with which somebody may sign up and get their own account. */

const SignUpInvitation = named(
  'SignUpInvitation',
  object({ invitation_id: id(), email: text(), expires_at: time() }),
);

/** GET /operator/invitations: the open invitations, and who may sign up without one. */
export const list = operatorEndpoint(
  {
    reply: object({
      sign_up: choice(['open', 'invite', 'closed']),
      data: listOf(SignUpInvitation),
    }),
  },
  async (_call, { db, settings }) => {
    const rows = await invitations.listOpen(db, null);
    const data = rows.map(({ id: invitation_id, ...row }) => ({ invitation_id, ...row }));
    return { sign_up: settings.signUp, data };
  },
);

/** POST /operator/invitations */
export const create = operatorAction(
  'invitation.create',
  {
    body: form({ email: email() }),
    reply: object({ invitation_id: id(), email: text(), link: text('Shown only here.') }),
  },
  async ({ body, by, reply }, { origin }) => {
    reply.code(201);
    return async (db) => {
      const wanted = { account_id: null, role: 'owner', invited_by: by.person_id } as const;
      const made = await invite(db, { ...wanted, email: body.email });
      const link = `${origin()}/invitation?token=${made.token}`;
      const answer = { invitation_id: made.id, email: made.email, link };
      return { answer, target: made.email };
    };
  },
);

/** DELETE /operator/invitations/{invitation_id} */
export const withdraw = operatorAction(
  'invitation.withdraw',
  { params: ['invitation_id'], reply: object({ withdrawn: boolean() }) },
  async ({ params }, deps) => {
    const invitation_id = idOf(params.invitation_id);
    const open = await invitations.listOpen(deps.db, null);
    const target = open.find((each) => each.id === invitation_id)?.email ?? invitation_id;
    return async (db) => {
      if (!(await invitations.withdraw(db, invitation_id, null))) throw new ApiError('not_found');
      return { answer: { withdrawn: true }, target };
    };
  },
);
