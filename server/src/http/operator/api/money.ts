import type { FastifyReply } from 'fastify';
import { ApiError } from '../../../core/errors.ts';
import type { Booked } from '../../../operations/accounts/booking.ts';
import { adjust, deposit } from '../../../operations/accounts/deposit.ts';
import type { ActionResult } from '../../../operations/operator-action.ts';
import { Refused } from '../../../operations/refused.ts';
import { form } from '../../schemas/schema.ts';
import { need } from '../account.ts';
import { NewCorrection, NewCredit, NewRefund } from '../../schemas/operator.ts';
import { Booking, creditOf, RefundBooking, refundOf } from '../money.ts';
import { operatorAction } from '../../endpoint.ts';

/** Booking money below /v1/operator: a reference is booked once, however often it is sent. */

/** POST /operator/accounts/{account_id}/credits */
export const credit = operatorAction(
  { params: ['account_id'], body: form(NewCredit), reply: Booking },
  async ({ params, body, by, reply }, deps) => {
    const { id: account_id } = await need(deps.db, params);
    const wanted = creditOf(account_id, body);
    return (db) => book(reply, () => deposit(db, wanted, by));
  },
);

/** POST /operator/accounts/{account_id}/adjustments */
export const correct = operatorAction(
  {
    params: ['account_id'],
    body: form(NewCorrection),
    reply: Booking,
  },
  async ({ params, body, by, reply }, deps) => {
    const { id: account_id } = await need(deps.db, params);
    const wanted = { account_id, ...body, amount: BigInt(body.amount_usd_micro) };
    return (db) => book(reply, () => adjust(db, wanted, by));
  },
);

/** POST /operator/requests/{request_id}/refunds: gives back a part of the charge, or the rest. */
export const refund = operatorAction(
  { params: ['request_id'], body: form(NewRefund), reply: RefundBooking },
  async ({ params, body, by, reply }) => {
    return (db) => book(reply, () => refundOf(params, body, by, db));
  },
);

/** A reference of another booking is a conflict, as an `Idempotency-Key` of another call is. */
async function book<Answer extends Booked>(
  reply: FastifyReply,
  work: () => Promise<Answer>,
): Promise<ActionResult<Answer>> {
  try {
    const answer = await work();
    reply.code(answer.replayed ? 200 : 201);
    // The operation itself writes the action to the operator's log.
    return { answer, logged: true };
  } catch (error) {
    if (!(error instanceof Refused) || error.why.reason !== 'reference_used') throw error;
    const { message, why: details } = error;
    throw new ApiError('idempotency_conflict', { message, details, cause: error });
  }
}
