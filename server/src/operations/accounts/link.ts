import { createHash, randomBytes } from 'node:crypto';
import * as links from '../../db/accounts/links.ts';
import * as people from '../../db/accounts/people.ts';
import { newId } from '../../lib/id.ts';
import type { Connection, Transaction } from '../../lib/sql/sql.ts';
import { Refusal } from '../refusal.ts';

/**
 * Links in letters: they confirm an address, set a new password, or set another address. Only a
 * hash of a link's token is stored, so a stored row cannot be used as a link.
 */

type Kind = 'confirm' | 'reset' | 'email';
const linkSeconds = 3600;

/** Only this hash of a link's token is stored. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The stored name of a link. No identifier of the sign-in library begins like this. */
export function nameOfLink(kind: Kind, token: string): string {
  return `${kind}:${hashToken(token).toString('base64url')}`;
}

/** Makes a link for an hour and returns its token. `data` has no blank at its ends. */
export async function makeLink(
  db: Connection,
  kind: Kind,
  person_id: string,
  data?: string,
): Promise<string> {
  const token = randomBytes(24).toString('base64url');
  const name = nameOfLink(kind, token);
  const identifier = data === undefined ? name : `${name} ${data}`;
  await links.insert(db, { id: newId(), person_id, identifier, seconds: linkSeconds });
  return token;
}

/** Throws `Refusal` if the link was used or has expired. */
export async function requireLink(
  db: Connection,
  kind: Kind,
  token: string,
): Promise<links.LinkRow> {
  const link = await links.find(db, nameOfLink(kind, token));
  if (link) return link;
  throw new Refusal('This link was used or has expired. Ask for another one.', {
    reason: 'link_gone',
  });
}

/**
 * Uses a link up. The person is locked first: links of one person that are opened at the same time
 * wait for one another, and the first may end the others. Throws `Refusal`.
 */
export async function takeLink(tx: Transaction, kind: Kind, token: string): Promise<links.LinkRow> {
  const link = await requireLink(tx, kind, token);
  await people.lock(tx, link.person_id);
  if (await links.take(tx, nameOfLink(kind, token))) return link;
  return requireLink(tx, kind, token);
}
