import { usualFields } from '../../../core/apis/responses/write-reply.ts';
import { callerNumber, idempotencyKey, metadata } from './queue.ts';
import { exampleId } from '../request-examples.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** POST /responses */

const exampleResponse = {
  id: `resp_${exampleId}`,
  object: 'response',
  created_at: 1_772_366_400,
  completed_at: 1_772_366_401,
  model: 'sandbox/chat',
  output: [
    {
      id: `msg_${exampleId.replaceAll('-', '')}0`,
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [
        { type: 'output_text', text: 'Hello. Hallo. Bonjour.', annotations: [], logprobs: [] },
      ],
    },
  ],
  status: 'completed',
  incomplete_details: null,
  error: null,
  usage: {
    input_tokens: 14,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 21,
    cost_usd_micro: '5',
  },
  ...usualFields,
  max_output_tokens: 100,
};

const exampleEvent = {
  type: 'response.output_text.delta',
  sequence_number: 4,
  item_id: `msg_${exampleId.replaceAll('-', '')}0`,
  output_index: 0,
  content_index: 0,
  delta: 'Hello.',
  logprobs: [],
};

const description = [
  "The request and reply of OpenAI's Responses, for clients that use it by default, such as Codex. " +
    'The call is a chat call in another form: the same models, prices, limits, charges and ' +
    'repeats with an `Idempotency-Key` as [POST /chat/completions](#chat).',
  'Nothing is stored, so each call sends the whole conversation in `input`. ' +
    '`previous_response_id`, `conversation`, `prompt`, `background: true` and items of the type ' +
    '`item_reference` get 400; `store` may have any value. Send the items of a reply back as they ' +
    'are: the `encrypted_content` of a `reasoning` item contains all that the model needs to go on.',
  'Tools of the types `function` and `custom` go to the model, also those in a `namespace`, whose ' +
    'name is put before their own. This service runs no tools, so hosted types such as ' +
    '`web_search`, `file_search`, `code_interpreter`, `image_generation`, `mcp` and `computer_use` ' +
    'get 400 that names the type.',
  "A stream consists of OpenAI's events, from `response.created` to `response.completed`, " +
    '`response.incomplete` or `response.failed`. If the reply fails in the middle, ' +
    '`response.failed` has in `response.error` the error that a chat stream would have. There is no `[DONE]`.',
].join('\n\n');

export const createResponse: RouteDocs = {
  operationId: 'createResponse',
  tag: 'Chat',
  summary: "Call a text model through OpenAI's Responses",
  description,
  headers: [idempotencyKey, metadata, callerNumber],
  body: {
    description: 'At most 10 MiB of JSON.',
    examples: one({
      model: 'sandbox/chat',
      input: 'Say hello in three languages.',
      max_output_tokens: 100,
    }),
  },
  replies: {
    200: {
      description:
        'The response. With `stream: true`, server-sent events: the schema under ' +
        '`text/event-stream` describes the `data` of each.',
      headers: ['Charge?', 'Ignored?', 'Replayed?', 'CacheControl?', 'AccelBuffering?'],
      examples: one(exampleResponse),
      events: { delta: { value: exampleEvent } },
    },
  },
  errors: [
    'bad_request',
    'unknown_model',
    'forbidden',
    'bad_messages',
    'context_length_exceeded',
    'invalid_input',
    'insufficient_balance',
    'key_limit_reached',
    'idempotency_conflict',
    'payload_too_large',
    'unsupported_media_type',
    'submit_failed',
    'capacity_unavailable',
  ],
  errorHeaders: { 409: ['RetryAfter?'] },
};
