import { plainReference, referenceMax } from '../../core/account/booking.ts';
import { findReference, type ReferencedBooking } from '../../ledger/bookings.ts';
import { openBooks, writeBooks, type Books, type Funds } from '../../ledger/ledger.ts';
import { newId } from '../../lib/id.ts';
import type { Database, Transaction } from '../../lib/sql/sql.ts';
import { codeOf } from '../../lib/unknown.ts';
import { demandLine } from '../line.ts';
import { Refusal } from '../refusal.ts';

/** Bookings of money under a reference, which is the booking's name outside of Farebox. */

/** References of deposits that other operations book: a voucher, a transfer on a chain. */
const reservedReference = /^(voucher|chain):/;

export interface BookingResult extends Funds {
  transfer_id: string;
  /** True if the same booking was already made under this reference. */
  replayed: boolean;
}

/** The facts by which a repeated booking is recognised. */
type Facts = Omit<ReferencedBooking, 'id' | 'created_at'>;

interface Booking {
  account_id: string;
  reference: string;
  isSame: (earlier: Facts) => boolean;
  /** Decides on the opened books and writes the log row. Throws `Refusal`. */
  book: (tx: Transaction, books: Books, as: { id: string; reference: string }) => unknown;
}

/**
 * Books money once under its reference. Repeating the same booking changes nothing. Throws
 * `Refusal` if the reference was used for anything else, or names two transactions.
 */
export async function bookOnce(db: Database, booking: Booking): Promise<BookingResult> {
  const { account_id } = booking;
  // Two references that look the same would be paid twice.
  const reference = demandLine('reference', plainReference(booking.reference), referenceMax);
  if (reservedReference.test(reference))
    throw new Refusal(
      'References that begin with "voucher:" or "chain:" are reserved. Use another one.',
      { reason: 'reference_reserved' },
    );
  try {
    return await db.tx(async (tx) => {
      const books = await openBooks(tx, [account_id]);
      const earlier = await findReference(tx, reference, booking.reference);
      // guard: deposit-booked-once
      if (earlier) {
        if (!booking.isSame(earlier)) throw referenceUsed(reference);
        return { ...books.funds(account_id), transfer_id: earlier.id, replayed: true };
      }
      // guard: one-transaction-a-reference
      if (namesSeveral(reference))
        throw new Refusal(
          'The reference names two transactions. Book each of them under a reference of its own.',
          { reason: 'reference_transactions' },
        );
      const id = newId();
      await booking.book(tx, books, { id, reference });
      writeBooks(tx, books);
      return { ...books.funds(account_id), transfer_id: id, replayed: false };
    });
  } catch (error) {
    // Another transaction has just used the same reference for another account.
    if (codeOf(error) === '23505') throw referenceUsed(reference);
    throw error;
  }
}

export function isSameBooking(earlier: Facts, wanted: Facts): boolean {
  return (
    earlier.account_id === wanted.account_id &&
    earlier.kind === wanted.kind &&
    earlier.source === wanted.source &&
    earlier.amount === wanted.amount &&
    earlier.reason === wanted.reason &&
    earlier.refunded_id === wanted.refunded_id &&
    earlier.expires_at?.getTime() === wanted.expires_at?.getTime()
  );
}

/** Only the first named transaction would be found when its deposit comes from the chain. */
function namesSeveral(reference: string): boolean {
  const named = reference.toLowerCase().matchAll(/(?:0x|[0-9a-f]*)([0-9a-f]{64})/g);
  return new Set(Array.from(named, ([, hash]) => hash)).size > 1;
}

function referenceUsed(reference: string): Refusal {
  const message = `The reference "${reference}" was already used for another booking.`;
  return new Refusal(message, { reason: 'reference_used', reference }, 'idempotency_conflict');
}
