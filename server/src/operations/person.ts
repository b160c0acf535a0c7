import { createHash, randomBytes } from 'node:crypto';
import { newWebhookSecret } from '../core/webhook.ts';
import type { Role } from '../core/role.ts';
import * as accounts from '../db/accounts.ts';
import * as invitations from '../db/invitations.ts';
import * as people from '../db/people.ts';
import { newId } from '../lib/id.ts';
import { hashPassword } from '../lib/password.ts';
import type { Database, Transaction } from '../lib/sql.ts';
import { emailOf, Refused } from './account.ts';

const nameMax = 100;
const resetSeconds = 3600;
const invitationDays = 7;

export interface SignUp {
  name: string;
  email: string;
  password: string;
  /** What stood in the link they came by; null: they came by themselves. */
  token: string | null;
  email_verified: boolean;
}

/**
 * Makes a person, and an account of their own or a place in the one they were invited to. Null
 * where the address is taken: who asks must not learn that. Throws `Refused` for an invitation that
 * is no longer good, or is for another address.
 */
export async function signUp(db: Database, wanted: SignUp): Promise<string | null> {
  const email = emailOf(wanted.email);
  const name = personName(wanted.name);
  const password = await hashPassword(wanted.password);
  const id = newId();
  return db.tx(async (tx) => {
    const invitation = wanted.token === null ? null : await need(tx, wanted.token, email);
    // A link that was sent to the address proves that it is theirs.
    const email_verified = wanted.email_verified || invitation !== null;
    const person = { id, name, email, email_verified, login_id: newId(), password };
    if (!(await people.insert(tx, person))) return null;
    if (invitation) await use(tx, invitation, id);
    if (!invitation?.account_id) await ownAccount(tx, { id, email });
    return id;
  });
}

/** Puts somebody who is signed in into the account they were invited to. Throws `Refused`. */
export function acceptInvitation(
  db: Database,
  person: { id: string; email: string },
  token: string,
): Promise<invitations.Invitation> {
  return db.tx(async (tx) => {
    const invitation = await need(tx, token, person.email);
    await use(tx, invitation, person.id);
    return invitation;
  });
}

async function need(tx: Transaction, token: string, email: string) {
  const invitation = await invitations.findOpen(tx, hashToken(token));
  if (!invitation) throw new Refused('This invitation is used up or no longer good. Ask again.');
  if (invitation.email !== email)
    throw new Refused('This invitation is for another e-mail address.');
  return invitation;
}

async function use(tx: Transaction, invitation: invitations.Invitation, person_id: string) {
  const { id, account_id, role } = invitation;
  if (!(await invitations.accept(tx, id)))
    throw new Refused('This invitation is used up or no longer good. Ask again.');
  if (account_id) await people.join(tx, { account_id, person_id, role });
}

/**
 * An account that an operator made for this address before is not taken over: only an invitation
 * leads into it.
 */
async function ownAccount(tx: Transaction, person: { id: string; email: string }): Promise<void> {
  const account_id = newId();
  const made = {
    id: account_id,
    is_operator: false,
    webhook_secret: newWebhookSecret(randomBytes),
  };
  const taken = !(await accounts.insert(tx, { ...made, email: person.email }));
  // The account's address is how an operator names it; another one has to do.
  if (taken) await accounts.insert(tx, { ...made, email: `${account_id}@people.invalid` });
  await people.join(tx, { account_id, person_id: person.id, role: 'owner' });
}

/** For somebody who came from an identity provider and belongs to no account yet. */
export function settlePerson(db: Database, person: { id: string; email: string }): Promise<void> {
  return db.tx(async (tx) => {
    if ((await people.memberships(tx, person.id)).length === 0) await ownAccount(tx, person);
  });
}

/** What an operator makes by hand: a person who owns an account, with a password. */
export async function createOwner(
  db: Database,
  wanted: { account_id: string; name: string; email: string; password: string },
): Promise<void> {
  const { account_id, password: text, email } = wanted;
  const password = await hashPassword(text);
  const name = personName(wanted.name);
  await db.tx(async (tx) => {
    const person = { id: newId(), name, email, email_verified: true, login_id: newId(), password };
    if (!(await people.insert(tx, person)))
      throw new Refused(`There is somebody with the address ${email} already.`);
    await people.join(tx, { account_id, person_id: person.id, role: 'owner' });
  });
}

/** What stands in the link; it is told here and never again. */
export async function invite(
  db: Database,
  wanted: { account_id: string | null; email: string; role: Role; invited_by: string | null },
): Promise<{ id: string; token: string; email: string }> {
  const email = emailOf(wanted.email);
  const token = randomBytes(32).toString('base64url');
  const id = newId();
  const link = { id, token_hash: hashToken(token), days: invitationDays };
  await invitations.insert(db, { ...wanted, ...link, email });
  return { id, token, email };
}

/** What stands in a link with which a person sets a new password within an hour. */
export async function resetLink(db: Database, email: string): Promise<string> {
  const person = await people.find(db, email.trim());
  if (!person) throw new Refused(`Nobody signs in with ${email}.`);
  const token = randomBytes(24).toString('base64url');
  const reset = { id: newId(), person_id: person.id, token, seconds: resetSeconds };
  await people.insertReset(db, reset);
  return token;
}

/** Of what stands in a link only this is kept. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function personName(given: string): string {
  const name = given.trim();
  if (name.length < 1 || name.length > nameMax || /\p{Cc}/u.test(name)) {
    throw new Refused(`A name has 1 to ${nameMax} characters.`);
  }
  return name;
}
