import {
  exampleAccountId,
  exampleFileId,
  exampleId,
  exampleKeyId,
  exampleSignature,
} from './examples.ts';
import { header, type Parameter } from './route-docs.ts';

type PathParameter = Omit<Parameter, 'name' | 'in' | 'required'>;

function uuid(description: string, example: string): PathParameter {
  return { description, schema: { type: 'string', format: 'uuid' }, example };
}

/** The variable parts of paths, by their names. */
export const pathParameters: Record<string, PathParameter> = {
  model_id: {
    description:
      'A catalog id, exactly as listed. It contains slashes: write them as they are, or as `%2F`.',
    schema: { type: 'string' },
    example: 'sandbox/canvas/text-to-image',
  },
  request_id: uuid('The id returned by the submit.', exampleId),
  account_id: uuid('The id of the account.', exampleAccountId),
  key_id: uuid("The id of the account's key.", exampleKeyId),
  voucher_id: uuid('The id of the voucher.', '0199b3e5-2c4d-7a90-8b1f-6d3e5a7c9b02'),
  invitation_id: uuid('The id of the invitation.', '0199b3e6-4d5e-7b21-9c2a-7e4f6b8d0c13'),
  person_id: uuid('The id of the person.', '0199b39f-8f41-7b02-9d3e-61c0a5b7e948'),
  chain: { description: 'Name of the chain.', schema: { type: 'string' }, example: 'tron' },
  deposit_id: uuid('The id of the deposit.', exampleId),
  transfer_id: uuid('The id of the deposit in the ledger.', exampleId),
  index: {
    description: 'Index of the output, from 0.',
    schema: { type: 'integer', minimum: 0 },
    example: 0,
  },
  file_id: {
    description: 'The id returned by the upload.',
    schema: { type: 'string', pattern: '^file_[0-9a-f]{32}$' },
    example: exampleFileId,
  },
  upstream: {
    description: 'Name of the upstream.',
    schema: { type: 'string' },
    example: 'fal',
  },
  attempt: {
    description: 'Number of the attempt.',
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  sig: {
    description: "Farebox's signature of this URL.",
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
    example: exampleSignature,
  },
};

const idempotencyKey: Parameter = {
  ...header(
    'Idempotency-Key',
    'Makes it safe to repeat the call: 1 to 255 visible ASCII characters, unique within ' +
      'the account, kept for 30 days. The same key with the same call gets the first reply ' +
      'again; with a different call, 409. The key is not kept for calls that were refused ' +
      'before anything was reserved.',
    { minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
  ),
  example: 'order-1042-cover',
};

export const prefer: Parameter = {
  ...header(
    'Prefer',
    '`wait=SECONDS`, at most 120: the call is answered with the output, as `response_url` ' +
      'gives it, if the request is `COMPLETED` in this time, otherwise as usual. `wait` alone ' +
      'means 60 seconds. Other preferences are ignored.',
  ),
  example: 'wait=60',
};

const metadata: Parameter = {
  ...header(
    'x-metadata',
    'Your own pairs of texts as a JSON object, shown with the request and searched by ' +
      '`GET /requests?metadata.NAME=`: at most 16, names of 1 to 64 characters, texts of at ' +
      'most 512. A repeat keeps the pairs of the first call.',
  ),
  example: '{"customer":"42"}',
};

const callerNumber: Parameter = {
  ...header(
    'x-request-id',
    'Your own number of this call, kept with the request as `caller_id` and searched by ' +
      '`GET /requests?call_id=`: at most 128 visible ASCII characters. Without it, the trace id ' +
      'of the header `traceparent` is kept. The reply has a number of its own.',
  ),
  example: 'order-1042',
};

/** Headers of a call that makes a request. */
export const ofRequest = [idempotencyKey, metadata, callerNumber];
/** The same of a submit, which may wait. */
export const ofSubmit = [idempotencyKey, prefer, metadata, callerNumber];

export const ifNoneMatch = header(
  'If-None-Match',
  'The `ETag` of your copy. The reply is 304 while that copy is current.',
);

/** Headers of a download. */
export const ofDownload: Parameter[] = [
  {
    ...header(
      'Range',
      'One range of bytes. If several ranges or other units are asked for, the whole file is sent.',
    ),
    example: 'bytes=0-1023',
  },
  ifNoneMatch,
  header(
    'If-Range',
    'The `ETag` of your partial copy; if it is out of date, the whole file is sent.',
  ),
];

/** Headers of a webhook. */
export const ofWebhook: Parameter[] = [
  signed(
    'webhook-id',
    'The `request_id`; the same in every delivery.',
    '^[0-9a-f-]{36}$',
    exampleId,
  ),
  signed('webhook-timestamp', 'Unix seconds of this delivery.', '^[0-9]+$', '1772366404'),
  signed(
    'webhook-signature',
    '`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. While the secret is ' +
      'being replaced, there are two signatures, separated by a space.',
    '^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)*$',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

function signed(name: string, description: string, pattern: string, example: string): Parameter {
  return { ...header(name, description, { pattern }), required: true, example };
}
