import * as vouchers from '../../db/vouchers.ts';
import { createVouchers, voidVoucher, vouchersMax } from '../../operations/voucher.ts';
import { text } from '../session/entry.ts';
import { amount, futureTime, idOf, optional, pageFrom, pageOf, whole } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import type { Deed } from './deed.ts';

/** Codes worth money. */

/** GET /vouchers?limit=&cursor= */
export const list: VisitHandler = async (visit, _reply, { db }) => {
  const page = pageOf(visit, 50);
  const before = page.cursor ?? undefined;
  return pageFrom(await vouchers.list(db, { limit: page.limit + 1, before }), page, shown);
};

function shown(row: vouchers.VoucherRow) {
  return {
    voucher_id: row.id,
    last4: row.last4,
    amount_usd_micro: String(row.amount_usd_micro),
    note: row.note,
    status: row.status,
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    redeemed_at: row.redeemed_at?.toISOString() ?? null,
    redeemed_by: row.redeemed_by,
    redeemed_by_name: row.redeemed_by_name,
  };
}

/** POST /vouchers {amount_usd_micro, count, note?, expires_at?}: the codes are told once. */
export const create: Deed = async (form, { session }) => {
  const wanted = {
    amount: amount(form, 'amount_usd_micro'),
    count: whole(form, 'count', 1, vouchersMax),
    note: optional(form, 'note', (given, name) => text(given, name, 200)),
    expires_at: optional(form, 'expires_at', futureTime),
  };
  return async (db) => {
    return { answer: { data: await createVouchers(db, wanted, session) }, noted: true };
  };
};

/** POST /vouchers/:voucher_id/void */
export const cancel: Deed = async (_form, visit) => {
  const id = idOf((visit.params as Record<string, unknown>).voucher_id);
  return async (db) => {
    await voidVoucher(db, id, visit.session);
    return { answer: { status: 'void' }, noted: true };
  };
};
