import { randomBytes } from 'node:crypto';
import {
  hashVoucherCode,
  newVoucherCode,
  voucherNoteMax,
  voucherReference,
  vouchersMax,
} from '../../core/account/voucher.ts';
import * as vouchers from '../../db/accounts/vouchers.ts';
import { openBooks, writeBooks, type Funds } from '../../ledger/ledger.ts';
import { findReference } from '../../ledger/bookings.ts';
import { newId } from '../../lib/id.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { demandLine } from '../line.ts';
import { Refusal } from '../refusal.ts';
import type { ActionResult, Author } from '../operator-action.ts';

export interface NewVouchers {
  amount: bigint;
  count: number;
  /** Null: they never expire. */
  expires_at: Date | null;
  note: string | null;
}

/**
 * Creates vouchers; their codes are returned here and never again. The row in the operator's log
 * has the same time as the vouchers, because the audit compares the two.
 */
export async function createVouchers(
  db: Database,
  by: Author,
  wanted: NewVouchers,
): Promise<ActionResult<{ id: string; code: string }[]>> {
  const { amount, count, expires_at } = wanted;
  if (amount <= 0n)
    throw new Refusal('A voucher must be worth more than 0.', { reason: 'amount_not_positive' });
  if (!Number.isInteger(count) || count < 1 || count > vouchersMax)
    throw new Refusal(`Between 1 and ${vouchersMax} vouchers can be made at a time.`, {
      reason: 'vouchers_at_once',
      limit: vouchersMax,
    });
  if (expires_at !== null && !(expires_at.getTime() > Date.now()))
    throw new Refusal('A voucher must expire in the future.', { reason: 'end_passed' });
  const text = wanted.note?.trim() ? demandLine('note', wanted.note, voucherNoteMax) : null;
  const made = Array.from({ length: count }, () => ({
    id: newId(),
    code: newVoucherCode(randomBytes),
  }));
  const rows = made.map(({ id, code }) => {
    return { id, code_hash: hashVoucherCode(code), last4: code.slice(-4) };
  });
  const created_by = by.person_id;
  const all = { amount_usd_micro: amount, expires_at, note: text, created_by };
  await vouchers.insertMany(db, rows, all);
  const details = { amount_usd_micro: String(amount), count, expires_at, first_id: made[0]!.id };
  return { answer: made, target: text, details };
}

/**
 * Voids a voucher; a repeat changes nothing. Throws `Refusal` if the voucher is unknown or was
 * redeemed.
 */
export async function voidVoucher(
  db: Database,
  id: string,
): Promise<ActionResult<{ status: 'void' }>> {
  const found = await vouchers.cancel(db, id);
  if (!found)
    throw new Refusal(`There is no voucher with the id ${id}.`, { reason: 'voucher_unknown' });
  if (found.redeemed_at === null)
    return { answer: { status: 'void' }, target: id, ...(!found.voided && { unlogged: true }) };
  const when = found.redeemed_at.toISOString();
  throw new Refusal(`This voucher was redeemed at ${when}. Correct the balance instead.`, {
    reason: 'voucher_redeemed',
    redeemed_at: when,
  });
}

export interface Redemption extends Funds {
  amount_usd_micro: bigint;
  transfer_id: string;
  /** True if this account had redeemed the voucher before, so nothing was booked now. */
  replayed: boolean;
}

/**
 * Redeems a voucher once: it is marked as redeemed and its deposit is booked in one transaction.
 * `code` comes from `parseVoucherCode`. Throws `Refusal`; the message may say why the voucher is
 * worth nothing, because the caller has the full code.
 */
export function redeemVoucher(
  db: Database,
  { account_id, code }: { account_id: string; code: string },
): Promise<Redemption> {
  const code_hash = hashVoucherCode(code);
  return db.tx(async (tx) => {
    // The balance is locked before the voucher, because balances come first in every transaction.
    const books = await openBooks(tx, [account_id]);
    const taken = await vouchers.take(tx, code_hash, account_id);
    if (taken) {
      const transfer_id = newId();
      const { id, amount_usd_micro } = taken;
      const reference = voucherReference(id);
      books.deposit(transfer_id, account_id, amount_usd_micro, reference, 'voucher');
      writeBooks(tx, books);
      return { ...books.funds(account_id), amount_usd_micro, transfer_id, replayed: false };
    }
    const known = await vouchers.find(tx, code_hash);
    const booked = known && (await findReference(tx, voucherReference(known.id)));
    if (!known || known.redeemed_by !== account_id || !booked) throw worthNothing(known);
    const { amount_usd_micro } = known;
    const transfer_id = booked.id;
    return { ...books.funds(account_id), amount_usd_micro, transfer_id, replayed: true };
  });
}

function worthNothing(known: vouchers.KnownVoucher | null): Refusal {
  if (!known)
    return new Refusal('There is no voucher with this code. Check the code.', {
      reason: 'voucher_unknown',
    });
  if (known.redeemed_by !== null)
    return new Refusal('This voucher was already redeemed. Ask for another one.', {
      reason: 'voucher_used',
    });
  if (known.voided_at !== null)
    return new Refusal('This voucher was cancelled by the operator.', { reason: 'voucher_voided' });
  const expired_at = known.expires_at!.toISOString();
  return new Refusal(`This voucher expired at ${expired_at}.`, {
    reason: 'voucher_expired',
    expired_at,
  });
}
