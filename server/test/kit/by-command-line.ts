import type { Database } from '../../src/lib/sql/sql.ts';
import * as deposits from '../../src/operations/accounts/book-by-hand.ts';
import * as refunds from '../../src/operations/accounts/refund.ts';
import * as vouchers from '../../src/operations/accounts/voucher.ts';
import { commandLine, runAction } from '../../src/operations/operator-action.ts';

/** Movements of money as the command line makes them, each with its row of the operator's log. */

export function deposit(db: Database, wanted: deposits.Deposit) {
  return deposits.deposit(db, commandLine, wanted);
}

export function adjust(db: Database, wanted: Parameters<typeof deposits.adjust>[2]) {
  return deposits.adjust(db, commandLine, wanted);
}

export function refund(db: Database, wanted: refunds.RefundInput) {
  return refunds.refund(db, commandLine, wanted);
}

export function createVouchers(db: Database, wanted: vouchers.NewVouchers) {
  const create = (tx: Database) => vouchers.createVouchers(tx, commandLine, wanted);
  return runAction(db, commandLine, 'voucher.create', create);
}

export function voidVoucher(db: Database, id: string) {
  return runAction(db, commandLine, 'voucher.void', (tx) => vouchers.voidVoucher(tx, id));
}
