import { createHash } from 'node:crypto';
import { ApiError } from '../../core/errors.ts';
import { mailboxOf } from '../../core/account/email.ts';
import * as people from '../../db/accounts/people.ts';
import { newId } from '../../lib/id.ts';
import type { Database } from '../../lib/sql/sql.ts';

/** Limit of tries by one network, address, person or account. */
export interface Throttle {
  max: number;
  /** At most an hour, because older counts are deleted. */
  seconds: number;
}

/**
 * Counts a try, exactly over all processes. Stores only a hash of `who`. Throws `rate_limited`
 * beyond the limit.
 */
export async function throttle(
  { db }: { db: Database },
  what: string,
  who: string,
  limit: Throttle,
): Promise<void> {
  if (await countTry(db, what, who, limit)) return;
  throw new ApiError('rate_limited', {
    message: 'Too many attempts. Wait a few minutes, then try again.',
    reason: 'tries_too_many',
    headers: { 'retry-after': String(limit.seconds) },
  });
}

/** E-mails to one mailbox, of all kinds that strangers can cause, from all accounts. */
const lettersTo = { max: 3, seconds: 3600 };
/** The last one is for a link to a new password: nobody can keep a person from signing in. */
const noticesTo = { max: 2, seconds: 3600 };

/** `way in`: an e-mail with a link to a new password. */
export type LetterKind = 'way in' | 'notice';

/** Counts an e-mail to this address. Returns false if it must not be sent. */
export async function countLetter(db: Database, to: string, kind: LetterKind): Promise<boolean> {
  const mailbox = mailboxOf(to);
  if (kind === 'notice' && !(await countTry(db, 'notice to', mailbox, noticesTo))) return false;
  return countTry(db, 'e-mail to', mailbox, lettersTo);
}

/** As `throttle`, but returns false instead of throwing. */
export function countTry(
  db: Database,
  what: string,
  who: string,
  limit: Throttle,
): Promise<boolean> {
  const key = `${what} ${createHash('sha256').update(who).digest('base64url')}`;
  return people.countTry(db, { id: newId(), key, ...limit });
}
