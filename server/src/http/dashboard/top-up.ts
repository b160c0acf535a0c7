import { ApiError } from '../../core/errors.ts';
import { parseVoucherCode } from '../../core/account/voucher.ts';
import * as accounts from '../../db/accounts/accounts.ts';
import { networkOf } from '../../lib/caller-address.ts';
import { redeemVoucher } from '../../operations/accounts/voucher.ts';
import * as s from '../schemas/schema.ts';
import { sessionEndpoint } from '../endpoint.ts';
import { throttle } from '../session/throttle.ts';
import { Funds } from '../schemas/account.ts';

/** Ways to get money into an account. */

/** Limits of tries with well-formed codes; a mistyped code is not even looked up. */
const triesOfAccount = { max: 20, seconds: 900 };
const triesOfAddress = { max: 40, seconds: 900 };

/** GET /top-up */
export const read = sessionEndpoint(
  {
    reply: s.object({
      text: s.nullable(s.text("How to pay, in the operator's words.")),
      takes_usdt: s.boolean('Whether a chain is set up.'),
      account_id: s.id(),
      email: s.text(),
    }),
  },
  async ({ req }, { db, web, chains }) => {
    const { id: account_id, email } = (await accounts.find(db, req.account_id))!;
    const said = web.topUpText?.trim() || null;
    const told = said
      ?.replaceAll('{account_id}', () => account_id)
      .replaceAll('{email}', () => email);
    return { text: told ?? null, takes_usdt: chains.live.length > 0, account_id, email };
  },
);

/** POST /vouchers: books the voucher's amount, once. */
export const redeem = sessionEndpoint(
  {
    body: s.form({ code: s.text(undefined, { minLength: 1, maxLength: 100 }) }),
    reply: s.object({
      transfer_id: s.id(),
      replayed: s.boolean(),
      amount_usd_micro: s.microUsd(),
      ...Funds.properties,
    }),
  },
  async ({ req, body }, deps) => {
    const code = parseVoucherCode(body.code);
    if (code === null) {
      throw new ApiError('bad_request', {
        message: 'This voucher code is mistyped. A code looks like FB-XXXX-XXXX-XXXX-XXXX-XXXX.',
        param: 'code',
        reason: 'voucher_misspelt',
      });
    }
    const { account_id } = req;
    await throttle(deps, 'voucher of account', account_id, triesOfAccount);
    await throttle(deps, 'voucher from address', networkOf(req.address), triesOfAddress);
    return redeemVoucher(deps.db, { account_id, code });
  },
);
