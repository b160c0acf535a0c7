import { ErrorBody } from '../schemas/error-schema.ts';
import * as s from '../schemas/schema.ts';

/** The calls of Replicate's HTTP API, as its client uses them. */

const creation = {
  input: s.anything('The inputs of the model.'),
  webhook: s.optional(
    s.text('A public address that gets the prediction once it has ended.', { format: 'uri' }),
  ),
  webhook_events_filter: s.optional(
    s.list(
      s.text(),
      'Without `completed` nothing is sent. Other events are accepted and not sent.',
    ),
  ),
};

export const Creation = s.namedOpenObject('PredictionCreation', creation);

export const VersionCreation = s.namedOpenObject('VersionCreation', {
  version: s.text('The model: `owner/name`, the id of its version, both, or its id in `/models`.'),
  ...creation,
});

export const Prediction = s.namedObject('Prediction', {
  id: s.id('The id of the request, for the calls below /v1/requests too.'),
  model: s.text('As it was asked for.'),
  version: s.text('As it was asked for, else `hidden`.'),
  input: s.anything('As it was sent.'),
  output: s.either(
    [s.nullable(s.text()), s.list(s.text()), s.anything()],
    'An address, a list of them, or other data; null until it has succeeded.',
  ),
  error: s.nullable(s.text('For people.')),
  status: s.choice(['starting', 'processing', 'succeeded', 'failed', 'canceled']),
  logs: s.text('Lines, while it runs.'),
  metrics: s.anything('`predict_time` and `total_time` in seconds, once it has ended.'),
  source: s.choice(['api']),
  data_removed: s.boolean('The output has been deleted.'),
  created_at: s.text('', { format: 'date-time' }),
  started_at: s.nullable(s.text('', { format: 'date-time' })),
  completed_at: s.nullable(s.text('', { format: 'date-time' })),
  urls: s.object({ get: s.url(), cancel: s.url() }),
});

const pageOf = <S extends s.TSchema>(entry: S) =>
  s.object({
    previous: s.nullable(s.url('Always null.')),
    next: s.nullable(s.url('The next page.')),
    results: s.list(entry),
  });

export const PredictionList = s.named('PredictionList', pageOf(Prediction));

export const fileForm = s.object({
  content: s.text('The bytes of the file.', { format: 'binary' }),
  metadata: s.optional(s.text('A JSON object of at most 4096 bytes, which is kept with the file.')),
});

export const ReplicateFile = s.namedObject('ReplicateFile', {
  id: s.text('The `file_id` of the upload.', { pattern: '^file_[0-9a-f]{32}$' }),
  content_type: s.text('Found in the bytes.'),
  size: s.integer('Bytes.'),
  checksums: s.object({ sha256: s.text('SHA-256 of the bytes, in hex.') }),
  metadata: s.anything('As it was sent.'),
  created_at: s.time(),
  expires_at: s.time(),
  urls: s.object({ get: s.url('Can be used in any URL field of an input.') }),
});

export const ReplicateFileList = s.named('ReplicateFileList', pageOf(ReplicateFile));

export const ReplicateModel = s.namedObject('ReplicateModel', {
  url: s.url('The model in `/v1/models`.'),
  owner: s.text(),
  name: s.text(),
  description: s.text(),
  visibility: s.choice(['public']),
  is_official: s.boolean(),
  run_count: s.integer('Always 0.'),
  latest_version: s.object({
    id: s.text('Can be sent as `version`.'),
    created_at: s.time(),
    cog_version: s.nullable(s.text()),
    openapi_schema: s.anything('The inputs, as `components.schemas.Input`.'),
  }),
});

export const WebhookSecret = s.namedObject('WebhookSecret', {
  key: s.text('`whsec_` and base64: signs webhooks, as in Standard Webhooks.'),
});

/** The body of an error. */
export const failure = s.object({
  ...ErrorBody.properties,
  title: s.text('The kind of error.'),
  detail: s.text('The message of the error.'),
  status: s.integer('The HTTP status.'),
  invalid_fields: s.optional(
    s.list(
      s.object({ type: s.text(), field: s.text(), description: s.text() }),
      'The errors of each field.',
    ),
  ),
});
