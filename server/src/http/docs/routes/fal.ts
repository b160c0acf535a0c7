import { callerNumber, idempotencyKey, metadata } from './queue.ts';
import { exampleOutput } from '../request-examples.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** POST /fal/run/{model_id} */

export const falRun: RouteDocs = {
  operationId: 'falRun',
  tag: 'Queue',
  summary: "Run a model through fal's address",
  description: [
    'Submits a request like [POST /queue/{model_id}](#submit) and replies with its output, as ' +
      "fal's `run` does. If the request still runs after 120 seconds, the reply is 400 " +
      '`request_not_ready` with its addresses in `details`; the request goes on and is charged ' +
      'when it completes. Without a free slot for waiting calls, nothing is submitted.',
    "Error replies have fal's statuses and, beside `error`, fal's fields `message` and `detail`.",
  ].join('\n\n'),
  headers: [idempotencyKey, metadata, callerNumber],
  body: {
    description: 'The model input; at most 1 MiB of JSON.',
    examples: one({ prompt: 'A lighthouse at dusk', resolution: '2k' }),
  },
  replies: {
    200: {
      description: 'The output of the request.',
      headers: ['FalRequestId', 'Charge', 'Replayed?', 'Ignored?'],
      examples: one(exampleOutput),
    },
  },
  errors: [
    'insufficient_balance',
    'key_limit_reached',
    'idempotency_conflict',
    'expired',
    'payload_too_large',
    'unsupported_media_type',
    'capacity_unavailable',
  ],
  errorsAt: {
    400: {
      codes: ['bad_request', 'bad_webhook_url', 'use_chat_completions', 'request_not_ready'],
      description: 'The call is refused, or its request still runs.',
      headers: ['FalRequestId?'],
    },
    404: {
      codes: ['not_found', 'unknown_model'],
      description: 'The model does not exist.',
      headers: [],
    },
    422: {
      codes: ['invalid_input', 'unpriceable', 'request_not_ready'],
      description: 'The input does not fit the schema, it has no price, or the model refuses it.',
      headers: ['FalRequestId?'],
    },
    499: {
      codes: ['request_not_ready'],
      description: 'The request was cancelled. Nothing was charged.',
      headers: ['FalRequestId'],
    },
    500: {
      codes: ['internal_error', 'request_not_ready'],
      description: 'The request failed, and `error.details.error` says why; or the service failed.',
      headers: ['FalRequestId?'],
    },
  },
};
