import * as accounts from '../db/accounts.ts';
import * as operatorLog from '../db/operator-log.ts';
import { newId } from '../lib/id.ts';
import { within, type Database, type Transaction } from '../lib/sql.ts';

/** Who does it. */
export interface Operator {
  person_id: string;
  email: string;
}

/** Whom the log names: an operator, or the command line. */
export interface Author {
  person_id: string | null;
  email: string;
}

/** Whoever has the database in their hands; the log has no better name for them. */
export const commandLine: Author = { person_id: null, email: 'command line' };

/** What was done, for who asked and for the log; nothing secret may stand in the latter. */
export interface Done<Answer = unknown> {
  answer: Answer;
  /** To which account; null or left out: to none. */
  account_id?: string | null;
  /** To what else: an e-mail address, a voucher. */
  target?: string | null;
  /** Amounts, reasons, the values before and after. */
  details?: Record<string, unknown>;
  /** The operation has left its row itself. */
  noted?: true;
  /** Once all of it is written: hints to others. */
  after?: () => void;
}

/** A row of the log, in the transaction of what it tells. */
export function note(
  tx: Transaction,
  by: Author,
  deed: Omit<Done, 'answer'> & { action: string },
): void {
  const { action, account_id = null, target = null, details } = deed;
  const who = { person_id: by.person_id, by_email: by.email };
  operatorLog.insert(tx, {
    id: newId(),
    ...who,
    action,
    account_id,
    target,
    details: details ?? null,
  });
}

/** The row of a deposit (without a reason) or a correction: the audit compares the two. */
export function noteBooking(
  tx: Transaction,
  by: Author,
  booked: {
    account_id: string;
    amount: bigint;
    reference: string;
    reason: string | null;
    transfer_id: string;
  },
): void {
  const { account_id, amount, reference, reason, transfer_id } = booked;
  const action = reason === null ? 'account.credit' : 'account.adjust';
  const told = { amount_usd_micro: String(amount), reference, ...(reason !== null && { reason }) };
  note(tx, by, { action, account_id, details: { ...told, transfer_id, replayed: false } });
}

/**
 * A row about the people of an account, where it is an operator's: who owns that runs the service,
 * so nobody becomes or ceases to be an operator without one. `account_id` is locked by now.
 */
export async function noteTeam(
  tx: Transaction,
  by: Operator,
  deed: { action: string; account_id: string; target: string; details: Record<string, unknown> },
): Promise<void> {
  if (!(await accounts.lock(tx, deed.account_id)).is_operator) return;
  note(tx, by, deed);
}

/**
 * An operator's action and its row in the log, in one transaction. Everything that `work` does with
 * the database it is given belongs to it; after a deadlock it is run again.
 */
export async function act<Answer>(
  db: Database,
  by: Author,
  action: string,
  work: (db: Database) => Promise<Done<Answer>>,
): Promise<Answer> {
  const { answer, after } = await db.tx(async (tx) => {
    const done = await work(within(db, tx));
    if (!done.noted) note(tx, by, { ...done, action });
    return done;
  });
  after?.();
  return answer;
}
