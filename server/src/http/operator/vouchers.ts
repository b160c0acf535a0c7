import * as vouchers from '../../db/accounts/vouchers.ts';
import { createVouchers, voidVoucher } from '../../operations/accounts/voucher.ts';
import { requireId } from '../ids.ts';
import { pageFrom } from '../page.ts';
import { endToCome } from '../schemas/validate.ts';
import { NewVouchers } from '../schemas/operator.ts';
import * as s from '../schemas/schema.ts';
import { operatorAction, operatorEndpoint } from '../endpoint.ts';

/** Vouchers: codes that are worth money. */

const Voucher = s.namedObject('Voucher', {
  voucher_id: s.id(),
  last4: s.text(),
  amount_usd_micro: s.microUsd(),
  note: s.nullable(s.text()),
  status: s.choice(['open', 'redeemed', 'void', 'expired']),
  created_by: s.nullable(s.text("The operator's e-mail address.")),
  created_at: s.time(),
  expires_at: s.nullable(s.time()),
  redeemed_at: s.nullable(s.time()),
  redeemed_by: s.nullable(s.id()),
  redeemed_by_name: s.nullable(s.text()),
});

/** GET /operator/vouchers */
export const list = operatorEndpoint(
  { query: s.form(s.pageQuery(50)), reply: s.pageOf(Voucher) },
  async ({ query }, { db }) => {
    const rows = await vouchers.list(db, { limit: query.limit + 1, before: query.cursor });
    return pageFrom(rows, query, ({ id: voucher_id, ...row }) => ({ voucher_id, ...row }));
  },
);

/** POST /operator/vouchers: the codes are shown only here. */
export const create = operatorAction(
  'voucher.create',
  {
    body: s.form(NewVouchers),
    reply: s.object({ data: s.list(s.object({ id: s.id(), code: s.text('Shown only here.') })) }),
  },
  async ({ body, by, reply }) => {
    const wanted = {
      amount: BigInt(body.amount_usd_micro),
      count: body.count,
      note: body.note ?? null,
      expires_at: endToCome(body.expires_at),
    };
    reply.code(201);
    return async (db) => {
      const { answer: data, ...done } = await createVouchers(db, by, wanted);
      return { ...done, answer: { data } };
    };
  },
);

/** POST /operator/vouchers/{voucher_id}/void */
export const cancel = operatorAction(
  'voucher.void',
  { params: ['voucher_id'], reply: s.object({ status: s.choice(['void']) }) },
  async ({ params }) => {
    const voucher_id = requireId(params.voucher_id);
    return (db) => voidVoucher(db, voucher_id);
  },
);
