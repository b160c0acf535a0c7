import { randomBytes } from 'node:crypto';
import { newWebhookSecret } from '../core/webhook.ts';
import * as accounts from '../db/accounts.ts';
import { newId } from '../lib/id.ts';
import type { Database } from '../lib/sql.ts';

/** The operator's answer to a command that cannot be carried out: said in words, no stack. */
export class Refused extends Error {}

const emailForm = /^[^\s@]{1,64}@[^\s@]{1,189}$/;

/**
 * Creates an account with an empty balance. Throws `Refused` where the address is taken or is none.
 */
export async function createAccount(
  db: Database,
  account: { email: string; is_operator: boolean },
): Promise<accounts.AccountRow> {
  const email = account.email.trim().toLowerCase();
  if (!emailForm.test(email)) throw new Refused(`"${account.email}" is no e-mail address.`);
  const webhook_secret = newWebhookSecret(randomBytes);
  const id = newId();
  const made = await accounts.insert(db, {
    id,
    email,
    is_operator: account.is_operator,
    webhook_secret,
  });
  if (!made) throw new Refused(`There is an account for ${email} already.`);
  return needAccount(db, email);
}

/** The account of this e-mail address or id, or `Refused`. */
export async function needAccount(db: Database, emailOrId: string): Promise<accounts.AccountRow> {
  const account = await accounts.find(db, emailOrId.trim());
  if (!account)
    throw new Refused(`There is no account ${emailOrId}. "farebox account list" shows them.`);
  return account;
}
