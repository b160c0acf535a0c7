import * as accounts from '../db/accounts.ts';
import * as operatorLog from '../db/operator-log.ts';
import { newId } from '../lib/id.ts';
import { within, type Database, type Transaction } from '../lib/sql.ts';

/** Who does it. */
export interface Operator {
  person_id: string;
  email: string;
}

/** What was done, for who asked and for the log; nothing secret may stand in the latter. */
export interface Done {
  answer: unknown;
  /** To which account; null or left out: to none. */
  account_id?: string | null;
  /** To what else: an e-mail address, a voucher. */
  target?: string | null;
  /** Amounts, reasons, the values before and after. */
  details?: Record<string, unknown>;
  /** Once all of it is written: hints to others. */
  after?: () => void;
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
  operatorLog.insert(tx, { id: newId(), person_id: by.person_id, by_email: by.email, ...deed });
}

/**
 * An operator's action and its row in the log, in one transaction. Everything that `work` does with
 * the database it is given belongs to it; after a deadlock it is run again.
 */
export async function act(
  db: Database,
  by: Operator,
  action: string,
  work: (db: Database) => Promise<Done>,
): Promise<unknown> {
  const { answer, after } = await db.tx(async (tx) => {
    const done = await work(within(db, tx));
    const { account_id = null, target = null, details = null } = done;
    const who = { person_id: by.person_id, by_email: by.email };
    operatorLog.insert(tx, { id: newId(), ...who, action, account_id, target, details });
    return done;
  });
  after?.();
  return answer;
}
