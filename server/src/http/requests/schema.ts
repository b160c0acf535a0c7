import { failures } from '../../core/errors.ts';
import { lineOutputsMax } from '../../core/request/line.ts';
import { statuses } from '../../core/request/request.ts';
import { keysOf } from '../../lib/records.ts';
import * as s from '../schemas/schema.ts';
import { ChatUsage } from '../api/chat/chat-schema.ts';
import { KindName, UnitName, unknownInputs } from '../api/model-schema.ts';

/** A request as its callers see it: when it is submitted, while it runs, and afterwards. */

export const StatusName = s.named(
  'Status',
  s.choice(statuses, '`COMPLETED`, `FAILED` and `CANCELLED` are final.'),
);

export const FailureName = s.named(
  'FailureCode',
  s.choice(
    keysOf(failures),
    'The reason why an accepted request ended `FAILED`. Nothing was charged.',
  ),
);

export const failure = {
  code: FailureName,
  message: s.text('For people.'),
  details: s.optional(
    s.openObject({
      reason: s.text(
        'A cause more precise than the code. With `output_unusable` it is `not_fetched`, `not_media` or `damaged`.',
      ),
    }),
  ),
};

export const Failure = s.namedObject('Failure', failure, {
  description: 'The reason why an accepted request ended `FAILED`.',
});

export const requestId = s.id('The id of the request, a UUIDv7.');
export const modelId = s.text('The model it runs on.');
export const metadata = s.record(
  s.text(),
  "The caller's own pairs of texts; empty if none were given.",
);
/** The numbers of the call that made a request. */
export const callNumbers = {
  call_id: s.nullable(
    s.text(
      'The `x-request-id` of the reply to the submit; null if the request is older than this field.',
    ),
  ),
  caller_id: s.nullable(
    s.text(
      "The submit's own `x-request-id`, or the trace id of its `traceparent`; null if it had none.",
    ),
  ),
};
export const keyId = s.id('The key that submitted it.');
const addresses = {
  status_url: s.url('The URL to poll.'),
  response_url: s.url('The URL of the output, once `COMPLETED`.'),
  cancel_url: s.url('The URL that cancels it.'),
};
export const money = {
  quoted_usd_micro: s.microUsd('Reserved at submit.'),
  charged_usd_micro: s.nullable(
    s.microUsd(
      'Charged, never more than quoted; 0 unless `COMPLETED`, or stopped on request. Null until ' +
        'it is final.',
    ),
  ),
};
const created_at = s.time('When it was submitted.');
const started_at = s.time('When an upstream was first called.');
const completed_at = s.time('When it became final.');
const cancel_requested_at = s.time('When its cancel was asked for while it ran.');
export const moments = {
  created_at,
  started_at: s.nullable(started_at),
  completed_at: s.nullable(completed_at),
  cancel_requested_at: s.nullable(cancel_requested_at),
};

export const QueuedRequest = s.namedObject('QueuedRequest', {
  status: s.choice(['IN_QUEUE']),
  request_id: requestId,
  ...addresses,
  model_id: modelId,
  quoted_usd_micro: s.microUsd('The reserved amount; the charge is never higher.'),
  queue_position: s.integer('Requests ahead when it was accepted.', { minimum: 0 }),
  unknown_inputs: s.optional(unknownInputs),
});

export const RequestStatus = s.namedObject('RequestStatus', {
  request_id: requestId,
  model_id: modelId,
  status: StatusName,
  queue_position: s.optional(
    s.integer(
      'Number of requests ahead, 0 for the next one; counted up to 1000. Only while IN_QUEUE.',
      { minimum: 0 },
    ),
  ),
  progress: s.optional(s.number('0 to 1, if the model reports it.', { minimum: 0, maximum: 1 })),
  logs: s.optional(s.list(s.text(), 'Newest log lines, if the model reports them.')),
  created_at,
  started_at: s.optional(started_at),
  completed_at: s.optional(completed_at),
  cancel_requested_at: s.optional(cancel_requested_at),
  ...addresses,
  error: s.optional(Failure),
  metrics: s.optional(
    s.object({
      queue_ms: s.optional(s.integer('Waited, milliseconds.')),
      run_ms: s.optional(s.integer('Ran, milliseconds.')),
    }),
  ),
});

export const StreamEnd = s.namedObject(
  'StreamEnd',

  { reason: s.choice(['draining']), message: s.text('For people.') },
  { description: 'The server is about to stop; connect again.' },
);

