import { one, type RouteDocs } from '../route-docs.ts';

/** GET /usage. */

export const usage: RouteDocs = {
  operationId: 'sumUsage',
  tag: 'Requests',
  summary: 'Sum up usage',
  description:
    "The account's requests, charges and tokens by day, model, key and metadata, sorted by these " +
    'fields in this order. A request counts on the day (UTC) on which it ended. A period has at ' +
    'most 31 days. An account can make one such call at a time, and a process serves at most two at once. ' +
    'A call that would take more than 10 s gets 400: ask for fewer days.',
  replies: {
    200: {
      description: 'One page.',
      examples: one({
        data: [
          {
            day: '2026-03-01',
            model_id: 'sandbox/chat',
            key_id: null,
            metadata: { customer: '42' },
            requests: 22,
            completed: 21,
            failed: 1,
            charged_usd_micro: '1230000',
            input_tokens: 410_000,
            output_tokens: 96_000,
            cached_tokens: 120_000,
            reasoning_tokens: 31_000,
          },
        ],
        next_cursor: null,
      }),
    },
  },
  errors: ['bad_request'],
};
