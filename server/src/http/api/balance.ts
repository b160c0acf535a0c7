import * as keys from '../../db/accounts/keys.ts';
import * as s from '../schemas/schema.ts';
import { readUnspentBonuses } from '../../operations/accounts/bonus.ts';
import { keyedEndpoint } from '../endpoint.ts';
import { TopUp, topUp } from './top-up.ts';
import type { PaymentDeps } from '../deps.ts';

const Balance = s.namedObject('Balance', {
  currency: s.choice(
    ['USDT'],
    'The currency of the account. 1 USDT counts as 1 USD, which these fields write as `"1000000"` (micro-USD).',
  ),
  available_usd_micro: s.microUsd('Available to the account; all its keys share it.'),
  reserved_usd_micro: s.microUsd(
    'Reserved for its open requests; not part of the available amount.',
  ),
  key: s.object(
    {
      key_id: s.id('Id of the key of this call; not secret.'),
      name: s.text('The name of the key.'),
      limit_usd_micro: s.nullable(s.microUsd("The key's monthly limit; null: unlimited.")),
      spent_usd_micro: s.microUsd('Charged and reserved by the key this month.'),
      resets_at: s.time('When the month (UTC) ends and the spending counts from 0 again.'),
    },
    {
      description:
        "The key of this call. A submit must fit into both the balance and the key's limit.",
    },
  ),
  bonuses: s.list(
    s.object({
      left_usd_micro: s.microUsd('The unspent part, which the balance includes.'),
      expires_at: s.time('When the unspent part leaves the balance, except what is reserved.'),
    }),
    'Bonuses that expire, sorted by `expires_at`; they are spent before other money.',
  ),
  top_up: TopUp,
});

/** GET /balance: the account's money and the key's limit, either of which can refuse a submit. */
export const balance = keyedEndpoint({ reply: Balance }, async ({ req }, deps: PaymentDeps) => {
  const { key_id, account_id } = req.caller;
  const [funds, bonuses, top_up] = await Promise.all([
    keys.readFunds(deps.db, key_id),
    readUnspentBonuses(deps.db, account_id),
    topUp(deps, req),
  ]);
  const { available_usd_micro, reserved_usd_micro, ...key } = funds;
  return {
    currency: 'USDT' as const,
    available_usd_micro,
    reserved_usd_micro,
    key: { key_id, ...key },
    bonuses,
    top_up,
  };
});
