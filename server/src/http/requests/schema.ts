import { failures } from '../../core/errors.ts';
import { statuses } from '../../core/request/request.ts';
import { keysOf } from '../../lib/records.ts';
import {
  anything,
  boolean,
  choice,
  id,
  integer,
  list,
  microUsd,
  named,
  nullable,
  number,
  object,
  openObject,
  optional,
  record,
  text,
  time,
  url,
} from '../schemas/schema.ts';
import { ChatUsage } from '../api/chat/chat-schema.ts';
import { KindName, UnitName, unknownInputs } from '../api/model-schema.ts';

/** A request as its callers see it: when it is submitted, while it runs, and afterwards. */

export const StatusName = named(
  'Status',
  choice(statuses, '`COMPLETED`, `FAILED` and `CANCELLED` are final.'),
);

export const FailureName = named(
  'FailureCode',
  choice(
    keysOf(failures),
    'The reason why an accepted request ended `FAILED`. Nothing was charged.',
  ),
);

export const failure = {
  code: FailureName,
  message: text('For people.'),
  details: optional(
    openObject({
      reason: text(
        'A cause more precise than the code. With `output_unusable` it is `not_fetched`, `not_media` or `damaged`.',
      ),
    }),
  ),
};

export const Failure = named(
  'Failure',
  object(failure, { description: 'The reason why an accepted request ended `FAILED`.' }),
);

export const requestId = id('The id of the request, a UUIDv7.');
export const modelId = text('The model it runs on.');
export const metadata = record(
  text(),
  "The caller's own pairs of texts; empty if none were given.",
);
/** The numbers of the call that made a request. */
export const callNumbers = {
  call_id: nullable(
    text(
      'The `x-request-id` of the reply to the submit; null if the request is older than this field.',
    ),
  ),
  caller_id: nullable(
    text(
      "The submit's own `x-request-id`, or the trace id of its `traceparent`; null if it had none.",
    ),
  ),
};
export const keyId = id('The key that submitted it.');
const addresses = {
  status_url: url('The URL to poll.'),
  response_url: url('The URL of the output, once `COMPLETED`.'),
  cancel_url: url('The URL that cancels it.'),
};
export const money = {
  quoted_usd_micro: microUsd('Reserved at submit.'),
  charged_usd_micro: nullable(
    microUsd(
      'Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until ' +
        'it is final.',
    ),
  ),
};
const created_at = time('When it was submitted.');
const started_at = time('When an upstream was first called.');
const completed_at = time('When it became final.');
const cancel_requested_at = time('When its cancel was asked for while it ran.');
export const moments = {
  created_at,
  started_at: nullable(started_at),
  completed_at: nullable(completed_at),
  cancel_requested_at: nullable(cancel_requested_at),
};

export const QueuedRequest = named(
  'QueuedRequest',
  object({
    status: choice(['IN_QUEUE']),
    request_id: requestId,
    ...addresses,
    model_id: modelId,
    quoted_usd_micro: microUsd('The reserved amount; the charge is never higher.'),
    queue_position: integer('Requests ahead when it was accepted.', { minimum: 0 }),
    unknown_inputs: optional(unknownInputs),
  }),
);

export const RequestStatus = named(
  'RequestStatus',
  object({
    request_id: requestId,
    model_id: modelId,
    status: StatusName,
    queue_position: optional(
      integer(
        'Number of requests ahead, 0 for the next one; counted up to 1000. Only while IN_QUEUE.',
        {
          minimum: 0,
        },
      ),
    ),
    progress: optional(number('0 to 1, if the model reports it.', { minimum: 0, maximum: 1 })),
    logs: optional(list(text(), 'Newest log lines, if the model reports them.')),
    created_at,
    started_at: optional(started_at),
    completed_at: optional(completed_at),
    cancel_requested_at: optional(cancel_requested_at),
    ...addresses,
    error: optional(Failure),
    metrics: optional(
      object({
        queue_ms: optional(integer('Waited, milliseconds.')),
        run_ms: optional(integer('Ran, milliseconds.')),
      }),
    ),
  }),
);

export const StreamEnd = named(
  'StreamEnd',
  object(
    { reason: choice(['draining']), message: text('For people.') },
    { description: 'The server is about to stop; connect again.' },
  ),
);

/** The body of a webhook. */
const notification = {
  request_id: requestId,
  model_id: modelId,
  kind: KindName,
  status: StatusName,
  ...money,
  price: object({
    unit: UnitName,
    unit_price_usd_micro: microUsd('Price of one unit.'),
    quantity: number('Units quoted; once `COMPLETED`, units delivered.'),
  }),
  usage: optional(ChatUsage),
  output_urls: list(
    url('A signed link.'),
    'The outputs, once `COMPLETED`; empty after they have expired.',
  ),
  error: nullable(object(failure, { description: 'The reason why it `FAILED`; else null.' })),
  ...moments,
  expires_at: nullable(time('When the outputs are deleted; null if there are none.')),
  webhook: nullable(
    object(
      {
        url: text('Where the notification goes.'),
        state: choice(['pending', 'delivered', 'failed']),
        last_status: nullable(integer('HTTP status that the receiver answered with.')),
      },
      { description: 'Null if none was requested.' },
    ),
  ),
  ...addresses,
  key_id: keyId,
  metadata,
  ...callNumbers,
};

export const Notification = named(
  'Notification',
  object(notification, {
    description: 'The body of a webhook: the request card without `input`.',
  }),
);

export const RequestCard = named(
  'RequestCard',
  object({
    ...notification,
    input: anything(
      'The submitted input. For a chat call only `max_tokens`, `stream` and the number of ' +
        'messages, never the messages. It is emptied 30 days after the request has ended, and on a ' +
        'cancel if it is larger than 16 KiB.',
    ),
  }),
);

const RequestLine = named(
  'RequestLine',
  object({
    request_id: requestId,
    model_id: modelId,
    kind: KindName,
    status: StatusName,
    ...money,
    error_code: nullable(FailureName),
    ...moments,
    ...addresses,
    key_id: keyId,
    metadata,
    ...callNumbers,
  }),
);

export const RequestList = named(
  'RequestList',
  object({
    data: list(RequestLine, 'Newest first.'),
    next_cursor: nullable(text('For the next page; null at the end.')),
  }),
);

export const CancelQuery = object({
  running: optional(
    boolean('True: also asks a running job to stop, if the model has `on_cancel`.'),
  ),
});

export const Cancelled = named(
  'Cancelled',
  object({
    request_id: requestId,
    status: choice(['CANCELLED', 'IN_PROGRESS'], '`IN_PROGRESS`: the job is asked to stop.'),
    cancel_requested_at: optional(time('When that was first asked for.')),
  }),
);

const MediaFile = named(
  'MediaFile',
  openObject({
    url: url('A signed link; works for 24 hours after completion, without a key.'),
    content_type: text('Found in the bytes.'),
    width: optional(integer('Pixels.')),
    height: optional(integer('Pixels.')),
    duration: optional(number('Seconds.')),
    file_size: integer('Bytes.'),
    file_name: text('A suggested file name.'),
  }),
);

export const ModelOutput = named(
  'ModelOutput',
  openObject(
    {
      images: optional(list(MediaFile, 'Images.')),
      image: optional(MediaFile),
      video: optional(MediaFile),
      audio: optional(MediaFile),
      text: optional(text('The text that the model wrote.')),
      seed: optional(integer('Send it with the same input to get the same output again.')),
    },
    { description: "The model's output. Its fields depend on the model." },
  ),
);
