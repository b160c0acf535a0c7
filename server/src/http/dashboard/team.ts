import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { isRole, may, roles, type Role } from '../../core/account/role.ts';
import * as accounts from '../../db/accounts.ts';
import * as invitations from '../../db/invitations.ts';
import * as members from '../../db/members.ts';
import * as people from '../../db/people.ts';
import { isUuid } from '../../lib/id.ts';
import type { Operator } from '../../operations/act.ts';
import {
  inviteMember,
  removeMember,
  renameAccount,
  setRole as giveRole,
  withdrawInvitation,
} from '../../operations/team.ts';
import { inWords, text } from '../session/entry.ts';
import { invitationLetter } from '../session/letters.ts';
import { throttle } from '../session/throttle.ts';
import { readForm, type Visit, type WebDeps } from '../session/visit.ts';

/** The people of an account. */

/** Each may send a letter to somebody who did not ask for it. */
const invitationsOfAccount = { max: 30, seconds: 3600 };

/** GET /team: who belongs to the account; to its owners also who is invited. */
export async function team(visit: Visit, _reply: FastifyReply, { db }: WebDeps): Promise<unknown> {
  const { account_id, role } = visit;
  const owns = may(role, 'own');
  const [account, list, open] = await Promise.all([
    accounts.find(db, account_id),
    members.list(db, account_id),
    owns ? invitations.listOpen(db, account_id) : [],
  ]);
  return {
    is_operator: account!.is_operator,
    members: list.map(({ created_at, two_factor_enabled, ...member }) => ({
      ...member,
      is_me: member.person_id === visit.session.person_id,
      ...(owns && { two_factor_enabled }),
      joined_at: created_at.toISOString(),
    })),
    invitations: open.map(({ id, email, role: invited, expires_at }) => ({
      invitation_id: id,
      email,
      role: invited,
      expires_at: expires_at.toISOString(),
    })),
  };
}

/** PATCH /account {name}. */
export async function rename(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const name = text(await readForm(visit, deps), 'name', 100);
  await inWords(renameAccount(deps.db, visit.account_id, name));
  return { name: name.trim() };
}

/** PATCH /members/:person_id {role}. */
export async function setRole(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const role = roleOf(await readForm(visit, deps));
  const member = memberOf(visit);
  if (!(await inWords(giveRole(deps.db, { ...member, role }, byOf(visit))))) throw nobody();
  return { person_id: member.person_id, role };
}

/** DELETE /members/:person_id. */
export async function remove(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const member = memberOf(visit);
  if (!(await inWords(removeMember(deps.db, member, byOf(visit))))) throw nobody();
  return { person_id: member.person_id };
}

/** POST /leave: who is signed in goes. */
export async function leave(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const { account_id } = visit;
  const by = byOf(visit);
  const member = { account_id, person_id: by.person_id };
  if (!(await inWords(removeMember(deps.db, member, by)))) throw nobody();
  return { account_id };
}

/** POST /invitations {email, role}: the link is told here and never again. */
export async function invite(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const { account_id } = visit;
  const form = await readForm(visit, deps);
  const wanted = { account_id, email: text(form, 'email', 254), role: roleOf(form) };
  await throttle(deps, 'invite', account_id, invitationsOfAccount);
  const made = await inWords(inviteMember(deps.db, wanted, byOf(visit)));
  const link = (token: string) => `${deps.web.origin()}/invitation?token=${token}`;
  return {
    invitation_id: made.id,
    email: made.email,
    role: wanted.role,
    url: link(made.token),
    mailed: await write(made.email, link(made.mail_token), visit, deps),
  };
}

/** False where there is no mail, or the server did not take it: the link goes another way then. */
async function write(
  email: string,
  url: string,
  { account_id, session }: Visit,
  { db, web }: WebDeps,
): Promise<boolean> {
  if (web.sendMail === null) return false;
  const account = await people.membership(db, session.person_id, account_id);
  const by = { name: session.name, account: account?.name ?? 'an account' };
  return web.sendMail(invitationLetter(email, url, by)).then(
    () => true,
    () => false,
  );
}

/** DELETE /invitations/:invitation_id. */
export async function withdraw(
  visit: Visit,
  _reply: FastifyReply,
  { db }: WebDeps,
): Promise<unknown> {
  const { invitation_id: id } = visit.params as { invitation_id: string };
  const withdrawn =
    isUuid(id) && (await withdrawInvitation(db, { account_id: visit.account_id, id }, byOf(visit)));
  if (!withdrawn) {
    throw new ApiError('not_found', {
      message: 'This invitation is accepted or withdrawn already.',
    });
  }
  return { invitation_id: id };
}

function byOf({ session }: Visit): Operator {
  return { person_id: session.person_id, email: session.email };
}

function memberOf({ account_id, params }: Visit): { account_id: string; person_id: string } {
  const { person_id } = params as { person_id: string };
  if (!isUuid(person_id)) throw nobody();
  return { account_id, person_id };
}

function nobody(): ApiError {
  return new ApiError('not_found', { message: 'They do not belong to this account.' });
}

function roleOf(form: Record<string, unknown>): Role {
  if (isRole(form.role)) return form.role;
  throw new ApiError('bad_request', {
    message: `role must be one of ${roles.join(', ')}.`,
    param: 'role',
  });
}
