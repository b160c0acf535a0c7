import { randomBytes } from 'node:crypto';
import { canonicalEmail, emailRule } from '../../core/account/email.ts';
import { newWebhookSecret } from '../../core/request/webhook.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import * as invitations from '../../db/accounts/invitations.ts';
import * as operators from '../../db/accounts/operators.ts';
import * as people from '../../db/accounts/people.ts';
import * as operatorEvents from '../../db/operator-events.ts';
import { openBooks, writeBooks } from '../../ledger/ledger.ts';
import { newId } from '../../lib/id.ts';
import type { Connection, Database } from '../../lib/sql/sql.ts';
import { keysOf } from '../../lib/records.ts';
import {
  commandLine,
  logBooking,
  runAction,
  type ActionResult,
  type Author,
} from '../operator-action.ts';
import { Refusal } from '../refusal.ts';

/** The address in its stored form. Throws `Refusal` if it is not a usable e-mail address. */
export function requireEmail(given: string): string {
  const email = canonicalEmail(given);
  if (email === null)
    throw new Refusal(
      `This is not a usable e-mail address. ${emailRule}`,
      { reason: 'email_invalid', field: 'email' },
      'invalid_input',
    );
  return email;
}

/**
 * Creates an account with an empty balance or with a first deposit, in one transaction. Throws
 * `Refusal` if the address is invalid or taken.
 */
export async function createAccount(
  db: Database,
  account: { email: string; is_operator: boolean; first_deposit?: bigint },
): Promise<accounts.AccountRow> {
  const email = requireEmail(account.email);
  const webhook_secret = newWebhookSecret(randomBytes);
  const id = newId();
  const { is_operator, first_deposit = 0n } = account;
  const made = await db.tx(async (tx) => {
    const inserted = await accounts.insert(tx, { id, email, is_operator, webhook_secret });
    if (inserted) await reportAccount(tx, id, email);
    if (inserted && first_deposit > 0n) {
      const books = await openBooks(tx, [id]);
      const made = { transfer_id: newId(), reference: `first deposit of ${id}` };
      books.deposit(made.transfer_id, id, first_deposit, made.reference, 'paid');
      writeBooks(tx, books);
      const about = { source: 'paid', reason: null, refunded_id: null, expires_at: null } as const;
      const booked = { account_id: id, amount: first_deposit, ...about, ...made };
      logBooking(tx, commandLine, booked);
    }
    return inserted;
  });
  if (!made)
    throw new Refusal(`There is already an account for ${email}.`, {
      reason: 'email_taken',
      email,
    });
  return requireAccount(db, email);
}

/** Writes the event that this account was created. */
export function reportAccount(tx: Connection, account_id: string, email: string): Promise<void> {
  return operatorEvents.addMany(tx, [{ type: 'account.created', account_id, data: { email } }]);
}

/**
 * The account with this e-mail address or id. Throws `Refusal` if there is none, or if this is not
 * a usable address.
 */
export async function requireAccount(
  db: Connection,
  emailOrId: string,
): Promise<accounts.AccountRow> {
  const account = await accounts.find(db, emailOrId);
  if (account) return account;
  if (emailOrId.includes('@')) requireEmail(emailOrId);
  throw new Refusal(`There is no account ${emailOrId}.`, { reason: 'account_unknown' });
}

/** A hundred times the list price; anything higher is a typing mistake. */
export const ppmMax = 100_000_000;

/**
 * Sets the share of the list price, in millionths, that the account pays from its next call on.
 * Earlier requests keep their price. Throws `Refusal` for an invalid value.
 */
export async function setPrice(db: Database, id: string, price_ppm: number): Promise<void> {
  if (!Number.isSafeInteger(price_ppm) || price_ppm < 0 || price_ppm > ppmMax)
    throw new Refusal(
      'A price multiplier must be a number from 0 to 100 with at most 6 decimals.',
      { reason: 'multiplier_invalid' },
    );
  await accounts.setPrice(db, id, price_ppm);
}

type AccountName = Pick<accounts.AccountRow, 'id' | 'email'>;

/** An operator's change of one property of an account; the log also gets its former value. */
async function changeAccount<Wanted extends Partial<accounts.Switches>>(
  db: Database,
  { id: account_id, email: target }: AccountName,
  wanted: Wanted,
  work: () => Promise<void>,
): Promise<ActionResult<Wanted>> {
  const switches = await accounts.lock(db, account_id);
  await work();
  const before = keysOf<keyof accounts.Switches>(wanted).map((name) => [name, switches[name]]);
  const details = { ...wanted, before: Object.fromEntries(before) };
  return { answer: wanted, account_id, target, details };
}

