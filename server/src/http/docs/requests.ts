import { failures } from '../../core/errors.ts';
import { statuses } from '../../core/request.ts';
import {
  anything, integer, json, list, microUsd, nullable, number, object, one, openObject, ref, text,
  time, url, type Parameter, type RouteDocs, type Schema,
} from './schema.ts';

/** What can be asked about a request, and the cancel. */

export const exampleId = '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10';
const base = `http://localhost:8080/v1/requests/${exampleId}`;
export const exampleUrls = {
  status_url: `${base}/status`,
  response_url: `${base}/response`,
  cancel_url: `${base}/cancel`,
};
const outputUrl = `${base}/output/0?exp=1772452803&sig=Zk3xH0m1Yb7QpVtq2n8sJcWf5aLrD9uEoT6gKiBvXyM`;
const times = {
  created_at: '2026-03-01T12:00:00.000Z',
  started_at: '2026-03-01T12:00:01.250Z',
  completed_at: '2026-03-01T12:00:03.900Z',
};
const keyId = '0199b3a0-11aa-7c3e-8b52-2f4d6e8a9c01';

export const exampleCard = {
  request_id: exampleId,
  model_id: 'sandbox/canvas/text-to-image',
  kind: 'image',
  status: 'COMPLETED',
  quoted_usd_micro: '60000',
  charged_usd_micro: '60000',
  price: { unit: 'image', unit_price_usd_micro: '60000', quantity: 1 },
  output_urls: [outputUrl],
  error: null,
  input: { prompt: 'A lighthouse at dusk', resolution: '2k' },
  ...times,
  expires_at: '2026-03-02T12:00:03.000Z',
  webhook: { url: 'https://example.com/hooks/farebox', state: 'pending', last_status: null },
  ...exampleUrls,
  key_id: keyId,
};

const runningStatus = {
  request_id: exampleId,
  model_id: 'sandbox/canvas/text-to-image',
  status: 'IN_PROGRESS',
  progress: 0.4,
  logs: ['step 8 of 20'],
  created_at: times.created_at,
  started_at: times.started_at,
  ...exampleUrls,
  metrics: { queue_ms: 1250 },
};

const failedStatus = {
  request_id: exampleId,
  model_id: 'sandbox/canvas/text-to-image',
  status: 'FAILED',
  ...times,
  ...exampleUrls,
  error: { code: 'upstream_rejected', message: 'The model refused the input.' },
  metrics: { queue_ms: 1250, run_ms: 2650 },
};

const { price: _price, output_urls: _urls, input: _input, error: _error, ...shortCard } = exampleCard;
const { webhook: _webhook, expires_at: _expires, ...exampleLine } = { ...shortCard, error_code: null };

const requestId = { type: 'string', format: 'uuid', description: 'Names the request; a UUIDv7.' };
const addresses = {
  status_url: url('Where to poll.'),
  response_url: url('Where the output is, once `COMPLETED`.'),
  cancel_url: url('Cancels while `IN_QUEUE`.'),
};
const money = {
  quoted_usd_micro: microUsd('Reserved at submit.'),
  charged_usd_micro: nullable(
    microUsd('Charged, never more than quoted; 0 unless `COMPLETED`. Null until it is final.'),
  ),
};
const moments = {
  created_at: time('When it was submitted.'),
  started_at: nullable(time('When an upstream was first called.')),
  completed_at: nullable(time('When it became final.')),
};

const statusFields: Record<string, Schema> = {
  request_id: requestId,
  model_id: text('The model it runs on.'),
  status: ref('Status'),
  queue_position: integer('Requests ahead, 0 for the next; counted up to 1000. Only while IN_QUEUE.', { minimum: 0 }),
  progress: number('0 to 1, where the model tells.', { minimum: 0, maximum: 1 }),
  logs: list({ type: 'string' }, 'Newest lines of the model, where it tells.'),
  created_at: time('When it was submitted.'),
  started_at: time('When an upstream was first called.'),
  completed_at: time('When it became final.'),
  ...addresses,
  error: ref('Failure'),
  metrics: object(
    {
      queue_ms: integer('Waited, milliseconds.'),
      run_ms: integer('Ran, milliseconds.'),
    },
    ['queue_ms', 'run_ms'],
  ),
};

