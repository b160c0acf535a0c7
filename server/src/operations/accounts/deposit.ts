import { isVoucherReference } from '../../core/account/voucher.ts';
import { unseen } from '../../core/account/name.ts';
import { findReference } from '../../ledger/statement.ts';
import { openBooks, writeBooks, type Funds } from '../../ledger/ledger.ts';
import { newId } from '../../lib/id.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { codeOf } from '../../lib/unknown.ts';
import { Refused } from '../refused.ts';
import { commandLine, logBooking, type Author } from '../operator-action.ts';

export const referenceMax = 255;
export const reasonMax = 1000;

export interface Deposit {
  account_id: string;
  amount: bigint;
  /** The payment's name outside of Farebox. Each reference is booked only once. */
  reference: string;
}

export interface BookedDeposit extends Funds {
  transfer_id: string;
  /** True if the same deposit was already booked under this reference. */
  replayed: boolean;
}

/**
 * Books a deposit, with a row in the operator's log. Repeating the same deposit changes nothing.
 * Throws `Refused` if the reference was used for anything else.
 */
export function deposit(
  db: Database,
  wanted: Deposit,
  by: Author = commandLine,
): Promise<BookedDeposit> {
  if (wanted.amount <= 0n)
    throw new Refused('A deposit must be more than 0.', { reason: 'amount_not_positive' });
  return book(db, wanted, null, by);
}

/** Corrects a balance, up or down, but never below zero. */
export function adjust(
  db: Database,
  wanted: Deposit & { reason: string },
  by: Author = commandLine,
): Promise<BookedDeposit> {
  if (wanted.amount === 0n)
    throw new Refused('A correction must not be 0.', { reason: 'correction_zero' });
  return book(db, wanted, plainText('reason', wanted.reason, reasonMax), by);
}

/**
 * The trimmed text; throws `Refused` if it has invisible characters. With those, two references
 * could look the same and a payment could be booked twice.
 */
function plainText(name: 'reason' | 'reference', given: string, max: number): string {
  const why = { reason: `${name}_invalid`, max_length: max } as const;
  const text = given.trim();
  if (unseen.test(text)) throw new Refused(`A ${name} must not contain control characters.`, why);
  if (text.length < 1 || text.length > max) {
    throw new Refused(`A ${name} has 1 to ${max} characters.`, why);
  }
  return text;
}

async function book(
  db: Database,
  wanted: Deposit,
  reason: string | null,
  by: Author,
): Promise<BookedDeposit> {
  const { account_id, amount } = wanted;
  const reference = plainText('reference', wanted.reference, referenceMax);
  if (isVoucherReference(reference))
    throw new Refused(
      'References that begin with "voucher:" are reserved for vouchers. Use another one.',
      {
        reason: 'reference_of_voucher',
      },
    );
  try {
    return await db.tx(async (tx) => {
      const books = await openBooks(tx, [account_id]);
      const earlier = await findReference(tx, reference);
      // guard: deposit-booked-once
      if (earlier) {
        const kind = reason === null ? 'deposit' : 'adjustment';
        const same =
          earlier.account_id === account_id &&
          earlier.kind === kind &&
          earlier.amount === amount &&
          earlier.reason === reason;
        if (!same) throw used(reference);
        return { ...books.funds(account_id), transfer_id: earlier.id, replayed: true };
      }
      const id = newId();
      if (reason === null) books.deposit(id, account_id, amount, reference);
      else if (!books.adjust(id, account_id, amount, reference, reason)) {
        throw new Refused('This correction would take more than the account has available.', {
          reason: 'beyond_available',
        });
      }
      writeBooks(tx, books);
      logBooking(tx, by, { account_id, amount, reference, reason, transfer_id: id });
      return { ...books.funds(account_id), transfer_id: id, replayed: false };
    });
  } catch (error) {
    // Another transaction used the same reference for another account at the same moment, and was
    // first.
    if (codeOf(error) === '23505') {
      throw used(reference);
    }
    throw error;
  }
}

function used(reference: string): Refused {
  const message = `The reference "${reference}" was already used for another booking.`;
  return new Refused(message, { reason: 'reference_used', reference });
}
