import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { plainReference, referenceMax } from '../../core/account/booking.ts';
import { lineOf } from '../../core/account/name.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import { findReference } from '../../ledger/bookings.ts';
import type { BookingResult } from '../../operations/accounts/booking.ts';
import * as bookings from '../../operations/accounts/book-by-hand.ts';
import { refund as refundCharge } from '../../operations/accounts/refund.ts';
import type { ActionResult, Author } from '../../operations/operator-action.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { requireId } from '../ids.ts';
import { NewAdjustment, NewCredit, NewRefund } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { SourceName } from '../schemas/account.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';
import { requireAccountIn } from './account.ts';
import type { CallDeps } from '../deps.ts';

/** Booking money by hand. A reference is booked once, however often it is sent. */

/** GET /operator/references: what was booked under a reference, if anything. */
export const reference = operatorEndpoint(
  {
    query: s.form({
      reference: s.text('The name of the payment.', { minLength: 1, maxLength: referenceMax }),
    }),
    reply: s.object({
      booked: s.nullable(
        s.object({
          transfer_id: s.id(),
          account_id: s.id(),
          email: s.nullable(s.text()),
          kind: s.choice(['deposit', 'adjustment']),
          source: s.nullable(SourceName),
          amount_usd_micro: s.signedMicroUsd(),
          reason: s.nullable(s.text()),
          created_at: s.time(),
        }),
      ),
    }),
  },
  async ({ query }, { db }) => {
    const plain = lineOf(plainReference(query.reference), referenceMax);
    const found = await findReference(db, plain ?? query.reference, query.reference);
    if (!found) return { booked: null };
    const { id: transfer_id, amount: amount_usd_micro, ...row } = found;
    const account = await accounts.find(db, row.account_id);
    return {
      booked: { transfer_id, email: account?.email ?? null, amount_usd_micro, ...row },
    };
  },
);

const Booking = s.namedObject('Booking', {
  transfer_id: s.id(),
  replayed: s.boolean('True if the same booking was already made with this reference.'),
  available_usd_micro: s.microUsd("The account's balance now."),
  reserved_usd_micro: s.microUsd('Reserved for its open requests.'),
  debt_usd_micro: s.microUsd('The debt that is left.'),
});

/** POST /operator/accounts/{account_id}/credits */
export const credit = operatorAction(
  'account.credit',
  { params: ['account_id'], body: s.form(NewCredit), reply: Booking },
  async ({ params, body, by, reply }, deps: CallDeps) => {
    const { id: account_id } = await requireAccountIn(params, deps.db);
    const wanted = creditOf(account_id, body);
    return async (db) => logged(reply, await bookings.deposit(db, by, wanted));
  },
);

/** The deposit that a body asks for. */
function creditOf<Body extends { amount_usd_micro: string; expires_at?: string | null }>(
  account_id: string,
  { amount_usd_micro, expires_at, ...body }: Body,
) {
  const end = expires_at ? new Date(expires_at) : null;
  return { account_id, ...body, amount: BigInt(amount_usd_micro), expires_at: end };
}

/** POST /operator/accounts/{account_id}/adjustments */
export const adjust = operatorAction(
  'account.adjust',
  {
    params: ['account_id'],
    body: s.form(NewAdjustment),
    reply: Booking,
  },
  async ({ params, body, by, reply }, deps: CallDeps) => {
    const { id: account_id } = await requireAccountIn(params, deps.db);
    const wanted = { account_id, ...body, amount: BigInt(body.amount_usd_micro) };
    return async (db) => logged(reply, await bookings.adjust(db, by, wanted));
  },
);

const RefundBooking = s.namedObject('RefundBooking', {
  ...Booking.properties,
  request_id: s.id(),
  refunded_usd_micro: s.microUsd('All refunds of the request together.'),
});

/** POST /operator/requests/{request_id}/refunds: gives back a part of the charge, or the rest. */
export const refund = operatorAction(
  'request.refund',
  { params: ['request_id'], body: s.form(NewRefund), reply: RefundBooking },
  async ({ params, body, by, reply }) => {
    return async (db) => logged(reply, await refundOf(params, body, by, db));
  },
);

/** Refunds the request that the path names. Throws `not_found`. */
async function refundOf(
  params: { request_id: string },
  body: { amount_usd_micro?: string | null; reference: string; reason: string },
  by: Author,
  db: Database,
) {
  const { amount_usd_micro: part, ...wanted } = body;
  const request_id = requireId(params.request_id);
  const amount = part ? BigInt(part) : null;
  const booked = await refundCharge(db, by, { ...wanted, request_id, amount });
  if (booked === null) throw new ApiError('not_found');
  return booked;
}

/** The operation itself writes the action to the operator's log. */
function logged<Answer extends BookingResult>(
  reply: FastifyReply,
  answer: Answer,
): ActionResult<Answer> {
  reply.code(answer.replayed ? 200 : 201);
  return { answer, unlogged: true };
}