const cardFields: Record<string, Schema> = {
  request_id: requestId,
  model_id: text('The model it runs on.'),
  kind: ref('Kind'),
  status: ref('Status'),
  ...money,
  price: object({
    unit: ref('Unit'),
    unit_price_usd_micro: microUsd('What one unit costs.'),
    quantity: number('Units quoted; once `COMPLETED`, units delivered.'),
  }),
  output_urls: list(url('A signed link.'), 'The outputs, once `COMPLETED`.'),
  error: nullable(
    object({ code: ref('FailureCode'), message: text('For people.') }, [], {
      description: 'Why it `FAILED`; else null.',
    }),
  ),
  input: anything('What was submitted. Of a chat call its figures only, never what was said.'),
  ...moments,
  expires_at: nullable(time('When the outputs are deleted; null where there are none.')),
  webhook: nullable(
    object(
      {
        url: text('Where the notification goes.'),
        state: { type: 'string', enum: ['pending', 'delivered', 'failed'] },
        last_status: nullable(integer('HTTP status the receiver answered with.')),
      },
      [],
      { description: 'Null where none was asked for.' },
    ),
  ),
  ...addresses,
  key_id: text('The key that submitted.', { format: 'uuid' }),
};

const { input: _cardInput, ...notificationFields } = cardFields;

export const schemas: Record<string, Schema> = {
  Status: {
    type: 'string',
    enum: [...statuses],
    description: '`COMPLETED`, `FAILED` and `CANCELLED` are final.',
  },
  RequestStatus: object(statusFields, [
    'queue_position', 'progress', 'logs', 'started_at', 'completed_at', 'error', 'metrics',
  ]),
  StreamEnd: object(
    { reason: { type: 'string', enum: ['draining'] }, message: text('For people.') },
    [],
    { description: 'The server is about to stop; connect again.' },
  ),
  RequestCard: object(cardFields),
  Notification: object(notificationFields, [], {
    description: 'What a webhook gets: the request card without `input`.',
  }),
  RequestLine: object({
    request_id: requestId,
    model_id: text('The model it runs on.'),
    kind: ref('Kind'),
    status: ref('Status'),
    ...money,
    error_code: nullable({
      type: 'string',
      enum: Object.keys(failures),
      description: 'Why it `FAILED`; else null.',
    }),
    ...moments,
    ...addresses,
    key_id: text('The key that submitted.', { format: 'uuid' }),
  }),
  RequestList: object({
    data: list(ref('RequestLine'), 'Newest first.'),
    next_cursor: nullable(text('For the next page; null at the end.')),
  }),
  Cancelled: object({ request_id: requestId, status: { type: 'string', enum: ['CANCELLED'] } }),
  MediaFile: openObject(
    {
      url: url('A signed link; good for 24 hours after completion, without a key.'),
      content_type: text('Found in the bytes.'),
      width: integer('Pixels.'),
      height: integer('Pixels.'),
      duration: number('Seconds.'),
      file_size: integer('Bytes.'),
      file_name: text('A name to save it under.'),
    },
    ['width', 'height', 'duration'],
  ),
  ModelOutput: openObject(
    {
      images: list(ref('MediaFile'), 'Pictures.'),
      image: ref('MediaFile'),
      video: ref('MediaFile'),
      audio: ref('MediaFile'),
      text: text('What the model wrote.'),
      seed: integer('What to give for the same output again.'),
    },
    ['images', 'image', 'video', 'audio', 'text', 'seed'],
    { description: 'The model\'s output. Which fields there are depends on the model.' },
  ),
};

export const requestIdParameter: Parameter = {
  name: 'request_id',
  in: 'path',
  required: true,
  description: 'As the submit returned it.',
  schema: { type: 'string', format: 'uuid' },
  example: exampleId,
};

function query(name: string, description: string, schema: Schema): Parameter {
  return { name, in: 'query', description, schema };
}

