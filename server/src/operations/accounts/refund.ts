import { reasonMax } from '../../core/account/booking.ts';
import { formatUsd } from '../../core/price/money.ts';
import { findCharge } from '../../ledger/bookings.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { logBooking, type Author } from '../operator-action.ts';
import { demandLine } from '../line.ts';
import { Refusal } from '../refusal.ts';
import { bookOnce, isSameBooking, type BookingResult } from './booking.ts';

export interface RefundInput {
  request_id: string;
  /** Null: all that is left of the charge. */
  amount: bigint | null;
  /** The refund's name outside of Farebox. Each reference is booked only once. */
  reference: string;
  reason: string;
}

export interface BookedRefund extends BookingResult {
  account_id: string;
  request_id: string;
  /** The sum of the request's refunds. */
  refunded_usd_micro: bigint;
}

/**
 * Gives back what a request was charged, or a part of it, out of revenue. All its refunds together
 * are at most the charge. A refund does not reduce the month's spending of the key. Returns null if
 * there is no such request. Throws `Refusal`.
 */
export async function refund(
  db: Database,
  by: Author,
  { request_id, amount, reference, ...wanted }: RefundInput,
): Promise<BookedRefund | null> {
  if (amount !== null && amount <= 0n)
    throw new Refusal('A refund must be more than 0.', { reason: 'amount_not_positive' });
  const charge = await findCharge(db, request_id);
  if (charge === null) return null;
  const { account_id } = charge;
  const reason = demandLine('reason', wanted.reason, reasonMax);
  const about = { source: 'refund', refunded_id: request_id, expires_at: null } as const;
  const facts = { account_id, reason, ...about };
  const booked = await bookOnce(db, {
    account_id,
    reference,
    isSame: (earlier) =>
      isSameBooking(earlier, { kind: 'deposit', ...facts, amount: amount ?? earlier.amount }),
    book: async (tx, books, as) => {
      // Read again: earlier refunds are certain only now that the balance is locked.
      const { charged, refunded } = (await findCharge(tx, request_id))!;
      const left = charged - refunded;
      const given = { ...facts, amount: amount ?? left, reference: as.reference };
      if (left === 0n) throw nothingLeft(charged);
      // guard: refund-within-charge
      if (given.amount > left) throw beyondCharge(left);
      const { expires_at: _none, ...given_back } = given;
      books.refund(as.id, given_back);
      logBooking(tx, by, { ...given, transfer_id: as.id });
    },
  });
  const { refunded: refunded_usd_micro } = (await findCharge(db, request_id))!;
  return { ...booked, account_id, request_id, refunded_usd_micro };
}

function nothingLeft(charged: bigint): Refusal {
  return charged === 0n
    ? new Refusal('This request was not charged, so there is nothing to refund.', {
        reason: 'not_charged',
      })
    : new Refusal('The whole charge of this request was already refunded.', {
        reason: 'refunded_already',
      });
}

function beyondCharge(left: bigint): Refusal {
  return new Refusal(
    `At most ${formatUsd(left)} USD of this request's charge are left to refund. Use a lower amount.`,
    { reason: 'refund_beyond_charge', left_usd_micro: String(left) },
  );
}
