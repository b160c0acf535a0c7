import { exampleCard } from './request-examples.ts';
import {
  json,
  microUsd,
  nullable,
  object,
  one,
  ref,
  text,
  time,
  type RouteDocs,
  type Schema,
} from './schema.ts';

/** GET /balance. */

export const schemas: Record<string, Schema> = {
  Balance: object({
    currency: {
      type: 'string',
      enum: ['USDT'],
      description: 'What the account is paid in: 1 USDT counts as 1 USD, `"1000000"`.',
    },
    available_usd_micro: microUsd('What the account can spend; all its keys share it.'),
    reserved_usd_micro: microUsd('What its open requests hold, beside that.'),
    key: object(
      {
        key_id: text('Names the key of this call; not secret.', { format: 'uuid' }),
        name: text('As it was given.'),
        limit_usd_micro: nullable(microUsd("The key's limit of the month; null: it has none.")),
        spent_usd_micro: microUsd('Charged and reserved by the key this month.'),
        resets_at: time('When the month (UTC) ends, and with it what was spent in it.'),
      },
      [],
      { description: 'The key that asks. A submit needs room in both: balance and limit.' },
    ),
  }),
};

export const balance: RouteDocs = {
  operationId: 'readBalance',
  tag: 'Balance',
  summary: 'Read the balance',
  description:
    "What the account can spend, and how the key's month stands. A submit whose price is above " +
    '`available_usd_micro` is refused with 402 `insufficient_balance`; one that would bring ' +
    '`spent_usd_micro` above `limit_usd_micro`, with 402 `key_limit_reached`.',
  replies: {
    200: {
      description: 'As of this moment.',
      content: json(
        ref('Balance'),
        one({
          currency: 'USDT',
          available_usd_micro: '9880000',
          reserved_usd_micro: '120000',
          key: {
            key_id: exampleCard.key_id,
            name: 'Production',
            limit_usd_micro: '5000000',
            spent_usd_micro: '1230000',
            resets_at: '2026-04-01T00:00:00.000Z',
          },
        }),
      ),
    },
  },
  errors: [],
};
