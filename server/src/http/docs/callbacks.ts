import { requestIdParameter } from './requests.ts';
import { anything, json, ref, one, type RouteDocs } from './schema.ts';

/** POST /callbacks/{upstream}/{request_id}/{attempt}/{sig} */

export const callback: RouteDocs = {
  operationId: 'receiveCallback',
  tag: 'Companions',
  summary: 'Take a call back of an upstream',
  description:
    'For upstreams only: they are given this address, signed by us, with each job, and sign what ' +
    'they send in their own way. The call wakes the next look at the job and is not believed ' +
    'otherwise, so repeats and late calls do no harm.',
  parameters: [
    {
      name: 'upstream',
      in: 'path',
      required: true,
      description: 'Name of the upstream.',
      schema: { type: 'string' },
      example: 'fal',
    },
    requestIdParameter,
    {
      name: 'attempt',
      in: 'path',
      required: true,
      description: 'The start that it is about.',
      schema: { type: 'integer', minimum: 1 },
      example: 1,
    },
    {
      name: 'sig',
      in: 'path',
      required: true,
      description: 'Our signature of this address.',
      schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
      example: 'Zk3xH0m1Yb7QpVtq2n8sJcWf5aLrD9uEoT6gKiBvXyM',
    },
  ],
  body: {
    required: true,
    description: 'What the upstream says, in its own form.',
    content: json(anything('Any JSON.')),
  },
  replies: {
    200: { description: 'Taken.', content: json(ref('Health'), one({ status: 'ok' })) },
  },
  errors: ['bad_request', 'unauthorized', 'not_found', 'payload_too_large', 'capacity_unavailable'],
};
