import { keyed } from '../about.ts';
import { header, one, type ReplyDocs, type RouteDocs } from '../route-docs.ts';

/** The catalog and its prices: GET /models, GET /models/{model_id}, POST /estimate. */

const exampleEntry = {
  id: 'sandbox/canvas/text-to-image',
  object: 'model',
  created: 1_767_225_600,
  owned_by: 'sandbox',
  name: 'Canvas',
  description: 'Paints a landscape from the words of the prompt.',
  kind: 'image',
  task: 'text-to-image',
  price: 0.06,
  unit: 'image',
  price_by_resolution: { '1k': 0.03, '2k': 0.06 },
  extras: [],
  max: 4,
  max_unit: 'images',
  resolutions: ['1k', '2k'],
  uncensored: false,
  input_schema: {
    type: 'object',
    required: ['prompt'],
    properties: { prompt: { type: 'string' }, num_images: { type: 'integer' } },
  },
  example: { prompt: 'A lighthouse at dusk', resolution: '1k' },
};

const exampleEstimate = {
  model_id: 'sandbox/canvas/text-to-image',
  kind: 'image',
  price_usd_micro: '120000',
  unit: 'image',
  unit_price_usd_micro: '60000',
  quantity: 2,
  breakdown: [
    {
      label: 'images at 2k',
      quantity: 2,
      unit_price_usd_micro: '60000',
      amount_usd_micro: '120000',
    },
  ],
  assumptions: { resolution: '2k' },
  unit_price_by_resolution_usd_micro: { '1k': '30000', '2k': '60000' },
};

export const ifNoneMatch = header(
  'If-None-Match',
  'The `ETag` of your copy. The reply is 304 while that copy is current.',
);

export const unchanged: ReplyDocs = {
  description: 'Not changed: your copy is current.',
  headers: ['ETag', 'CacheControl'],
};

export const listModels: RouteDocs = {
  operationId: 'listModels',
  tag: 'Catalog',
  summary: 'List the models',
  description:
    'Every model that can be used now, with its price, limits and input schema. No key ' +
    'needed; a key that is restricted to some models gets only those. Stock OpenAI clients ' +
    'list models with this call.',
  query: { kind: 'Only models of this kind.' },
  headers: [ifNoneMatch],
  replies: {
    200: {
      description: 'The catalog.',
      headers: ['ETag', 'CacheControl'],
      examples: one({ object: 'list', data: [exampleEntry] }),
    },
    304: unchanged,
  },
  errors: ['bad_request'],
  security: [{}, ...keyed],
};

export const readModel: RouteDocs = {
  operationId: 'readModel',
  tag: 'Catalog',
  summary: 'Read one model',
  description: 'One entry of the catalog. No key needed.',
  headers: [ifNoneMatch],
  replies: {
    200: {
      description: 'The model.',
      headers: ['ETag', 'CacheControl'],
      examples: one(exampleEntry),
    },
    304: unchanged,
  },
  errors: ['bad_request', 'not_found'],
};

export const estimate: RouteDocs = {
  operationId: 'estimate',
  tag: 'Catalog',
  summary: 'Price an input',
  description:
    "The price of one input, by the same rules as a submit's reservation and the final " +
    'charge. Nothing is reserved. Send the whole input: reference files and options may ' +
    'add to the rate.',
  body: {
    description: 'At most 10 MiB of JSON.',
    examples: {
      media: {
        summary: 'Two images',
        value: {
          model_id: 'sandbox/canvas/text-to-image',
          input: { prompt: 'A lighthouse at dusk', num_images: 2 },
        },
      },
      text: {
        summary: 'A chat call by its tokens',
        value: { model_id: 'sandbox/chat', input: { input_tokens: 1200, output_tokens: 400 } },
      },
      chat: {
        summary: 'A chat call by its body',
        value: {
          model_id: 'sandbox/chat',
          input: { messages: [{ role: 'user', content: 'Hello' }], max_tokens: 100 },
        },
      },
    },
  },
  replies: {
    200: { description: 'The price.', examples: one(exampleEstimate) },
  },
  errors: [
    'bad_request',
    'unknown_model',
    'forbidden',
    'unpriceable',
    'invalid_input',
    'bad_messages',
    'context_length_exceeded',
    'payload_too_large',
    'unsupported_media_type',
  ],
};
