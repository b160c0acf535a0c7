import {
  exampleCard,
  exampleId,
  exampleLine,
  exampleOutput,
  failedStatus,
  runningStatus,
} from '../request-examples.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** The calls that read or cancel a request. */

export const listRequests: RouteDocs = {
  operationId: 'listRequests',
  tag: 'Requests',
  summary: 'List requests',
  description:
    "The account's requests, chat calls included, newest first. A search that matches little may " +
    'give a page with few entries and a `next_cursor`: go on until `next_cursor` is null.',
  query: { status: 'Only requests in this state.' },
  replies: {
    200: {
      description: 'One page.',
      examples: one({ data: [exampleLine], next_cursor: null }),
    },
  },
  errors: ['bad_request'],
};

export const readRequest: RouteDocs = {
  operationId: 'readRequest',
  tag: 'Requests',
  summary: 'Read a request card',
  description: 'Everything about one request: state, quote, charge, outputs, notification.',
  replies: {
    200: { description: 'The card.', examples: one(exampleCard) },
  },
  errors: ['bad_request', 'not_found'],
};

export const status: RouteDocs = {
  operationId: 'readStatus',
  tag: 'Requests',
  summary: 'Read the status',
  description:
    'Always 200 for a request of yours, whatever its state. Poll every 2 to 5 seconds until it ' +
    'is final, or let the call wait: `wait=60&until=final`.',
  replies: {
    200: {
      description: 'The status. `Retry-After` while it is not final.',
      headers: ['RetryAfter?'],
      examples: { running: { value: runningStatus }, failed: { value: failedStatus } },
    },
  },
  errors: ['bad_request', 'not_found'],
};

export const statusStream: RouteDocs = {
  operationId: 'streamStatus',
  tag: 'Requests',
  summary: 'Follow the status',
  description: [
    'Server-sent events: `event: status` with the same object as the status call, at once ' +
      'and after every change. The stream ends when the request is final. A change of ' +
      '`queue_position` is sent within two seconds. A line `: keep-alive` is sent every 15 ' +
      'seconds.',
    '`event: end` announces that this server is about to stop: reconnect.',
    '```\nevent: status\ndata: ' +
      '{"request_id":"…","status":"IN_QUEUE","queue_position":3,…}\n\nevent: status\ndata: ' +
      '{"request_id":"…","status":"COMPLETED",…}\n```',
  ].join('\n\n'),
  replies: {
    200: {
      description: 'The stream. The schema describes the `data` of each event.',
      headers: ['CacheControl', 'AccelBuffering'],
      events: { status: { value: runningStatus } },
    },
  },
  errors: ['bad_request', 'not_found'],
};

export const response: RouteDocs = {
  operationId: 'readResponse',
  tag: 'Requests',
  summary: 'Read the output',
  description:
    "The model's output once the request is `COMPLETED`; each media field holds a signed " +
    'link. The completion of a chat call is kept here only if the call had an ' +
    '`Idempotency-Key`; otherwise the object has only `usage`.',
  replies: {
    200: {
      description: 'The output.',
      examples: one(exampleOutput),
    },
  },
  errors: ['bad_request', 'not_found', 'request_not_ready', 'expired'],
};

export const cancel: RouteDocs = {
  operationId: 'cancel',
  tag: 'Requests',
  summary: 'Cancel a request',
  description:
    'Removes a request from the queue and releases its reservation. Possible only while it ' +
    'is `IN_QUEUE`: a model that has started cannot be stopped. The call has no body.',
  replies: {
    200: {
      description: 'Cancelled; nothing is charged.',
      examples: one({ request_id: exampleId, status: 'CANCELLED' }),
    },
  },
  errors: ['bad_request', 'not_found', 'not_cancellable', 'unsupported_media_type'],
};

export const cancelPut: RouteDocs = {
  ...cancel,
  operationId: 'cancelPut',
  summary: 'Cancel a request (PUT)',
  description: 'Does the same as the POST.',
};
