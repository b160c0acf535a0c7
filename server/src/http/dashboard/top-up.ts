import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { parseVoucherCode } from '../../core/account/voucher.ts';
import * as accounts from '../../db/accounts.ts';
import { redeemVoucher } from '../../operations/voucher.ts';
import { inWords, text } from '../session/entry.ts';
import { throttle } from '../session/throttle.ts';
import { readForm, type Visit, type WebDeps } from '../session/visit.ts';

/** Ways to get money into an account. */

/** Codes that could be right: one that is mistyped is not even looked up. */
const triesOfAccount = { max: 20, seconds: 900 };
const triesOfAddress = { max: 40, seconds: 900 };

/** GET /top-up: how to pay, in the operator's words; null: they have said nothing. */
export async function read(
  visit: Visit,
  _reply: FastifyReply,
  { db, web }: WebDeps,
): Promise<unknown> {
  const { id: account_id, email } = (await accounts.find(db, visit.account_id))!;
  const said = web.topUpText?.trim() || null;
  const told = said
    ?.replaceAll('{account_id}', () => account_id)
    .replaceAll('{email}', () => email);
  return { text: told ?? null, account_id, email };
}

/** POST /vouchers {code}: books what the voucher is worth, once. */
export async function redeem(visit: Visit, _reply: FastifyReply, deps: WebDeps): Promise<unknown> {
  const code = parseVoucherCode(text(await readForm(visit, deps), 'code', 100));
  if (code === null) {
    throw new ApiError('bad_request', {
      message:
        'This is no voucher code, or there is a slip in it. It looks like FB-XXXX-XXXX-XXXX-XXXX-XXXX.',
      param: 'code',
    });
  }
  const { account_id } = visit;
  await throttle(deps, 'voucher of account', account_id, triesOfAccount);
  await throttle(deps, 'voucher from address', visit.ip, triesOfAddress);
  const redeemed = await inWords(redeemVoucher(deps.db, { account_id, code }));
  return {
    transfer_id: redeemed.transfer_id,
    replayed: redeemed.replayed,
    amount_usd_micro: String(redeemed.amount_usd_micro),
    available_usd_micro: String(redeemed.available_usd_micro),
    reserved_usd_micro: String(redeemed.reserved_usd_micro),
  };
}