/** The body of a webhook. */
const notification = {
  request_id: requestId,
  model_id: modelId,
  kind: KindName,
  status: StatusName,
  ...money,
  price: s.object({
    unit: UnitName,
    unit_price_usd_micro: s.microUsd('Price of one unit.'),
    quantity: s.number('Units quoted; once `COMPLETED`, units delivered.'),
  }),
  usage: s.optional(ChatUsage),
  output_urls: s.list(
    s.url('A signed link.'),
    'The outputs, once `COMPLETED`; empty after they have expired.',
  ),
  error: s.nullable(s.object(failure, { description: 'The reason why it `FAILED`; else null.' })),
  ...moments,
  expires_at: s.nullable(s.time('When the outputs are deleted; null if there are none.')),
  webhook: s.nullable(
    s.object(
      {
        url: s.text('Where the notification goes.'),
        state: s.choice(['pending', 'delivered', 'failed']),
        last_status: s.nullable(s.integer('HTTP status that the receiver answered with.')),
      },
      { description: 'Null if none was requested.' },
    ),
  ),
  ...addresses,
  key_id: keyId,
  metadata,
  ...callNumbers,
};

export const Notification = s.namedObject('Notification', notification, {
  description: 'The body of a webhook: the request card without `input`.',
});

export const RequestCard = s.namedObject('RequestCard', {
  ...notification,
  input: s.anything(
    'The submitted input. For a chat call only `max_tokens`, `stream` and the number of ' +
      'messages, never the messages. It is emptied 30 days after the request has ended, and on a ' +
      'cancel if it is larger than 16 KiB.',
  ),
});

const mediaFile = {
  url: s.url('A signed link; works for 24 hours after completion, without a key.'),
  content_type: s.text('Found in the bytes.'),
  width: s.optional(s.integer('Pixels.')),
  height: s.optional(s.integer('Pixels.')),
  duration: s.optional(s.number('Seconds.')),
  file_size: s.integer('Bytes.'),
  file_name: s.text('A suggested file name.'),
};

const LineOutput = s.namedObject('LineOutput', {
  index: s.integer('The number of the output in its link.'),
  field: s.text('Its field in the response.'),
  ...mediaFile,
  thumbnail_url: s.nullable(
    s.url('A small WebP of an image, or the picture that came with a video; null: there is none.'),
  ),
});

/** The parts of a line of a list, so that no line needs a call. */
export const line = {
  prompt: s.nullable(
    s.text(
      'The input in one line, at most 500 characters: its prompt, or else its short values. Null ' +
        'for a chat, and once the input is deleted.',
    ),
  ),
  favorite: s.boolean('Whether it is marked in the library of the web pages.'),
  error: s.nullable(s.object(failure, { description: 'The reason why it `FAILED`; else null.' })),
  outputs: s.list(LineOutput, `The first ${lineOutputsMax} outputs that are still kept.`),
  output_count: s.integer('Number of outputs that it made, kept or not.'),
  expires_at: s.nullable(s.time('When the outputs are deleted; null if none are kept.')),
};

const RequestLine = s.namedObject('RequestLine', {
  request_id: requestId,
  model_id: modelId,
  kind: KindName,
  status: StatusName,
  ...money,
  error_code: s.nullable(FailureName),
  ...line,
  ...moments,
  ...addresses,
  key_id: keyId,
  metadata,
  ...callNumbers,
});

export const RequestList = s.namedObject('RequestList', {
  data: s.list(RequestLine, 'Newest first.'),
  next_cursor: s.nullable(s.text('For the next page; null at the end.')),
});

export const CancelQuery = s.object({
  running: s.optional(
    s.boolean('True: also asks a running job to stop, if the model has `on_cancel`.'),
  ),
});

export const Cancelled = s.namedObject('Cancelled', {
  request_id: requestId,
  status: s.choice(['CANCELLED', 'IN_PROGRESS'], '`IN_PROGRESS`: the job is asked to stop.'),
  cancel_requested_at: s.optional(s.time('When that was first asked for.')),
});

const MediaFile = s.namedOpenObject('MediaFile', mediaFile);

export const ModelOutput = s.namedOpenObject(
  'ModelOutput',

  {
    images: s.optional(s.list(MediaFile, 'Images.')),
    image: s.optional(MediaFile),
    video: s.optional(MediaFile),
    audio: s.optional(MediaFile),
    text: s.optional(s.text('The text that the model wrote.')),
    seed: s.optional(s.integer('Send it with the same input to get the same output again.')),
  },
  { description: "The model's output. Its fields depend on the model." },
);
