import { memberRolesOf, type OperatorRole } from '../../core/account/operator-role.ts';
import type { Role } from '../../core/account/role.ts';
import { ApiError } from '../../core/errors.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as links from '../../db/accounts/links.ts';
import * as members from '../../db/accounts/members.ts';
import * as operators from '../../db/accounts/operators.ts';
import * as people from '../../db/accounts/people.ts';
import * as sessions from '../../db/accounts/sessions.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { ActionResult } from '../operator-action.ts';
import { Refusal } from '../refusal.ts';
import { requireAccount } from './account.ts';
import { changeEmail } from './email.ts';
import { renamePerson, resetLink, type WantedInvitation } from './person.ts';
import { changeKeepingOwner } from './team.ts';

/** Acts of operators on a person, who may belong to several accounts. */

type Person = Pick<people.PersonRow, 'id' | 'name' | 'email'>;

/** A role in an account: one of the account's, or one on the console. */
export interface MemberChange {
  account_id: string;
  role?: Role | undefined;
  operator_role?: OperatorRole | undefined;
}

export interface PersonChange {
  name?: string | undefined;
  email?: string | undefined;
  member?: MemberChange | undefined;
}

/**
 * Changes what is given. A new address is confirmed by the operator's word, and signs all browsers
 * out. Throws `Refusal`.
 */
export async function changePerson(
  db: Database,
  person: Person,
  { name, email, member }: PersonChange,
): Promise<ActionResult<{ person_id: string; name: string; email: string }>> {
  const before: Record<string, unknown> = {};
  const after = { name: person.name, email: person.email };
  if (name !== undefined) {
    before.name = person.name;
    after.name = await renamePerson(db, person.id, name);
  }
  if (email !== undefined) {
    before.email = person.email;
    after.email = (await changeEmail(db, person.email, email)).email;
  }
  const roles = member && (await changeRole(db, person, member));
  const details = {
    ...(name !== undefined && { name: after.name }),
    ...(email !== undefined && { email: after.email }),
    ...roles?.after,
    before: { ...before, ...roles?.before },
  };
  return {
    answer: { person_id: person.id, ...after },
    target: person.email,
    account_id: member?.account_id ?? (await findOnlyAccount(db, person.id)),
    details,
  };
}

/** The account of somebody who belongs to one only, so that its log shows what was done to them. */
async function findOnlyAccount(db: Database, id: string): Promise<string | null> {
  const [only, other] = await people.listMemberships(db, id);
  return only && !other ? only.account_id : null;
}

/** The new and the former roles, for the log. */
async function changeRole(
  db: Database,
  { id: person_id, email }: Person,
  { account_id, role, operator_role }: MemberChange,
) {
  const wanted = operator_role === undefined ? { role: role! } : memberRolesOf(operator_role);
  const member = { account_id, person_id, role: wanted.role };
  const lower = 'operator_role' in wanted ? wanted.operator_role : null;
  let former: Awaited<ReturnType<typeof members.find>> = null;
  await changeKeepingOwner(db, account_id, async (tx) => {
    if (operator_role !== undefined) demandOperators(await accounts.lock(tx, account_id));
    former = await members.find(tx, member);
    if (!former || !(await members.setRole(tx, member, lower))) throw notMember(email);
    if (wanted.role !== 'owner') await invitations.withdrawBy(tx, member);
    return true;
  });
  const rolesOf = (of: { role: Role; operator_role: unknown } | null) =>
    of && { role: of.role, operator_role: of.operator_role };
  return { after: { role: wanted.role, operator_role: lower }, before: rolesOf(former) };
}

/** Throws `Refusal` unless the account is an operator's. */
export function demandOperators({ is_operator }: { is_operator: boolean }): void {
  if (is_operator) return;
  throw new Refusal(
    "Only people of an operator's account have a role on the console. Grant the account operator access first.",
    { reason: 'account_not_operator' },
  );
}

function notMember(email: string): Refusal {
  return new Refusal(`${email} does not belong to this account.`, { reason: 'member_unknown' });
}

/** A person who is to be deleted, locked with their accounts until the transaction ends. */
export interface Leaver {
  email: string;
  account_ids: string[];
  /** Accounts that have nobody else. */
  alone: members.OwnedAccount[];
}

