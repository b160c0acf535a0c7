import * as accounts from '../../db/accounts/accounts.ts';
import { findReference } from '../../ledger/statement.ts';
import {
  adjust,
  deposit,
  reasonMax,
  referenceMax,
  type BookedDeposit,
} from '../../operations/accounts/deposit.ts';
import {
  amount,
  boolean,
  choice,
  form,
  id,
  microUsd,
  nullable,
  object,
  signedMicroUsd,
  text,
  time,
} from '../schema.ts';
import { endpoint } from '../session/endpoint.ts';
import { need } from './account.ts';
import { action } from './action.ts';

/** Booking money by hand. A reference is booked once, however often it is sent. */

/** GET /references: what was booked under a reference, if anything. */
export const reference = endpoint(
  {
    query: object({ reference: text(undefined, { minLength: 1, maxLength: referenceMax }) }),
    reply: object({
      booked: nullable(
        object({
          transfer_id: id(),
          account_id: id(),
          email: nullable(text()),
          kind: choice(['deposit', 'adjustment']),
          amount_usd_micro: signedMicroUsd(),
          reason: nullable(text()),
          created_at: time(),
        }),
      ),
    }),
  },
  async ({ query }, { db }) => {
    const found = await findReference(db, query.reference.trim());
    if (!found) return { booked: null };
    const { id: transfer_id, amount: amount_usd_micro, ...row } = found;
    const account = await accounts.find(db, row.account_id);
    return {
      booked: { transfer_id, email: account?.email ?? null, amount_usd_micro, ...row },
    };
  },
);

const NewReference = text(undefined, { minLength: 1, maxLength: referenceMax });
const Booking = object({
  transfer_id: id(),
  replayed: boolean('True if the same booking was already made with this reference.'),
  available_usd_micro: microUsd(),
  reserved_usd_micro: microUsd(),
});

/** POST /accounts/:account_id/credit */
export const credit = action(
  {
    params: ['account_id'],
    body: form({ amount_usd_micro: amount(), reference: NewReference }),
    reply: Booking,
  },
  async ({ params, body, visit }, deps) => {
    const { id: account_id } = await need(deps.db, params);
    const wanted = { account_id, ...body, amount: BigInt(body.amount_usd_micro) };
    return async (db) => done(await deposit(db, wanted, visit.session));
  },
);

/** POST /accounts/:account_id/adjust: a negative amount takes money. */
export const correct = action(
  {
    params: ['account_id'],
    body: form({
      amount_usd_micro: signedMicroUsd(),
      reference: NewReference,
      reason: text(undefined, { minLength: 1, maxLength: reasonMax }),
    }),
    reply: Booking,
  },
  async ({ params, body, visit }, deps) => {
    const { id: account_id } = await need(deps.db, params);
    const wanted = { account_id, ...body, amount: BigInt(body.amount_usd_micro) };
    return async (db) => done(await adjust(db, wanted, visit.session));
  },
);

/** The operation itself writes the action to the operator's log. */
function done(answer: BookedDeposit) {
  return { answer, logged: true as const };
}
