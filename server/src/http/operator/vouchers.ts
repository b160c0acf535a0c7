import * as vouchers from '../../db/accounts/vouchers.ts';
import { createVouchers, voidVoucher } from '../../operations/accounts/voucher.ts';
import { timeToCome, idOf, pageFrom } from '../form.ts';
import { NewVouchers } from '../schemas/operator.ts';
import {
  choice,
  form,
  id,
  list as listOf,
  microUsd,
  named,
  nullable,
  object,
  pageOf,
  pageQuery,
  text,
  time,
} from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';

/** Vouchers: codes that are worth money. */

const Voucher = named(
  'Voucher',
  object({
    voucher_id: id(),
    last4: text(),
    amount_usd_micro: microUsd(),
    note: nullable(text()),
    status: choice(['open', 'redeemed', 'void', 'expired']),
    created_by: nullable(text("The operator's e-mail address.")),
    created_at: time(),
    expires_at: nullable(time()),
    redeemed_at: nullable(time()),
    redeemed_by: nullable(id()),
    redeemed_by_name: nullable(text()),
  }),
);

/** GET /operator/vouchers */
export const list = operatorEndpoint(
  { query: form(pageQuery(50)), reply: pageOf(Voucher) },
  async ({ query }, { db }) => {
    const rows = await vouchers.list(db, { limit: query.limit + 1, before: query.cursor });
    return pageFrom(rows, query, ({ id: voucher_id, ...row }) => ({ voucher_id, ...row }));
  },
);

/** POST /operator/vouchers: the codes are shown only here. */
export const create = operatorAction(
  'voucher.create',
  {
    body: form(NewVouchers),
    reply: object({ data: listOf(object({ id: id(), code: text('Shown only here.') })) }),
  },
  async ({ body, by, reply }) => {
    const wanted = {
      amount: BigInt(body.amount_usd_micro),
      count: body.count,
      note: body.note ?? null,
      expires_at: timeToCome(body.expires_at, 'expires_at'),
    };
    reply.code(201);
    return async (db) => ({
      answer: { data: await createVouchers(db, wanted, by) },
      logged: true,
    });
  },
);

/** POST /operator/vouchers/{voucher_id}/void */
export const cancel = operatorAction(
  'voucher.void',
  { params: ['voucher_id'], reply: object({ status: choice(['void']) }) },
  async ({ params, by }) => {
    const voucher_id = idOf(params.voucher_id);
    return async (db) => {
      await voidVoucher(db, voucher_id, by);
      return { answer: { status: 'void' as const }, logged: true };
    };
  },
);