/** Throws `Refusal` for the last owner of an account, and `not_found` if the person is gone. */
export async function lockLeaver(db: Database, { id }: Pick<Person, 'id'>): Promise<Leaver> {
  const person = await people.lockWhole(db, id);
  if (!person) throw new ApiError('not_found');
  const { email } = person;
  const joined = await people.listMemberships(db, id);
  const account_ids = joined.map(({ account_id }) => account_id).toSorted();
  for (const account_id of account_ids) await accounts.lock(db, account_id);
  const alone = await members.listOwnedAlone(db, id);
  const kept = alone.find(({ is_operator, people: count }) => is_operator || count > 1);
  if (kept)
    throw new Refusal(
      `${email} is the last owner of the account ${kept.email}. Make somebody else an owner first.`,
      { reason: 'owner_last' },
    );
  return { email, account_ids, alone };
}

/** Deletes the ways to sign in, browsers, memberships and the invitations that they sent. */
export async function deleteLeaver(db: Database, id: string): Promise<void> {
  await invitations.withdrawAllBy(db, id);
  await links.forgetSteps(db, id);
  await people.remove(db, id);
}

/**
 * Deletes a person. Accounts stay with their keys, their money and their log. Throws `Refusal` for
 * the last owner of an account; `leaves_accounts` lets accounts without other people stay empty.
 */
export async function removePerson(
  db: Database,
  { id }: Person,
  { leaves_accounts }: { leaves_accounts: boolean },
): Promise<ActionResult<{ person_id: string }>> {
  const { email: target, account_ids, alone } = await lockLeaver(db, { id });
  if (alone.length > 0 && !leaves_accounts)
    throw new Refusal(
      `${target} is the only person of the account ${alone[0]!.email}: it would stay with its money and keys, and nobody could sign in to it. Invite somebody else, or remove them with leaves_accounts.`,
      { reason: 'person_last', email: target, account: alone[0]!.email },
    );
  await deleteLeaver(db, id);
  const accountsLeft = alone.map(({ email }) => email);
  return {
    answer: { person_id: id },
    account_id: onlyOf(account_ids),
    target,
    details: { accounts: account_ids.length, ...(alone.length > 0 && { empty: accountsLeft }) },
  };
}

/** The account whose log also has the row. */
export const onlyOf = (ids: string[]): string | null => (ids.length === 1 ? ids[0]! : null);

/** Signs all the person's browsers out, and ends their open links. */
export async function signOut(
  db: Database,
  { id, email: target }: Person,
): Promise<ActionResult<{ ended: number }>> {
  await links.forgetSteps(db, id);
  const ended = await sessions.endAll(db, id);
  const details = { browsers: ended };
  return { answer: { ended }, account_id: await findOnlyAccount(db, id), target, details };
}

/** Removes the authenticator app of somebody who has lost it. */
export async function resetTwoFactors(
  db: Database,
  { id, email: target, two_factor_enabled }: people.PersonRow,
): Promise<ActionResult<{ two_factor_enabled: boolean }>> {
  await people.dropTwoFactor(db, id);
  const details = { before: { two_factor_enabled } };
  const account_id = await findOnlyAccount(db, id);
  return { answer: { two_factor_enabled: false }, account_id, target, details };
}

/** Makes the link that sets a new password within an hour. */
export async function linkForReset(
  db: Database,
  { id, email: target }: Person,
): Promise<ActionResult<{ token: string }>> {
  const answer = { token: await resetLink(db, target) };
  return { answer, account_id: await findOnlyAccount(db, id), target };
}

/**
 * Into which account an operator is invited, and with which roles: into the named one, or into the
 * only operator's account. Throws `Refusal`.
 */
export async function findOperatorPlace(
  db: Database,
  { role, account }: { role: OperatorRole; account: string | undefined },
): Promise<Pick<WantedInvitation, 'account_id' | 'role' | 'operator_role'>> {
  if (account !== undefined) {
    const found = await requireAccount(db, account);
    demandOperators(found);
    return { account_id: found.id, ...memberRolesOf(role) };
  }
  const [only, other] = await operators.listAccounts(db);
  if (only && !other) return { account_id: only.id, ...memberRolesOf(role) };
  throw new Refusal(
    only
      ? "There are several operator's accounts. Say which one: --account."
      : "There is no operator's account. Make one: farebox account create EMAIL --operator.",
    { reason: only ? 'field_needed' : 'account_not_operator' },
  );
}
