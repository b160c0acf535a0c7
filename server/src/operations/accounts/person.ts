import { randomBytes } from 'node:crypto';
import { canonicalEmail, isSameEmail } from '../../core/account/email.ts';
import { nameMax } from '../../core/account/name.ts';
import { newWebhookSecret } from '../../core/request/webhook.ts';
import type { LowerOperatorRole } from '../../core/account/operator-role.ts';
import type { Role } from '../../core/account/role.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as links from '../../db/accounts/links.ts';
import * as members from '../../db/accounts/members.ts';
import * as people from '../../db/accounts/people.ts';
import * as sessions from '../../db/accounts/sessions.ts';
import { newId } from '../../lib/id.ts';
import { hashPassword } from '../../lib/password.ts';
import type { Connection, Database, Transaction } from '../../lib/sql/sql.ts';
import { requireEmail, reportAccount } from './account.ts';
import { endFormerAccess } from './hand-over.ts';
import { hashToken, makeLink, requireLink, takeLink } from './link.ts';
import { demandLine } from '../line.ts';
import { Refusal } from '../refusal.ts';
import { logTeamChange, type ActionResult, type Author } from '../operator-action.ts';

const invitationDays = 7;

export interface SignUp {
  name: string;
  email: string;
  password: string;
  /** The token of the invitation link; null: a sign-up without invitation. */
  token: string | null;
  email_verified: boolean;
  /** True: a mail server is set up, so an address must be confirmed before the first sign-in. */
  has_mail: boolean;
}

export interface SignedUp {
  person: 'new' | 'unproven' | 'known';
  /** Only if the password was set: its stored hash, which no other sign-up gets. */
  login: { id: string; password: string } | null;
  email: string;
  email_verified: boolean;
}

/**
 * Creates a person, with an account of their own or a membership in the account they were invited
 * to. If the address belongs to someone already, the result is `known`, or `unproven` if they never
 * confirmed it; the caller must not show this. Throws `Refusal` if the invitation has expired or is
 * for another address.
 */
export async function signUp(db: Database, wanted: SignUp): Promise<SignedUp> {
  const email = requireEmail(wanted.email);
  const name = demandLine('name', wanted.name, nameMax);
  const password = await hashPassword(wanted.password);
  const id = newId();
  return db.tx(async (tx) => {
    const invitation =
      wanted.token === null ? null : await requireInvitation(tx, wanted.token, email);
    const email_verified = wanted.email_verified || invitation?.proves === true;
    const person = { id, name, email, email_verified, login_id: newId(), password };
    if (!(await people.insert(tx, person))) {
      const proves = invitation?.proves === true;
      const unproven =
        wanted.has_mail || proves ? await people.lockUnproven(tx, email, proves) : null;
      if (unproven === null) return { person: 'known', login: null, email, email_verified };
      await startAnew(tx, { ...person, id: unproven });
      if (invitation && email_verified) {
        await use(tx, invitation, { id: unproven, email });
      }
      return { person: 'unproven', login: null, email, email_verified };
    }
    if (invitation) await use(tx, invitation, { id, email });
    if (!invitation?.account_id) await makeOwnAccount(tx, { id, email });
    return { person: 'new', login: { id, password }, email, email_verified };
  });
}

/**
 * Replaces an earlier sign-up with the same unconfirmed address. Several people may sign up with an
 * address, but only its owner reads its e-mails. So a password works only if this sign-up confirms
 * the address; otherwise it has to be set through an e-mailed link.
 */
async function startAnew(tx: Transaction, person: people.NewPerson): Promise<void> {
  const { id, name, password, email_verified } = person;
  await people.rename(tx, id, name);
  if (email_verified) await endFormerAccess(tx, { id, owner_proven: false });
  else await sessions.endAll(tx, id);
  await people.setPassword(tx, id, email_verified ? password : null);
}

/** Adds a signed-in person to the account they were invited to. Throws `Refusal`. */
export function acceptInvitation(
  db: Database,
  person: { id: string; email: string },
  token: string,
): Promise<invitations.Invitation> {
  return db.tx(async (tx) => {
    const invitation = await requireInvitation(tx, token, person.email);
    await use(tx, invitation, person);
    // This invitation is to an account of their own, which only a person without any account gets.
    if (!invitation.account_id && (await people.listMemberships(tx, person.id)).length === 0)
      await makeOwnAccount(tx, person);
    return invitation;
  });
}

async function requireInvitation(tx: Transaction, token: string, email: string) {
  const invitation = await invitations.findOpen(tx, hashToken(token));
  if (!invitation)
    throw new Refusal('This invitation was used or has expired. Ask for a new one.', {
      reason: 'invitation_gone',
    });
  if (!isSameEmail(invitation.email, email))
    throw new Refusal('This invitation is for another e-mail address.', {
      reason: 'invitation_of_other',
    });
  return invitation;
}

