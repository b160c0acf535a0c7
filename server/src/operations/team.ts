import type { Role } from '../core/role.ts';
import * as accounts from '../db/accounts.ts';
import * as invitations from '../db/invitations.ts';
import * as members from '../db/members.ts';
import * as people from '../db/people.ts';
import type { Database, Transaction } from '../lib/sql.ts';
import { emailOf, Refused } from './account.ts';
import { displayName, insertInvitation, type NewInvitation } from './person.ts';

/** The people of one account together with who is invited. */
const peopleMax = 100;

/** False where they do not belong to the account. Throws `Refused` for its last owner. */
export function setRole(
  db: Database,
  member: { account_id: string; person_id: string; role: Role },
): Promise<boolean> {
  return change(db, member.account_id, (tx) => members.setRole(tx, member));
}

/** Somebody is taken out, or leaves. False and `Refused` as above. */
export function removeMember(
  db: Database,
  member: { account_id: string; person_id: string },
): Promise<boolean> {
  return change(db, member.account_id, (tx) => members.remove(tx, member));
}

/** The database knows the law as well; here it is said in words. */
function change(
  db: Database,
  account_id: string,
  work: (tx: Transaction) => Promise<boolean>,
): Promise<boolean> {
  return db.tx(async (tx) => {
    await members.lock(tx, account_id);
    if (!(await work(tx))) return false;
    if ((await members.countOwners(tx, account_id)) > 0) return true;
    throw new Refused('An account keeps at least one owner. Make somebody else an owner first.');
  });
}

/**
 * Invites an address into an account, in place of an earlier invitation of it. Throws `Refused` for
 * who belongs to it already, and where it is full.
 */
export async function inviteMember(
  db: Database,
  wanted: { account_id: string; email: string; role: Role; invited_by: string },
): Promise<NewInvitation> {
  const email = emailOf(wanted.email);
  const { account_id } = wanted;
  return db.tx(async (tx) => {
    await members.lock(tx, account_id);
    if (await members.has(tx, account_id, email))
      throw new Refused(`${email} belongs to this account already.`);
    await invitations.withdrawOf(tx, account_id, email);
    const open = await invitations.listOpen(tx, account_id);
    if ((await people.countMembers(tx, account_id)) + open.length >= peopleMax)
      throw new Refused(`An account has at most ${peopleMax} people, invited ones included.`);
    return insertInvitation(tx, { ...wanted, email, vouched: false });
  });
}

/** What the pages call the account. Throws `Refused` for what is no name. */
export async function renameAccount(db: Database, account_id: string, name: string): Promise<void> {
  await accounts.setName(db, account_id, displayName(name));
}
