import * as links from '../../db/accounts/links.ts';
import * as people from '../../db/accounts/people.ts';
import * as sessions from '../../db/accounts/sessions.ts';
import type { Database, Transaction } from '../../lib/sql/sql.ts';
import { requireEmail } from './account.ts';
import { Refusal } from '../refusal.ts';
import { makeLink, requireLink, takeLink } from './link.ts';
import { requirePerson } from './person.ts';

/**
 * Changes the address that a person signs in with. The new address is confirmed by a link, or an
 * operator vouches for it.
 */

export interface EmailChange {
  email: string;
  before: string;
}

/**
 * Returns the token of the link for the new address. It stops working when another link is
 * requested or when anything else ends the person's open links, such as a new password. The browser
 * that asks stays signed in. Throws `Refusal` if the address is invalid.
 */
export async function makeEmailLink(
  db: Database,
  asked: { person_id: string; session_id: string; email: string },
): Promise<string> {
  const { person_id, session_id } = asked;
  const data = `${session_id} ${requireEmail(asked.email)}`;
  return db.tx(async (tx) => {
    await links.dropAll(tx, person_id, 'email:');
    return makeLink(tx, 'email', person_id, data);
  });
}

/** The person whose address this link changes. Throws `Refusal`. */
export async function findPersonOfChange(db: Database, token: string): Promise<string> {
  return (await requireLink(db, 'email', token)).person_id;
}

/** Throws `Refusal` if the link is invalid or someone else has taken the address meanwhile. */
export function confirmEmail(db: Database, token: string): Promise<EmailChange> {
  return db.tx(async (tx) => {
    const link = await takeLink(tx, 'email', token);
    const [, session_id = '', email = ''] = link.identifier.split(' ');
    await sessions.endOthers(tx, link.person_id, session_id);
    return replace(tx, link.person_id, email);
  });
}

/**
 * For operators, who vouch for the address. Signs out all the person's browsers. Throws `Refusal`.
 */
export function changeEmail(db: Database, before: string, given: string): Promise<EmailChange> {
  const email = requireEmail(given);
  return db.tx(async (tx) => {
    const person = await requirePerson(tx, before);
    await sessions.endAll(tx, person.id);
    return replace(tx, person.id, email);
  });
}

/** Sets the new address. Links that were sent to the old one stop working. */
async function replace(tx: Transaction, person_id: string, email: string): Promise<EmailChange> {
  await links.forgetSteps(tx, person_id);
  const before = await people.setEmail(tx, person_id, email);
  if (before === null)
    throw new Refusal(`The address ${email} is taken by another person.`, {
      reason: 'email_taken',
      email,
    });
  return { email, before };
}
