import { ModelOutput, QueuedRequest } from '../../requests/schema.ts';
import { choice, either, openObject, optional, text } from '../../schemas/schema.ts';
import { exampleCard, exampleId, exampleOutput, exampleUrls } from '../request-examples.ts';
import { header, one, type Parameter, type RouteDocs, type WebhookDocs } from '../route-docs.ts';

/** POST /queue/{model_id} and the webhook that it may ask for. */

const exampleQueued = {
  status: 'IN_QUEUE',
  request_id: exampleId,
  ...exampleUrls,
  model_id: 'sandbox/canvas/text-to-image',
  quoted_usd_micro: '60000',
  queue_position: 0,
};

const { input: _input, ...exampleNotification } = exampleCard;

export const idempotencyKey: Parameter = {
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

const prefer: Parameter = {
  ...header(
    'Prefer',
    '`wait=SECONDS`, at most 120: the call is answered with the output, as `response_url` ' +
      'gives it, if the request is `COMPLETED` in this time, otherwise as usual. `wait` alone ' +
      'means 60 seconds. Other preferences are ignored.',
  ),
  example: 'wait=60',
};

export const metadata: Parameter = {
  ...header(
    'x-metadata',
    'Your own pairs of texts as a JSON object, shown with the request and searched by ' +
      '`GET /requests?metadata.NAME=`: at most 16, names of 1 to 64 characters, texts of at ' +
      'most 512. A repeat keeps the pairs of the first call.',
  ),
  example: '{"customer":"42"}',
};

export const callerNumber: Parameter = {
  ...header(
    'x-request-id',
    'Your own number of this call, kept with the request as `caller_id` and searched by ' +
      '`GET /requests?call_id=`: at most 128 visible ASCII characters. Without it, the trace id ' +
      'of the header `traceparent` is kept. The reply has a number of its own.',
  ),
  example: 'order-1042',
};

const examples = one(exampleQueued);

/**
 * The output in place of the queued request. It names two fields of that one, because otherwise
 * generated clients give both the type `unknown` in any reply. A field with a default is always a
 * text for `openapi-typescript`, so its callers can use the id of a submit without a check.
 */
const waitedOutput = openObject(
  {
    ...ModelOutput.properties,
    request_id: optional(text('Only in a queued request.', { default: '' })),
    status: optional(choice(['COMPLETED'], 'Only in a queued request, as `IN_QUEUE`.')),
  },
  { description: 'The output, with `Preference-Applied` alone.' },
);

export const submit: RouteDocs = {
  operationId: 'submit',
  tag: 'Queue',
  summary: 'Submit a generation',
  description: [
    'Reserves the price and queues the request in one step. After a 202 the request always ' +
      'ends as `COMPLETED`, `FAILED` or `CANCELLED`. It is charged only when `COMPLETED`.',
    "Checks come in this order: key, rate, input, `Idempotency-Key`, the key's monthly " +
      'limit, the balance. A repeat with an `Idempotency-Key` starts no job, so it gets 200 ' +
      'even if the API key has reached its limit of open jobs.',
  ].join('\n\n'),
  headers: [idempotencyKey, prefer, metadata, callerNumber],
  body: {
    description: 'The model input; at most 1 MiB of JSON.',
    examples: one({ prompt: 'A lighthouse at dusk', resolution: '2k' }),
  },
  replies: {
    200: {
      description:
        'A repeat: the reply of the first submit under this `Idempotency-Key`. With ' +
        '`Preference-Applied`: the output of the request.',
      headers: ['Location', 'Replayed?', 'PreferenceApplied?', 'Charge?', 'Ignored?'],
      schema: either([QueuedRequest, waitedOutput]),
      examples: { queued: { value: exampleQueued }, output: { value: exampleOutput } },
    },
    202: {
      description: 'Reserved and queued.',
      headers: ['Location', 'Ignored?'],
      examples,
    },
  },
  errors: [
    'bad_request',
    'unknown_model',
    'forbidden',
    'unpriceable',
    'invalid_input',
    'bad_webhook_url',
    'use_chat_completions',
    'insufficient_balance',
    'key_limit_reached',
    'idempotency_conflict',
    'payload_too_large',
    'unsupported_media_type',
  ],
  webhook: notification(),
};

function notification(): WebhookDocs {
  const signed = (
    name: string,
    description: string,
    pattern: string,
    example: string,
  ): Parameter => {
    return { ...header(name, description, { pattern }), required: true, example };
  };
  return {
    operationId: 'notification',
    summary: 'The request is final',
    description:
      'Sent once when the request is `COMPLETED`, `FAILED` or `CANCELLED`: one POST of at ' +
      'most 10 seconds, no redirects. If the service stops while sending, the POST is sent again ' +
      'under the same `webhook-id`. Verify the signature, then fetch `response_url` with ' +
      'your key. The signature follows Standard Webhooks, so any of its libraries verifies ' +
      "it; the Webhooks page of the dashboard shows the account's secret. The HMAC key is " +
      'the part of the secret after `whsec_`, decoded from base64.',
    headers: [
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
    ],
    body: {
      description: 'The request card without `input`.',
      examples: one(exampleNotification),
    },
    replies: {
      '2XX': { description: 'Received. The body is not read.' },
      '4XX': { description: 'The delivery counts as failed and is not sent again automatically.' },
    },
  };
}
