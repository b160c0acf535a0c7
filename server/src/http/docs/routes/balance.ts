import { exampleCard } from '../request-examples.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** GET /balance. */

export const balance: RouteDocs = {
  operationId: 'readBalance',
  tag: 'Balance',
  summary: 'Read the balance',
  description:
    "The amount that the account can spend, and the key's spending this month. A submit " +
    'whose price is above `available_usd_micro` is refused with 402 ' +
    '`insufficient_balance`; a submit that would bring `spent_usd_micro` above ' +
    '`limit_usd_micro` is refused with 402 `key_limit_reached`.',
  replies: {
    200: {
      description: 'The current balance.',
      examples: one({
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
        bonuses: [{ left_usd_micro: '2000000', expires_at: '2026-04-30T00:00:00.000Z' }],
        top_up: [
          {
            chain: 'bsc',
            title: 'BNB Chain (BEP20)',
            token: 'USDT',
            address: '0x9858EfFD232B4033E47d90003D41EC34EcaEda94',
            minimum_usd_micro: '1000000',
          },
        ],
      }),
    },
  },
  errors: [],
};
