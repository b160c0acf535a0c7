import { ErrorBody } from '../schemas/error-schema.ts';
import {
  anything,
  boolean,
  choice,
  either,
  id,
  integer,
  list,
  named,
  nullable,
  object,
  openObject,
  optional,
  text,
  time,
  url,
  type TSchema,
} from '../schemas/schema.ts';

/** The calls of Replicate's HTTP API, as its client uses them. */

const creation = {
  input: anything('The inputs of the model.'),
  webhook: optional(
    text('A public address that gets the prediction once it has ended.', { format: 'uri' }),
  ),
  webhook_events_filter: optional(
    list(text(), 'Without `completed` nothing is sent. Other events are accepted and not sent.'),
  ),
};

export const Creation = named('PredictionCreation', openObject(creation));

export const VersionCreation = named(
  'VersionCreation',
  openObject({
    version: text('The model: `owner/name`, the id of its version, both, or its id in `/models`.'),
    ...creation,
  }),
);

export const Prediction = named(
  'Prediction',
  object({
    id: id('The id of the request, for the calls below /v1/requests too.'),
    model: text('As it was asked for.'),
    version: text('As it was asked for, else `hidden`.'),
    input: anything('As it was sent.'),
    output: either(
      [nullable(text()), list(text()), anything()],
      'An address, a list of them, or other data; null until it has succeeded.',
    ),
    error: nullable(text('For people.')),
    status: choice(['starting', 'processing', 'succeeded', 'failed', 'canceled']),
    logs: text('Lines, while it runs.'),
    metrics: anything('`predict_time` and `total_time` in seconds, once it has ended.'),
    source: choice(['api']),
    data_removed: boolean('The output has been deleted.'),
    created_at: text('', { format: 'date-time' }),
    started_at: nullable(text('', { format: 'date-time' })),
    completed_at: nullable(text('', { format: 'date-time' })),
    urls: object({ get: url(), cancel: url() }),
  }),
);

const pageOf = <S extends TSchema>(entry: S) =>
  object({
    previous: nullable(url('Always null.')),
    next: nullable(url('The next page.')),
    results: list(entry),
  });

export const PredictionList = named('PredictionList', pageOf(Prediction));

export const fileForm = object({
  content: text('The bytes of the file.', { format: 'binary' }),
  metadata: optional(text('A JSON object of at most 4096 bytes, which is kept with the file.')),
});

export const ReplicateFile = named(
  'ReplicateFile',
  object({
    id: text('The `file_id` of the upload.', { pattern: '^file_[0-9a-f]{32}$' }),
    content_type: text('Found in the bytes.'),
    size: integer('Bytes.'),
    checksums: object({ sha256: text('SHA-256 of the bytes, in hex.') }),
    metadata: anything('As it was sent.'),
    created_at: time(),
    expires_at: time(),
    urls: object({ get: url('Can be used in any URL field of an input.') }),
  }),
);

export const ReplicateFileList = named('ReplicateFileList', pageOf(ReplicateFile));

export const ReplicateModel = named(
  'ReplicateModel',
  object({
    url: url('The model in `/v1/models`.'),
    owner: text(),
    name: text(),
    description: text(),
    visibility: choice(['public']),
    is_official: boolean(),
    run_count: integer('Always 0.'),
    latest_version: object({
      id: text('Can be sent as `version`.'),
      created_at: time(),
      cog_version: nullable(text()),
      openapi_schema: anything('The inputs, as `components.schemas.Input`.'),
    }),
  }),
);

export const WebhookSecret = named(
  'WebhookSecret',
  object({ key: text('`whsec_` and base64: signs webhooks, as in Standard Webhooks.') }),
);

/** The body of an error. */
export const failure = object({
  ...ErrorBody.properties,
  title: text('The kind of error.'),
  detail: text('The message of the error.'),
  status: integer('The HTTP status.'),
  invalid_fields: optional(
    list(object({ type: text(), field: text(), description: text() }), 'The errors of each field.'),
  ),
});
