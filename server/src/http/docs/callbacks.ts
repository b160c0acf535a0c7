import { one, type RouteDocs } from './route-docs.ts';

/** POST /callbacks/{upstream}/{request_id}/{attempt}/{sig} */

export const callback: RouteDocs = {
  operationId: 'receiveCallback',
  tag: 'Companions',
  summary: 'Take a call back of an upstream',
  description:
    'For upstreams only: they are given this address, signed by us, with each job, and sign what ' +
    'they send in their own way. The call wakes the next look at the job and is not believed ' +
    'otherwise, so repeats and late calls do no harm.',
  body: {
    description: 'What the upstream says, in its own form.',
    content: {
      'application/json': {
        schema: { type: 'object', description: 'Any JSON.', additionalProperties: true },
      },
    },
  },
  replies: {
    200: { description: 'Taken.', examples: one({ status: 'ok' }) },
  },
  errors: ['bad_request', 'unauthorized', 'not_found', 'payload_too_large', 'capacity_unavailable'],
};
