import { nameMax } from '../../core/account/name.ts';
import type { Role } from '../../core/account/role.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as members from '../../db/accounts/members.ts';
import type { Database, Transaction } from '../../lib/sql/sql.ts';
import { requireEmail } from './account.ts';
import { demandLine } from '../line.ts';
import { Refusal } from '../refusal.ts';
import { logTeamChange, type SignedInPerson } from '../operator-action.ts';
import { insertInvitation, type NewInvitation } from './person.ts';

/** Maximum number of people and open invitations of one account, counted together. */
const peopleMax = 100;

/**
 * Changes a member's role. Returns false if they do not belong to the account. Throws `Refusal` if
 * they are its last owner. When an owner gets another role, their open invitations are withdrawn.
 */
export function setRole(
  db: Database,
  member: { account_id: string; person_id: string; role: Role },
  by: SignedInPerson,
): Promise<boolean> {
  const { account_id, role } = member;
  return changeKeepingOwner(db, account_id, async (tx) => {
    const before = await members.find(tx, member);
    if (!before || !(await members.setRole(tx, member))) return false;
    if (role !== 'owner') await invitations.withdrawBy(tx, member);
    const details = { role, before: { role: before.role } };
    await logTeamChange(tx, by, { action: 'team.role', account_id, target: before.email, details });
    return true;
  });
}

/** Removes a member, or lets a member leave. Returns and throws like `setRole`. */
export function removeMember(
  db: Database,
  member: { account_id: string; person_id: string },
  by: SignedInPerson,
): Promise<boolean> {
  const { account_id } = member;
  return changeKeepingOwner(db, account_id, async (tx) => {
    const before = await members.find(tx, member);
    if (!before || !(await members.remove(tx, member))) return false;
    await invitations.withdrawBy(tx, member);
    const { email: target, role } = before;
    await logTeamChange(tx, by, { action: 'team.remove', account_id, target, details: { role } });
    return true;
  });
}

/**
 * Makes a change and refuses one that leaves no owner. The database enforces the same rule; this
 * check gives a readable message.
 */
export function changeKeepingOwner(
  db: Database,
  account_id: string,
  work: (tx: Transaction) => Promise<boolean>,
): Promise<boolean> {
  return db.tx(async (tx) => {
    await accounts.lock(tx, account_id);
    if (!(await work(tx))) return false;
    if (await members.hasOwner(tx, account_id)) return true;
    throw new Refusal(
      'An account must have at least one owner. Make somebody else an owner first.',
      { reason: 'owner_last' },
    );
  });
}

/**
 * Invites an address into an account; this replaces an earlier invitation of the same address.
 * Throws `Refusal` if the person is a member already or the account is full.
 */
export async function inviteMember(
  db: Database,
  wanted: { account_id: string; email: string; role: Role },
  by: SignedInPerson,
): Promise<NewInvitation> {
  const email = requireEmail(wanted.email);
  const { account_id } = wanted;
  return db.tx(async (tx) => {
    await accounts.lock(tx, account_id);
    if (await members.has(tx, account_id, email))
      throw new Refusal(`${email} already belongs to this account.`, {
        reason: 'member_already',
        email,
      });
    await invitations.withdrawOf(tx, account_id, email);
    const open = await invitations.listOpen(tx, account_id);
    if ((await members.count(tx, account_id)) + open.length >= peopleMax)
      throw new Refusal(
        `An account can have at most ${peopleMax} people, including invited ones.`,
        { reason: 'people_too_many', limit: peopleMax },
      );
    const { role } = wanted;
    await logTeamChange(tx, by, {
      action: 'team.invite',
      account_id,
      target: email,
      details: { role },
    });
    const made = { account_id, email, role, invited_by: by.person_id, vouched: false };
    return insertInvitation(tx, made);
  });
}

/** Withdraws an open invitation; false if there is none. */
export function withdrawInvitation(
  db: Database,
  { account_id, id }: { account_id: string; id: string },
  by: SignedInPerson,
): Promise<boolean> {
  return db.tx(async (tx) => {
    await accounts.lock(tx, account_id);
    const withdrawn = await invitations.withdraw(tx, id, account_id);
    if (!withdrawn) return false;
    const { email: target, role } = withdrawn;
    await logTeamChange(tx, by, { action: 'team.withdraw', account_id, target, details: { role } });
    return true;
  });
}

/** Renames an account as its pages show it. Throws `Refusal` if the name is invalid. */
export async function renameAccount(db: Database, account_id: string, name: string): Promise<void> {
  await accounts.setName(db, account_id, demandLine('name', name, nameMax));
}
