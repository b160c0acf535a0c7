import { payPlayMoney } from '../api/play-deposit.ts';
import { object } from '../schemas/schema.ts';
import { endpoint } from '../session/endpoint.ts';

/** POST /play-deposits: sends play money to the account's address; in the trial only. */
export const send = endpoint({ reply: object({}) }, async ({ visit }, deps) => {
  await payPlayMoney(deps, visit.account_id);
  return {};
});
