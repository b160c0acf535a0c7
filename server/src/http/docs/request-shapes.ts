import { statuses } from '../../core/request/request.ts';
import {
  anything,
  integer,
  list,
  microUsd,
  nullable,
  nullableRef,
  number,
  object,
  openObject,
  ref,
  text,
  time,
  url,
  type Schema,
} from './schema.ts';

/** What a request looks like in its calls. */

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
  queue_position: integer(
    'Requests ahead, 0 for the next; counted up to 1000. Only while IN_QUEUE.',
    { minimum: 0 },
  ),
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
  usage: ref('ChatUsage'),
  output_urls: list(
    url('A signed link.'),
    'The outputs, once `COMPLETED`; empty when their time is over.',
  ),
  error: nullable(
    object({ code: ref('FailureCode'), message: text('For people.') }, [], {
      description: 'Why it `FAILED`; else null.',
    }),
  ),
  input: anything(
    'What was submitted. Of a chat call its figures only, never what was said. Empty 30 days after ' +
      'its end, and once it was cancelled where it was larger than 16 KiB.',
  ),
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
    'queue_position',
    'progress',
    'logs',
    'started_at',
    'completed_at',
    'error',
    'metrics',
  ]),
  StreamEnd: object(
    { reason: { type: 'string', enum: ['draining'] }, message: text('For people.') },
    [],
    { description: 'The server is about to stop; connect again.' },
  ),
  RequestCard: object(cardFields, ['usage']),
  Notification: object(notificationFields, ['usage'], {
    description: 'What a webhook gets: the request card without `input`.',
  }),
  RequestLine: object({
    request_id: requestId,
    model_id: text('The model it runs on.'),
    kind: ref('Kind'),
    status: ref('Status'),
    ...money,
    error_code: nullableRef('FailureCode', 'Why it `FAILED`; else null.'),
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
    { description: "The model's output. Which fields there are depends on the model." },
  ),
};