export const listRequests: RouteDocs = {
  operationId: 'listRequests',
  tag: 'Requests',
  summary: 'List requests',
  description: "The account's requests, chat calls included, newest first.",
  parameters: [
    query('status', 'Only those in this state.', ref('Status')),
    query('model_id', 'Only those of this model.', { type: 'string', maxLength: 300 }),
    query('from', 'Submitted then or later: an ISO 8601 date or time.', { type: 'string' }),
    query('to', 'Submitted before then: an ISO 8601 date or time.', { type: 'string' }),
    query('limit', 'How many.', { type: 'integer', minimum: 1, maximum: 100, default: 20 }),
    query('cursor', 'The `next_cursor` of the page before.', { type: 'string' }),
  ],
  replies: {
    200: {
      description: 'One page.',
      content: json(ref('RequestList'), one({ data: [exampleLine], next_cursor: null })),
    },
  },
  errors: ['bad_request'],
};

export const readRequest: RouteDocs = {
  operationId: 'readRequest',
  tag: 'Requests',
  summary: 'Read a request card',
  description: 'Everything about one request: state, quote, charge, outputs, notification.',
  parameters: [requestIdParameter],
  replies: {
    200: { description: 'The card.', content: json(ref('RequestCard'), one(exampleCard)) },
  },
  errors: ['bad_request', 'not_found'],
};

export const status: RouteDocs = {
  operationId: 'readStatus',
  tag: 'Requests',
  summary: 'Read the status',
  description:
    'Always 200 for a request of yours, whatever its state. Poll every 2 to 5 seconds until it is final, or let the call wait with `wait`.',
  parameters: [
    requestIdParameter,
    query('wait', 'Holds the call until the state changes, for at most so many seconds.', {
      type: 'number',
      minimum: 0,
      maximum: 60,
    }),
  ],
  replies: {
    200: {
      description: 'The status. `Retry-After` while it is not final.',
      headers: ['RetryAfter?'],
      content: json(ref('RequestStatus'), {
        running: { value: runningStatus },
        failed: { value: failedStatus },
      }),
    },
  },
  errors: ['bad_request', 'not_found'],
};

export const statusStream: RouteDocs = {
  operationId: 'streamStatus',
  tag: 'Requests',
  summary: 'Follow the status',
  description: [
    'Server-sent events: `event: status` with the same object as the status call, at once and after every change, until it is final; then the stream ends. A line `: keep-alive` comes every 15 seconds.',
    '`event: end` says that this server is about to stop: connect again.',
    '```\nevent: status\ndata: {"request_id":"…","status":"IN_QUEUE","queue_position":3,…}\n\nevent: status\ndata: {"request_id":"…","status":"COMPLETED",…}\n```',
  ].join('\n\n'),
  parameters: [requestIdParameter],
  replies: {
    200: {
      description: 'The stream. The schema is that of the `data` of each event.',
      content: {
        'text/event-stream': {
          schema: { anyOf: [ref('RequestStatus'), ref('StreamEnd')] },
          examples: { status: { value: runningStatus } },
        },
      },
    },
  },
  errors: ['bad_request', 'not_found'],
};

export const response: RouteDocs = {
  operationId: 'readResponse',
  tag: 'Requests',
  summary: 'Read the output',
  description:
    'The model\'s output once the request is `COMPLETED`; each media field holds a signed link. A chat call leaves its completion here only where it came with an `Idempotency-Key`; else the object is empty.',
  parameters: [requestIdParameter],
  replies: {
    200: {
      description: 'The output.',
      content: json(
        ref('ModelOutput'),
        one({
          seed: 42,
          images: [
            {
              url: outputUrl,
              content_type: 'image/png',
              width: 2048,
              height: 2048,
              file_size: 183_402,
              file_name: '5e0b8a6d2f10-0.png',
            },
          ],
        }),
      ),
    },
  },
  errors: ['bad_request', 'not_found', 'request_not_ready', 'expired'],
};

export const cancel: RouteDocs = {
  operationId: 'cancel',
  tag: 'Requests',
  summary: 'Cancel a request',
  description:
    'Takes a request out of the queue and releases its whole reservation. Only while `IN_QUEUE`: once a model works on it, it cannot be stopped. The call has no body.',
  parameters: [requestIdParameter],
  replies: {
    200: {
      description: 'Cancelled; nothing is charged.',
      content: json(ref('Cancelled'), one({ request_id: exampleId, status: 'CANCELLED' })),
    },
  },
  errors: ['bad_request', 'not_found', 'not_cancellable', 'unsupported_media_type'],
};

export const cancelPut: RouteDocs = {
  ...cancel,
  operationId: 'cancelPut',
  summary: 'Cancel a request (PUT)',
  description: 'The same as the POST.',
};