async function use(
  tx: Transaction,
  invitation: invitations.FoundInvitation,
  { id: person_id, email }: { id: string; email: string },
) {
  const { id, account_id, role, operator_role } = invitation;
  // With the lock, this happens either before or after a removal of the inviter.
  if (account_id) await accounts.lock(tx, account_id);
  if (!(await invitations.accept(tx, id)))
    throw new Refusal('This invitation was used or has expired. Ask for a new one.', {
      reason: 'invitation_gone',
    });
  if (!account_id || !(await joinAccount(tx, { account_id, person_id, role, operator_role })))
    return;
  const details = { role, ...(operator_role && { operator_role }) };
  const done = { action: 'team.join', account_id, target: email, details } as const;
  await logTeamChange(tx, { person_id, email }, done);
}

/**
 * Creates the person's own account. If an operator has already created an account with this
 * address, the person does not get that account, because joining it takes an invitation.
 */
async function makeOwnAccount(
  tx: Transaction,
  person: { id: string; email: string },
): Promise<string> {
  const account_id = newId();
  const made = {
    id: account_id,
    is_operator: false,
    webhook_secret: newWebhookSecret(randomBytes),
  };
  const taken = !(await accounts.insert(tx, { ...made, email: person.email }));
  if (taken) {
    // Operators name an account by its address, which is taken, so this account gets another one.
    await accounts.insert(tx, { ...made, email: `${account_id}@people.invalid` });
    await accounts.setName(tx, account_id, person.email.slice(0, nameMax));
  }
  await people.join(tx, { account_id, person_id: person.id, role: 'owner' });
  await reportAccount(tx, account_id, person.email);
  return account_id;
}

/** Whether this confirmed address has an open invitation. */
export async function isInvited(db: Database, email: string): Promise<boolean> {
  return (await invitations.listFor(db, canonicalEmail(email) ?? email)).length > 0;
}

/**
 * Gives a person who came from an identity provider an account of their own, unless they belong to
 * an account or are invited into one. They accept that invitation themselves.
 */
export function ensureOwnAccount(
  db: Database,
  person: { id: string; email: string },
): Promise<void> {
  return db.tx(async (tx) => {
    const found = await people.find(tx, person.email);
    if (found?.email_verified) await people.verify(tx, person.id);
    const invited = found?.email_verified
      ? await invitations.listFor(tx, canonicalEmail(person.email) ?? person.email)
      : [];
    if (invited.some(({ account_id }) => account_id !== null)) return;
    for (const { id } of invited) await invitations.accept(tx, id);
    if ((await people.listMemberships(tx, person.id)).length === 0)
      await makeOwnAccount(tx, person);
  });
}

/** Creates an account for a person. Throws `Refusal` if they belong to an account already. */
export function openAccount(db: Database, person: { id: string; email: string }): Promise<string> {
  return db.tx(async (tx) => {
    await people.lock(tx, person.id);
    if ((await people.listMemberships(tx, person.id)).length > 0)
      throw new Refusal('You already belong to an account.', { reason: 'account_had' });
    return makeOwnAccount(tx, person);
  });
}

/** For operators: creates a person with a password, who owns the account. */
export async function createOwner(
  db: Database,
  wanted: { account_id: string; name: string; email: string; password: string },
): Promise<void> {
  const { account_id, password: text, email } = wanted;
  const password = await hashPassword(text);
  const name = demandLine('name', wanted.name, nameMax);
  await db.tx(async (tx) => {
    const person = { id: newId(), name, email, email_verified: true, login_id: newId(), password };
    if (!(await people.insert(tx, person)))
      throw new Refusal(`The address ${email} is taken by another person.`, {
        reason: 'email_taken',
        email,
      });
    await joinAccount(tx, { account_id, person_id: person.id, role: 'owner' });
  });
}

/** Nobody joins without end, not even those whom operators invite. Throws `Refusal`. */
async function joinAccount(
  tx: Transaction,
  member: Parameters<typeof people.join>[1],
): Promise<boolean> {
  if ((await members.count(tx, member.account_id)) >= members.membersMax)
    throw new Refusal(`This account has ${members.membersMax} people, the most that it may have.`, {
      reason: 'people_too_many',
      limit: members.membersMax,
    });
  if ((await people.listMemberships(tx, member.person_id)).length >= people.accountsMax)
    throw new Refusal(`You belong to ${people.accountsMax} accounts, the most that one may have.`, {
      reason: 'accounts_too_many',
      limit: people.accountsMax,
    });
  return people.join(tx, member);
}

/** A new invitation and the tokens of its links, which are not shown again. */
export interface NewInvitation {
  id: string;
  email: string;
  /** For the inviter to pass on. */
  token: string;
  /** For the e-mail to the address. Using this token also confirms the address. */
  mail_token: string;
}

export interface WantedInvitation {
  /** Null: an invitation to sign up, with an account of their own. */
  account_id: string | null;
  email: string;
  role: Role;
  operator_role?: LowerOperatorRole | null;
  /** Null: invited from the command line, or by a key. */
  invited_by: string | null;
}

/** Invites for an operator. If they vouch for the address, both links confirm it. */
export async function invite(
  db: Database,
  { vouched = true, ...wanted }: WantedInvitation & { vouched?: boolean },
): Promise<NewInvitation> {
  return insertInvitation(db, { ...wanted, email: requireEmail(wanted.email), vouched });
}

