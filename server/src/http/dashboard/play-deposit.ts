import { ApiError } from '../../core/errors.ts';
import { openAddresses } from '../../operations/deposits/deposit-address.ts';
import { object } from '../schema.ts';
import { endpoint } from '../session/endpoint.ts';

/** 25 tokens of the play chain, which have six decimals. */
const units = 25_000_000n;

/** POST /play-deposits: sends play money to the account's address; in the trial only. */
export const send = endpoint({ reply: object({}) }, async ({ visit }, { db, chains }) => {
  const { play, live } = chains;
  // guard: play-money-in-the-trial
  if (play === null) throw new ApiError('not_found');
  const [open] = await openAddresses(db, visit.account_id, live);
  const token = live[0]?.chain.tokens[0]?.address;
  if (!open || token === undefined) throw new ApiError('capacity_unavailable');
  play.pay({ token, to: open.address.toLowerCase(), units });
  return {};
});
