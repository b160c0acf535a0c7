import { ApiError } from '../../core/errors.ts';
import { listAddresses } from '../../operations/deposits/deposit-address.ts';
import type { HttpDeps } from '../deps.ts';
import { key, row, type Row } from '../row.ts';

/** Play money of the trial: its play chain never runs beside real chains. */

/** 25 tokens of the play chain, which have six decimals. */
const units = 25_000_000n;

/** Sends play money to the account's address. Returns the transaction. */
export async function payPlayMoney(
  { db, chains }: Pick<HttpDeps, 'db' | 'chains'>,
  accountId: string,
): Promise<{ chain: string; tx_hash: string }> {
  const { play, live } = chains;
  // guard: play-money-in-the-trial
  if (play === null) throw new ApiError('not_found');
  const [open] = await listAddresses(db, accountId, live);
  const token = live[0]?.chain.tokens[0]?.address;
  if (!open || token === undefined) throw new ApiError('capacity_unavailable');
  const tx_hash = play.pay({ token, to: open.address.toLowerCase(), units });
  return { chain: open.chain.name, tx_hash };
}

/** A call for scripts that try out deposits: not part of the API, and only in the trial. */
export const trialCall: Row = {
  ...row(key('spend'), 'POST', '/play-deposits', (req, _reply, deps) =>
    payPlayMoney(deps, req.caller.account_id),
  ),
  prefixed: true,
};
