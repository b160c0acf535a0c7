import { noteMax, reasonMax } from '../../core/account/booking.ts';
import type { BookedSource } from '../../core/account/source.ts';
import * as chainDeposits from '../../db/deposits/chain-deposits.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { insertBonus } from '../../ledger/bonuses.ts';
import { logBooking, type Author } from '../operator-action.ts';
import { demandLine } from '../line.ts';
import { Refusal } from '../refusal.ts';
import { countSpending } from './bonus.ts';
import { bookOnce, isSameBooking, type BookingResult } from './booking.ts';

export interface Deposit {
  account_id: string;
  amount: bigint;
  /** The payment's name outside of Farebox. Each reference is booked only once. */
  reference: string;
  /** `paid` if left out. */
  source?: BookedSource;
  /** For a bonus: when its unspent part goes back; null or left out: never. */
  expires_at?: Date | null;
  /** For the operator's log; it may differ when the deposit is repeated. */
  note?: string;
}

/**
 * Books a deposit, with a row in the operator's log. Repeating the same deposit changes nothing.
 * Throws `Refusal` if the reference was used for anything else, or if it names a transaction that
 * was credited from its chain.
 */
export async function deposit(
  db: Database,
  by: Author,
  { account_id, amount, reference, source = 'paid', expires_at = null, ...wanted }: Deposit,
): Promise<BookingResult> {
  if (amount <= 0n)
    throw new Refusal('A deposit must be more than 0.', { reason: 'amount_not_positive' });
  if (expires_at !== null && source !== 'bonus')
    throw new Refusal('Only a bonus can have an end.', { reason: 'end_without_bonus' });
  const facts = { account_id, amount, source, reason: null, refunded_id: null, expires_at };
  const note = wanted.note === undefined ? undefined : demandLine('note', wanted.note, noteMax);
  return bookOnce(db, {
    account_id,
    reference,
    isSame: (earlier) => isSameBooking(earlier, { kind: 'deposit', ...facts }),
    book: async (tx, books, as) => {
      // guard: credited-by-chain-is-refused
      if (source === 'paid' && (await chainDeposits.isCredited(tx, as.reference)))
        throw new Refusal(
          'The reference names a transaction that was already credited from its chain. If this is another payment, use a reference without that hash.',
          { reason: 'deposit_on_chain' },
        );
      if (expires_at !== null) {
        if (!(expires_at.getTime() > Date.now()))
          throw new Refusal('A bonus must end in the future.', { reason: 'end_passed' });
        await countSpending(tx, books, account_id);
        const counted = books.taken(account_id);
        insertBonus(tx, { transfer_id: as.id, account_id, expires_at, amount, counted });
      }
      books.deposit(as.id, account_id, amount, as.reference, source);
      logBooking(tx, by, { ...facts, note, reference: as.reference, transfer_id: as.id });
    },
  });
}

/**
 * Corrects a balance, up or down, but never below zero. A correction that takes more than is
 * available is refused; with `allows_debt`, the rest becomes a debt that the next money in pays.
 */
export async function adjust(
  db: Database,
  by: Author,
  wanted: Omit<Deposit, 'source' | 'note' | 'expires_at'> & {
    reason: string;
    allows_debt?: boolean;
  },
): Promise<BookingResult> {
  const { account_id, amount, reference, allows_debt = false } = wanted;
  if (amount === 0n)
    throw new Refusal('A correction must not be 0.', { reason: 'correction_zero' });
  const reason = demandLine('reason', wanted.reason, reasonMax);
  const about = { source: null, refunded_id: null, expires_at: null };
  const facts = { account_id, amount, reason, ...about };
  return bookOnce(db, {
    account_id,
    reference,
    isSame: (earlier) => isSameBooking(earlier, { kind: 'adjustment', ...facts }),
    book: (tx, books, as) => {
      const adjustment = { account_id, amount, reference: as.reference, reason, allows_debt };
      if (!books.adjust(as.id, adjustment))
        throw new Refusal(
          'This correction would take more than the account has available. Allow a debt, or take less.',
          { reason: 'beyond_available' },
        );
      logBooking(tx, by, { ...facts, reference: as.reference, transfer_id: as.id });
    },
  });
}
