import { ApiError } from '../../core/errors.ts';
import * as accounts from '../../db/accounts.ts';
import { findReference } from '../../ledger/statement.ts';
import type { Done } from '../../operations/act.ts';
import { adjust, deposit, type Booked } from '../../operations/deposit.ts';
import { text } from '../session/entry.ts';
import { amount, parameter, signedAmount } from '../form.ts';
import type { VisitHandler } from '../session/routes.ts';
import { need } from './account.ts';
import type { Deed } from './action.ts';

/** Booking money by hand. A reference is booked once, however often it is sent. */

/** GET /references?reference=: what was booked under it, if anything. */
export const reference: VisitHandler = async (visit, _reply, { db }) => {
  const name = parameter(visit, 'reference', 255)?.trim();
  if (!name)
    throw new ApiError('bad_request', { message: 'Give a reference.', param: 'reference' });
  const found = await findReference(db, name);
  if (!found) return { booked: null };
  const { id: transfer_id, account_id, kind, amount: size, reason, created_at } = found;
  const account = await accounts.find(db, account_id);
  return {
    booked: {
      transfer_id,
      account_id,
      email: account?.email ?? null,
      kind,
      amount_usd_micro: String(size),
      reason,
      created_at: created_at.toISOString(),
    },
  };
};

/** POST /accounts/:account_id/credit {amount_usd_micro, reference} */
export const credit: Deed = async (form, visit, deps) => {
  const wanted = { amount: amount(form, 'amount_usd_micro'), ...named(form) };
  const { id: account_id } = await need(deps.db, visit);
  return async (db) => done(await deposit(db, { account_id, ...wanted }, visit.session));
};

/** POST /accounts/:account_id/adjust {amount_usd_micro, reference, reason}; a minus takes. */
export const correct: Deed = async (form, visit, deps) => {
  const wanted = {
    amount: signedAmount(form, 'amount_usd_micro'),
    ...named(form),
    reason: text(form, 'reason', 1000),
  };
  const { id: account_id } = await need(deps.db, visit);
  return async (db) => done(await adjust(db, { account_id, ...wanted }, visit.session));
};

function named(form: Record<string, unknown>): { reference: string } {
  return { reference: text(form, 'reference', 255) };
}

function done(booked: Booked): Done {
  const { transfer_id, replayed, available_usd_micro, reserved_usd_micro } = booked;
  return {
    answer: {
      transfer_id,
      replayed,
      available_usd_micro: String(available_usd_micro),
      reserved_usd_micro: String(reserved_usd_micro),
    },
    noted: true,
  };
}
