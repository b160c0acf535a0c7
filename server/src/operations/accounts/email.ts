import { randomBytes } from 'node:crypto';
import * as people from '../../db/accounts/people.ts';
import * as sessions from '../../db/accounts/sessions.ts';
import { newId } from '../../lib/id.ts';
import type { Database, Transaction } from '../../lib/sql/sql.ts';
import { emailOf } from './account.ts';
import { Refused } from '../refused.ts';
import { hashToken, needPerson } from './person.ts';

/**
 * Changes the address that a person signs in with. The new address is confirmed by a link, or an
 * operator vouches for it.
 */

const linkSeconds = 3600;

export interface EmailChange {
  email: string;
  before: string;
}

/**
 * Returns the token of the link for the new address. It stops working when another link is
 * requested or when anything else ends the person's open links, such as a new password. The browser
 * that asks stays signed in. Throws `Refused` if the address is invalid.
 */
export async function askForEmail(
  db: Database,
  asked: { person_id: string; session_id: string; email: string },
): Promise<string> {
  const { person_id, session_id } = asked;
  const token = randomBytes(24).toString('base64url');
  const identifier = `${nameOf(token)} ${session_id} ${emailOf(asked.email)}`;
  await db.tx(async (tx) => {
    await people.dropEmailLinks(tx, person_id);
    await people.insertLink(tx, { id: newId(), person_id, identifier, seconds: linkSeconds });
  });
  return token;
}

/** Throws `Refused` if the link is invalid or someone else has taken the address meanwhile. */
export function confirmEmail(db: Database, token: string): Promise<EmailChange> {
  return db.tx(async (tx) => {
    const link = await people.takeEmailLink(tx, nameOf(token));
    if (!link)
      throw new Refused('This link was used or has expired. Ask for another one.', {
        reason: 'link_gone',
      });
    const [, session_id = '', email = ''] = link.identifier.split(' ');
    await sessions.endOthers(tx, link.person_id, session_id);
    return replace(tx, link.person_id, email);
  });
}

/**
 * For operators, who vouch for the address. Signs out all the person's browsers. Throws `Refused`.
 */
export function changeEmail(db: Database, before: string, given: string): Promise<EmailChange> {
  const email = emailOf(given);
  return db.tx(async (tx) => {
    const person = await needPerson(tx, before);
    await sessions.endAll(tx, person.id);
    return replace(tx, person.id, email);
  });
}

/** Sets the new address. Links that were sent to the old one stop working. */
async function replace(tx: Transaction, person_id: string, email: string): Promise<EmailChange> {
  await people.forgetSteps(tx, person_id);
  const before = await people.setEmail(tx, person_id, email);
  if (before === null)
    throw new Refused(`The address ${email} is taken by another person.`, {
      reason: 'email_taken',
      email,
    });
  return { email, before };
}

/** Only a hash of the token is stored. The sign-in library uses no identifiers of this form. */
function nameOf(token: string): string {
  return `email:${hashToken(token).toString('base64url')}`;
}
