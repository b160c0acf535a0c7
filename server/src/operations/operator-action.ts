import type { Source } from '../core/account/source.ts';
import * as accounts from '../db/accounts/accounts.ts';
import * as operatorLog from '../db/operator-log.ts';
import { newId } from '../lib/id.ts';
import { within, type Database, type Transaction } from '../lib/sql/sql.ts';

/** The person who performs an action of the dashboard or the console. */
export interface SignedInPerson {
  person_id: string;
  email: string;
}

/**
 * The author of a row in the operator's log: an operator, an operator key, the command line, or a
 * key that manages its account's keys.
 */
export interface Author {
  person_id: string | null;
  /** Set only for an operator key. */
  operator_key_id?: string;
  email: string;
}

/** Someone with direct access to the database, whose name is not known. */
export const commandLine: Author = { person_id: null, email: 'command line' };

/** Any key of scope `keys`; `details.by_key_id` has its id. One name keeps the filter short. */
export const managingKey: Author = { person_id: null, email: 'managing key' };

/** An operator key; its id tells keys of the same name apart. */
export function keyAuthor(key: { operator_key_id: string; name: string }) {
  const { operator_key_id, name } = key;
  return { person_id: null, operator_key_id, email: `operator key ${name}` };
}

/** Every action that is recorded in the operator's log. The console has words for each. */
export const operatorActions = [
  'books.prove',
  'books.mend',
  'account.create',
  'account.credit',
  'account.adjust',
  'account.suspend',
  'account.resume',
  'account.price',
  'account.operator',
  'account.keys_by_api',
  'account.webhook_secret',
  'account.export',
  'account.invite',
  'team.invite',
  'team.withdraw',
  'team.join',
  'team.role',
  'team.remove',
  'key.create',
  'key.change',
  'key.limits',
  'key.rotate',
  'key.revoke',
  'operator_key.create',
  'operator_key.revoke',
  'person.reset',
  /** Only in rows of earlier versions; now `person.change`. */
  'person.email',
  'person.change',
  'person.remove',
  'person.erase',
  'person.sign_out',
  'person.reset_two_factors',
  'banner.set',
  'invitation.create',
  'invitation.withdraw',
  'voucher.create',
  'voucher.void',
  'model.stop',
  'model.resume',
  'model.change',
  'chain.resume',
  'chain.rescan',
  'deposit.credit',
  'deposit.ignore',
  'deposit.rotate',
  'event.resend',
  'upstream.state',
  'upstream.key',
  'upstream.wake',
  'upstream.test',
  'request.cancel',
  'request.refund',
  'request.resolve',
  'request.resolve_many',
] as const;
export type OperatorAction = (typeof operatorActions)[number];

/** The result of an action: the answer, and the details for the log, without secrets. */
export interface ActionResult<Answer = unknown> {
  answer: Answer;
  /** Its name in the log, if the usual one does not say it. */
  action?: OperatorAction;
  /** The account that the action concerns, if any. */
  account_id?: string | null;
  /** Another object that the action concerns, such as an e-mail address or a voucher. */
  target?: string | null;
  /** Amounts, reasons, the values before and after. */
  details?: Record<string, unknown>;
  /** Set if nothing was changed, or if the operation has written its log row itself. */
  unlogged?: true;
  /** Called after the commit: notifies processes, sends letters. The action ends with it. */
  after?: () => void | Promise<void>;
}

/** Writes a row of the operator's log, in the same transaction as the action. */
export function logAction(
  tx: Transaction,
  by: Author,
  result: Omit<ActionResult, 'answer'> & { action: OperatorAction },
): void {
  const { action, account_id = null, target = null, details } = result;
  const { person_id, operator_key_id = null, email: by_email } = by;
  const who = { person_id, operator_key_id, by_email };
  operatorLog.insert(tx, {
    id: newId(),
    ...who,
    action,
    account_id,
    target,
    details: details ?? null,
  });
}

/**
 * Writes the log row of a deposit (with a source), a correction (with a reason) or a refund (with a
 * request). The audit compares this row with the booking.
 */
export function logBooking(
  tx: Transaction,
  by: Author,
  booked: {
    account_id: string;
    amount: bigint;
    source: Source | null;
    reference: string;
    reason: string | null;
    refunded_id: string | null;
    expires_at: Date | null;
    /** For operators only. */
    note?: string | undefined;
    transfer_id: string;
  },
): void {
  const { account_id, amount, source, reference, reason, refunded_id, transfer_id } = booked;
  const { expires_at, note } = booked;
  const ofAccount = source === null ? 'account.adjust' : 'account.credit';
  const action = refunded_id === null ? ofAccount : 'request.refund';
  const about = {
    ...(source !== null && { source }),
    ...(reason !== null && { reason }),
    ...(expires_at !== null && { expires_at }),
    ...(note !== undefined && { note }),
  };
  const told = { amount_usd_micro: String(amount), reference, ...about };
  const details = { ...told, transfer_id, replayed: false };
  logAction(tx, by, { action, account_id, target: refunded_id, details });
}

/**
 * Writes a log row if the people of an operator account change. Its owners run the service, so
 * nobody becomes or ceases to be an operator without such a row. The caller has locked
 * `account_id`.
 */
export async function logTeamChange(
  tx: Transaction,
  by: SignedInPerson,
  result: {
    action: OperatorAction;
    account_id: string;
    target: string;
    details: Record<string, unknown>;
  },
): Promise<void> {
  if (!(await accounts.lock(tx, result.account_id)).is_operator) return;
  logAction(tx, by, result);
}

/**
 * Runs an operator's action and writes its log row in one transaction, which also includes
 * everything that `work` does with its database. After a deadlock, `work` runs again.
 */
export async function runAction<Answer>(
  db: Database,
  by: Author,
  action: OperatorAction,
  work: (db: Database) => Promise<ActionResult<Answer>>,
): Promise<Answer> {
  const { answer, after } = await db.tx(async (tx) => {
    const result = await work(within(db, tx));
    if (!result.unlogged) logAction(tx, by, { action, ...result });
    return result;
  });
  await after?.();
  return answer;
}
