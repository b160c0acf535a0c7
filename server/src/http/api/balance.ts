import type { FastifyReply } from 'fastify';
import * as keys from '../../db/keys.ts';
import type { HttpDeps, Keyed } from '../deps.ts';

/** GET /balance: both things that a submit can fail on for want of money. */
export async function balance(req: Keyed, _reply: FastifyReply, deps: HttpDeps): Promise<unknown> {
  const { key_id } = req.caller;
  const funds = await keys.funds(deps.db, key_id);
  return {
    currency: 'USDT',
    available_usd_micro: String(funds.available_usd_micro),
    reserved_usd_micro: String(funds.reserved_usd_micro),
    key: {
      key_id,
      name: funds.name,
      limit_usd_micro: funds.limit_usd_micro?.toString() ?? null,
      spent_usd_micro: String(funds.spent_usd_micro),
      resets_at: funds.resets_at,
    },
  };
}
