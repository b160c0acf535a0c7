import { ApiError } from '../../core/errors.ts';
import { referenceMax } from '../../core/account/booking.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import { findReference } from '../../ledger/bookings.ts';
import type { Booked } from '../../operations/accounts/booking.ts';
import { adjust, deposit } from '../../operations/accounts/deposit.ts';
import { refund as refundCharge } from '../../operations/accounts/refund.ts';
import type { Author } from '../../operations/operator-action.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { idOf } from '../form.ts';
import { NewCorrection, NewCredit, NewRefund } from '../schemas/operator.ts';
import {
  boolean,
  choice,
  form,
  id,
  microUsd,
  named,
  nullable,
  object,
  optional,
  signedMicroUsd,
  text,
  time,
} from '../schemas/schema.ts';
import { SourceName } from '../dashboard/views.ts';
import { visitAction, visitEndpoint } from '../endpoint.ts';
import { need } from './account.ts';

/** Booking money by hand. A reference is booked once, however often it is sent. */

/** GET /references: what was booked under a reference, if anything. */
export const reference = visitEndpoint(
  {
    query: object({ reference: text(undefined, { minLength: 1, maxLength: referenceMax }) }),
    reply: object({
      booked: nullable(
        object({
          transfer_id: id(),
          account_id: id(),
          email: nullable(text()),
          kind: choice(['deposit', 'adjustment']),
          source: nullable(SourceName),
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

export const Booking = named(
  'Booking',
  object({
    transfer_id: id(),
    replayed: boolean('True if the same booking was already made with this reference.'),
    available_usd_micro: microUsd("The account's balance now."),
    reserved_usd_micro: microUsd('Reserved for its open requests.'),
    debt_usd_micro: microUsd('The debt that is left.'),
  }),
);

/** POST /accounts/:account_id/credit: the source is `paid` if it is left out. */
export const credit = visitAction(
  {
    params: ['account_id'],
    body: form({ ...NewCredit, source: optional(NewCredit.source) }),
    reply: Booking,
  },
  async ({ params, body, req }, deps) => {
    const { id: account_id } = await need(deps.db, params);
    const wanted = creditOf(account_id, body);
    return async (db) => done(await deposit(db, wanted, req.session));
  },
);

/** The deposit that a body asks for. */
export function creditOf<Body extends { amount_usd_micro: string; expires_at?: string | null }>(
  account_id: string,
  { amount_usd_micro, expires_at, ...body }: Body,
) {
  const end = expires_at ? new Date(expires_at) : null;
  return { account_id, ...body, amount: BigInt(amount_usd_micro), expires_at: end };
}

/** POST /accounts/:account_id/adjust: a negative amount takes money, such as for a chargeback. */
export const correct = visitAction(
  {
    params: ['account_id'],
    body: form(NewCorrection),
    reply: Booking,
  },
  async ({ params, body, req }, deps) => {
    const { id: account_id } = await need(deps.db, params);
    const wanted = { account_id, ...body, amount: BigInt(body.amount_usd_micro) };
    return async (db) => done(await adjust(db, wanted, req.session));
  },
);

export const RefundBooking = named(
  'RefundBooking',
  object({
    ...Booking.properties,
    request_id: id(),
    refunded_usd_micro: microUsd('All refunds of the request together.'),
  }),
);

/** POST /requests/:request_id/refund: gives back a part of its charge, or all that is left of it. */
export const refund = visitAction(
  {
    params: ['request_id'],
    body: form(NewRefund),
    reply: RefundBooking,
  },
  async ({ params, body, req }) => {
    return async (db) => done(await refundOf(params, body, req.session, db));
  },
);

/** Refunds the request that the path names. Throws `not_found`. */
export async function refundOf(
  params: { request_id: string },
  body: { amount_usd_micro?: string | null; reference: string; reason: string },
  by: Author,
  db: Database,
) {
  const { amount_usd_micro: part, ...wanted } = body;
  const request_id = idOf(params.request_id);
  const amount = part ? BigInt(part) : null;
  const booked = await refundCharge(db, { ...wanted, request_id, amount }, by);
  if (booked === null) throw new ApiError('not_found');
  return booked;
}

/** The operation itself writes the action to the operator's log. */
function done<Answer extends Booked>(answer: Answer) {
  return { answer, logged: true as const };
}