/** The same, with its row of the operator's log. */
export async function inviteAs(
  by: Author,
  db: Database,
  wanted: Omit<WantedInvitation, 'invited_by'>,
): Promise<ActionResult<NewInvitation & { roles: object }>> {
  const { account_id, role, operator_role } = wanted;
  const made = await invite(db, { ...wanted, ...inviterOf(by) });
  const roles = operator_role ? { role, operator_role } : { role };
  return { answer: { ...made, roles }, account_id, target: made.email, details: roles };
}

/** A key vouches for no address: if it leaks, its holder would prove the address of anybody. */
function inviterOf({ person_id, operator_key_id }: Author) {
  // guard: keys-vouch-for-nobody
  return { invited_by: person_id, vouched: operator_key_id === undefined };
}

/**
 * Creates an invitation. An owner of an account may invite any address and gets a link to pass on,
 * so signing up with that link does not confirm the address, unless the invitation is `vouched`.
 */
export async function insertInvitation(
  db: Connection,
  { vouched, ...wanted }: WantedInvitation & { vouched: boolean },
): Promise<NewInvitation> {
  const id = newId();
  const token = randomBytes(32).toString('base64url');
  const mail_token = vouched ? token : randomBytes(32).toString('base64url');
  const hashes = { token_hash: hashToken(token), proof_hash: hashToken(mail_token) };
  const { operator_role = null } = wanted;
  const made = { ...wanted, ...hashes, id, operator_role, days: invitationDays };
  await invitations.insert(db, made);
  return { id, email: wanted.email, token, mail_token };
}

/**
 * Returns the token of a link that lets a person set a new password within an hour. Throws
 * `Refusal` if nobody signs in with this address.
 */
export async function resetLink(db: Database, email: string): Promise<string> {
  const person = await requirePerson(db, email);
  return makeLink(db, 'reset', person.id);
}

/**
 * Sets the password of the person whom the link was sent or handed to, and signs all their browsers
 * out. If this proves the address, everything that an earlier person may have left ends, unless
 * they are the one signed in here. Throws `Refusal` if the link was used or has expired.
 */
export async function setNewPassword(
  db: Database,
  link: { token: string; text: string; signed_in_id: string | null },
): Promise<void> {
  // Before the hash, because anyone may make up links.
  await requireLink(db, 'reset', link.token);
  const password = await hashPassword(link.text);
  await db.tx(async (tx) => {
    const { person_id: id } = await takeLink(tx, 'reset', link.token);
    const before = await people.findEmail(tx, id);
    if (!before?.email_verified && link.signed_in_id !== id)
      await endFormerAccess(tx, { id, owner_proven: false });
    if (!(await people.setPassword(tx, id, password)))
      await people.insertPassword(tx, { id: newId(), person_id: id, password });
    await sessions.endAll(tx, id);
    await people.verify(tx, id);
  });
}

/** Makes the link that confirms a new person's address, and returns its token. */
export function makeConfirmLink(db: Database, id: string): Promise<string> {
  return makeLink(db, 'confirm', id);
}

/** The person whose address this link confirms. Throws `Refusal`. */
export async function findUnconfirmed(
  db: Database,
  token: string,
): Promise<{ id: string; password: string | null }> {
  const { person_id: id } = await requireLink(db, 'confirm', token);
  return { id, password: await people.findPassword(db, id) };
}

/**
 * Confirms an address with the link that was sent to it. The caller has checked that this is the
 * person who signed up, not only a reader of the letter, such as a scanner. Throws `Refusal`.
 */
export function confirmAddress(db: Database, token: string): Promise<string> {
  return db.tx(async (tx) => {
    const { person_id } = await takeLink(tx, 'confirm', token);
    await people.verify(tx, person_id);
    return (await people.findEmail(tx, person_id))!.email;
  });
}

/** Signs out all other browsers of the person. Returns how many. */
export function endOtherSessions(db: Database, id: string, keptId: string): Promise<number> {
  return db.tx(async (tx) => {
    await links.forgetSteps(tx, id);
    return sessions.endOthers(tx, id, keptId);
  });
}

/** Signs out one browser. Returns false if it is not the person's. */
export function endSession(db: Database, id: string, endedId: string): Promise<boolean> {
  return db.tx(async (tx) => {
    if (!(await sessions.end(tx, id, endedId))) return false;
    await links.forgetSteps(tx, id);
    return true;
  });
}

/** Returns the name as it is stored. Throws `Refusal` if it is invalid. */
export async function renamePerson(db: Database, id: string, given: string): Promise<string> {
  const name = demandLine('name', given, nameMax);
  await people.rename(db, id, name);
  return name;
}

/** Throws `Refusal` if nobody signs in with this address, or if it is not a usable one. */
export async function requirePerson(db: Connection, email: string) {
  const person = await people.find(db, email);
  if (person) return person;
  requireEmail(email);
  throw new Refusal(`Nobody signs in with ${email}.`, { reason: 'person_unknown', email });
}
