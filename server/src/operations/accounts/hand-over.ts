import { randomBytes } from 'node:crypto';
import { newWebhookSecret } from '../../core/request/webhook.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as alerts from '../../db/accounts/alerts.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as links from '../../db/accounts/links.ts';
import * as members from '../../db/accounts/members.ts';
import * as people from '../../db/accounts/people.ts';
import * as sessions from '../../db/accounts/sessions.ts';
import type { Database, Transaction } from '../../lib/sql/sql.ts';

/**
 * Somebody proves an address that another person may have signed up with. Everything that this
 * other person could still use ends.
 */

/** Counts of ended accesses to the accounts that the person founded. */
export interface HandOver {
  email: string;
  keys: number;
  people: number;
}

/** Null if there is no such person. */
export function handOver(db: Database, id: string): Promise<HandOver | null> {
  return db.tx(async (tx) => {
    await people.lock(tx, id);
    const person = await people.findEmail(tx, id);
    return person && { email: person.email, ...(await endFormerAccess(tx, { id, ...person })) };
  });
}

/**
 * Ends the ways to sign in. Unless the person's owner had proven the address before, all other
 * accesses to the accounts that the person founded end, too.
 */
export async function endFormerAccess(
  tx: Transaction,
  { id, owner_proven }: { id: string; owner_proven: boolean },
): Promise<Omit<HandOver, 'email'>> {
  await people.setPassword(tx, id, null);
  await people.dropOtherWays(tx, id);
  await people.dropTwoFactor(tx, id);
  await links.forgetSteps(tx, id);
  await sessions.endAll(tx, id);
  const ended = owner_proven ? { keys: 0, people: 0 } : await endAccess(tx, id);
  await people.verify(tx, id);
  return ended;
}

/** Ends every access to the accounts that the person founded, except their own. */
async function endAccess(tx: Transaction, id: string): Promise<Omit<HandOver, 'email'>> {
  await invitations.withdrawAllBy(tx, id);
  const founded = await members.listFoundedBy(tx, id);
  for (const account_id of founded) {
    await accounts.lock(tx, account_id);
    await accounts.replaceSecrets(tx, account_id, newWebhookSecret(randomBytes));
  }
  await invitations.withdrawAll(tx, founded);
  await alerts.dropWebhooks(tx, founded);
  return {
    keys: await keys.revokeAll(tx, founded),
    people: await members.removeOthers(tx, founded, id),
  };
}
