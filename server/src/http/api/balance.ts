import * as keys from '../../db/accounts/keys.ts';
import { choice, id, microUsd, named, nullable, object, text, time } from '../schema.ts';
import { keyedEndpoint } from './endpoint.ts';

const Balance = named(
  'Balance',
  object({
    currency: choice(['USDT'], 'The currency of the account: 1 USDT counts as 1 USD, `"1000000"`.'),
    available_usd_micro: microUsd('Available to the account; all its keys share it.'),
    reserved_usd_micro: microUsd('Held by its open requests, in addition.'),
    key: object(
      {
        key_id: id('Names the key of this call; not secret.'),
        name: text('The name of the key.'),
        limit_usd_micro: nullable(microUsd("The key's limit of the month; null: unlimited.")),
        spent_usd_micro: microUsd('Charged and reserved by the key this month.'),
        resets_at: time('When the month (UTC) ends and a new limit begins.'),
      },
      { description: 'The key of this call. A submit needs room in both: balance and limit.' },
    ),
  }),
);

/** GET /balance: the account's money and the key's limit, either of which can refuse a submit. */
export const balance = keyedEndpoint({ reply: Balance }, async ({ req }, { db }) => {
  const { key_id } = req.caller;
  const { available_usd_micro, reserved_usd_micro, ...key } = await keys.funds(db, key_id);
  return {
    currency: 'USDT' as const,
    available_usd_micro,
    reserved_usd_micro,
    key: { key_id, ...key },
  };
});
