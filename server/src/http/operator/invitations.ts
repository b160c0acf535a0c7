import { ApiError } from '../../core/errors.ts';
import * as invitations from '../../db/invitations.ts';
import { invite } from '../../operations/person.ts';
import { text } from '../session/entry.ts';
import { idOf } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { Deed } from './action.ts';

/** Links with which somebody may sign up, with an account of their own. */

/** GET /invitations: the open ones, and who may sign up without one. */
export const list: VisitHandler = async (_visit, _reply, { db, web }) => {
  const rows = await invitations.listOpen(db, null);
  return {
    sign_up: web.signUp,
    data: rows.map(({ id, email, expires_at }) => {
      return { invitation_id: id, email, expires_at: expires_at.toISOString() };
    }),
  };
};

/** POST /invitations {email}: the link is told once. */
export const create: Deed = async (form, { session }, { web }) => {
  const email = text(form, 'email', 254);
  return async (db) => {
    const wanted = {
      account_id: null,
      email,
      role: 'owner',
      invited_by: session.person_id,
    } as const;
    const made = await invite(db, wanted);
    const link = `${web.origin()}/invitation?token=${made.token}`;
    const answer = { invitation_id: made.id, email: made.email, link };
    return { answer, target: made.email };
  };
};

/** DELETE /invitations/:invitation_id */
export const withdraw: Deed = async (_form, visit, deps) => {
  const id = idOf((visit.params as Record<string, unknown>).invitation_id);
  const open = await invitations.listOpen(deps.db, null);
  const target = open.find((each) => each.id === id)?.email ?? id;
  return async (db) => {
    if (!(await invitations.withdraw(db, id, null))) throw new ApiError('not_found');
    return { answer: { withdrawn: true }, target };
  };
};