/**
 * Suspends an account, or ends its suspension; takes effect with the next call. Throws `Refusal` if
 * the author would lose their own access.
 */
export async function changeStatus(
  db: Database,
  by: Author,
  account: AccountName,
  status: accounts.Switches['status'],
): Promise<ActionResult<Pick<accounts.Switches, 'status'>>> {
  if (status === 'suspended') await demandOther(db, by, account.id);
  return changeAccount(db, account, { status }, () => accounts.setStatus(db, account.id, status));
}

/**
 * Sets whether the account's owners run the service. Throws `Refusal` if the author would lose
 * their own access.
 */
export async function changeOperator(
  db: Database,
  by: Author,
  account: AccountName & { is_operator: boolean },
  is_operator: boolean,
): Promise<ActionResult<Pick<accounts.Switches, 'is_operator'>>> {
  if (!is_operator) await demandOther(db, by, account.id);
  return changeAccount(db, account, { is_operator }, async () => {
    await accounts.setOperator(db, account.id, is_operator);
    if (!is_operator) await operators.clearRoles(db, account.id);
    // guard: earlier-invitations-end
    if (is_operator && !account.is_operator) await invitations.withdrawAll(db, [account.id]);
  });
}

/** Keeps operators from locking themselves out by mistake; another operator may do it. */
async function demandOther(db: Database, by: Author, account_id: string): Promise<void> {
  const own = by.person_id && (await people.findMembership(db, by.person_id, account_id));
  if (!own || own.role !== 'owner' || !own.is_operator) return;
  throw new Refusal(
    'That would remove your own access to the operator pages. Another operator can do it.',
    { reason: 'own_console' },
  );
}

/** Like `setPrice`, with details for the operator's log. */
export function changePrice(
  db: Database,
  account: AccountName,
  price_ppm: number,
): Promise<ActionResult<Pick<accounts.Switches, 'price_ppm'>>> {
  return changeAccount(db, account, { price_ppm }, () => setPrice(db, account.id, price_ppm));
}

/** Sets whether keys of scope `keys` may manage the account's keys, from the next call on. */
export function changeKeysByApi(
  db: Database,
  account: AccountName,
  keys_by_api: boolean,
): Promise<ActionResult<Pick<accounts.Switches, 'keys_by_api'>>> {
  return changeAccount(db, account, { keys_by_api }, () =>
    accounts.setKeysByApi(db, account.id, keys_by_api),
  );
}

/** An export changes nothing, yet what leaves the service leaves a row of the operator's log. */
export function logExport(db: Database, by: Author, account_id: string): Promise<void> {
  return runAction(db, by, 'account.export', async () => ({ answer: undefined, account_id }));
}

/** "0.85" → 850000 millionths. Throws `Refusal` for an invalid value. */
export function requirePpm(text: string): number {
  const [, whole, decimals = ''] = /^(\d{1,3})(?:\.(\d{1,6}))?$/.exec(text.trim()) ?? [];
  const ppm = whole === undefined ? -1 : Number(whole) * 1e6 + Number(decimals.padEnd(6, '0'));
  if (ppm >= 0 && ppm <= ppmMax) return ppm;
  throw new Refusal(
    `"${text}" is not a price multiplier, which is a number from 0 to 100 with at most 6 decimals, such as 0.85.`,
    { reason: 'multiplier_invalid' },
  );
}

/**
 * Adds a webhook secret. From now on webhooks are signed with both secrets, the new secret first.
 * Throws `Refusal` if two secrets are active already, because the older may still be in use.
 */
export async function rotateWebhookSecret(db: Database, account_id: string): Promise<string[]> {
  const secrets = await accounts.addSecret(db, account_id, newWebhookSecret(randomBytes));
  if (!secrets)
    throw new Refusal('Two secrets are already active. Retire the older one first.', {
      reason: 'secrets_two',
    });
  return secrets;
}

/** Removes the older of two webhook secrets. Throws `Refusal` if there is only one secret. */
export async function retireWebhookSecret(db: Database, account_id: string): Promise<string[]> {
  const secrets = await accounts.dropOlderSecret(db, account_id);
  if (!secrets)
    throw new Refusal('The only active secret cannot be retired. Make another one first.', {
      reason: 'secret_last',
    });
  return secrets;
}
