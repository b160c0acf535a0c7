import { one, type RouteDocs } from '../route-docs.ts';

/** POST /callbacks/{upstream}/{request_id}/{attempt}/{sig} */

export const callback: RouteDocs = {
  operationId: 'receiveCallback',
  tag: 'Companions',
  summary: "Receive an upstream's callback",
  description:
    'For upstreams only. Each job is started with its own signed callback URL, and the ' +
    'upstream signs its call in its own way. The call triggers the next poll of the job, and can ' +
    'supply the id of the job if the reply to its start was lost. Repeated and late calls are harmless.',
  body: {
    description: "The upstream's message, in its own format.",
    content: {
      'application/json': {
        schema: { type: 'object', description: 'Any JSON.', additionalProperties: true },
      },
    },
  },
  replies: {
    200: { description: 'Received.', examples: one({ status: 'ok' }) },
  },
  errors: ['bad_request', 'unauthorized', 'not_found', 'payload_too_large', 'capacity_unavailable'],
};
