import { payPlayMoney } from '../api/play-deposit.ts';
import * as s from '../schemas/schema.ts';
import { sessionEndpoint } from '../endpoint.ts';

/** POST /play-deposits: sends play money to the account's address; in the trial only. */
export const send = sessionEndpoint({ reply: s.object({}) }, async ({ req }, deps) => {
  await payPlayMoney(deps, req.account_id);
  return {};
});
