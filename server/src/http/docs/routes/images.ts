import { imageEditForm } from '../../api/images/images-schema.ts';
import { callerNumber, idempotencyKey, metadata } from './queue.ts';
import { exampleFileId, exampleId, exampleOutputUrl } from '../request-examples.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** POST /images/generations and /images/edits */

const exampleResponse = {
  created: 1_772_366_400,
  data: [{ url: exampleOutputUrl }],
  usage: {
    input_tokens: 0,
    output_tokens: 0,
    total_tokens: 0,
    input_tokens_details: { text_tokens: 0, image_tokens: 0 },
    cost_usd_micro: '30000',
  },
  request_id: exampleId,
};

const common = [
  'The call submits a request like [POST /queue/{model_id}](#submit), with the same price, limits and ' +
    'records, and waits for its end, at most 290 seconds. If the request still runs after ' +
    'that, the answer is 409 `request_not_ready` with its addresses in `details`; the request goes ' +
    'on and is charged when it completes. The same call with the same `Idempotency-Key` waits again.',
  "`size`, `n`, `quality`, `output_format` and `background` become the model's own inputs. If " +
    'the model cannot take one of them, the reply is 400 and names the field. Other fields are ' +
    'inputs of the model, as in the queue. Images are not streamed.',
];

const replies: RouteDocs['replies'] = {
  200: {
    description: 'The images.',
    headers: ['Location', 'Charge', 'Replayed?', 'Ignored?'],
    examples: one(exampleResponse),
  },
};

const errors: RouteDocs['errors'] = [
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
  'request_not_ready',
  'expired',
  'payload_too_large',
  'unsupported_media_type',
  'submit_failed',
];

const errorHeaders: RouteDocs['errorHeaders'] = {
  400: ['Replayed?'],
  409: ['Replayed?'],
  410: ['Replayed?'],
  502: ['ShouldRetry', 'Replayed?'],
};

export const generateImages: RouteDocs = {
  operationId: 'generateImages',
  tag: 'Queue',
  summary: "Make images through OpenAI's Images",
  description: ["The request and reply of OpenAI's image generation.", ...common].join('\n\n'),
  headers: [idempotencyKey, metadata, callerNumber],
  body: {
    description: 'At most 1 MiB of JSON.',
    examples: one({
      model: 'sandbox/canvas/text-to-image',
      prompt: 'A lighthouse at dusk',
      size: '1024x1024',
      response_format: 'url',
    }),
  },
  replies,
  errors,
  errorHeaders,
};

export const editImages: RouteDocs = {
  operationId: 'editImages',
  tag: 'Queue',
  summary: "Edit images through OpenAI's Images",
  description: [
    "The request and reply of OpenAI's image edit, for models with an input for images.",
    ...common,
    'The images of a form, and `data:` images in JSON above 1 MiB, are stored as uploads for 7 ' +
      'days, like those of [POST /files](#upload).',
  ].join('\n\n'),
  headers: [idempotencyKey, metadata, callerNumber],
  body: {
    description:
      'At most 10 MiB of JSON, with at most 1 MiB besides the images; or a form of at most 20 MiB.',
    examples: one({
      model: 'sandbox/canvas/edit',
      prompt: 'black and white',
      image: exampleFileId,
      response_format: 'url',
    }),
    form: imageEditForm,
  },
  replies,
  errors,
  errorHeaders,
};
