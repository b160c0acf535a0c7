import { callerNumber, idempotencyKey, metadata } from './queue.ts';
import { exampleId } from '../request-examples.ts';
import { one, type RouteDocs } from '../route-docs.ts';

/** POST /messages and POST /messages/count_tokens */

const exampleMessage = {
  id: `msg_${exampleId}`,
  type: 'message',
  role: 'assistant',
  model: 'sandbox/chat',
  content: [{ type: 'text', text: 'Hello. Hallo. Bonjour.', citations: null }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  stop_details: null,
  container: null,
  diagnostics: null,
  usage: {
    input_tokens: 14,
    cache_creation_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    cache_read_input_tokens: 0,
    output_tokens: 7,
    output_tokens_details: null,
    server_tool_use: null,
    service_tier: 'standard',
    inference_geo: null,
    speed: null,
    cost_usd_micro: '5',
  },
};

const exampleEvent = {
  type: 'content_block_delta',
  index: 0,
  delta: { type: 'text_delta', text: 'Hello.' },
};

const prompt = {
  model: 'sandbox/chat',
  messages: [{ role: 'user', content: 'Say hello in three languages.' }],
};

const description = [
  "Every text model in the form of Anthropic's Messages, for Claude Code, Anthropic's SDKs and the AI " +
    'SDK. Price, limits, `Idempotency-Key` and charges are those of ' +
    '`POST /chat/completions`. `usage.cost_usd_micro` and `x-charge-usd-micro` are added.',
  'Content: texts; images as base64, URL or a `file_id` of `POST /files`; PDF for models that take ' +
    'files; tool calls and their results; reasoning, which the model gets back with its ' +
    'signature. A last message of the assistant goes to the model as it is: whether it is ' +
    'continued depends on the model.',
  "The reasoning effort is `output_config.effort`; models of OpenAI's APIs get `high` for `xhigh` and `max`. " +
    'Without this field, `budget_tokens` of `thinking` decides: up to 4096 is `low`, up to 16384 ' +
    '`medium`, more is `high`. With `thinking` `disabled` the model gets no effort. `top_k`, and ' +
    '`cache_control` without its `ttl`, reach the models that take them; `x-ignored-fields` ' +
    'names the fields that did not reach the model. ' +
    'Accepted without effect: the ' +
    "headers `anthropic-version` and `anthropic-beta`. Anthropic's own tools, such as web search, " +
    '`mcp_servers`, `container` and `thread` get 400.',
  'A model may write a tool call whose input is no JSON object, for example because `max_tokens` cut ' +
    'it. In a whole reply its `input` is then `{"INVALID_JSON": "<the text>"}`, which does not ' +
    'fit the schema of the tool; a stream passes the text on as it comes.',
  'A stream has the events of Anthropic: `message_start`, then for each block ' +
    '`content_block_start`, `content_block_delta` and `content_block_stop`, then `message_delta` ' +
    'with the usage, and `message_stop`. If the reply breaks off, the last event is `event: error`. ' +
    'If something was charged, a `message_delta` with the usage precedes it.',
  'The key may come as `x-api-key`. Errors have the form of Anthropic, with our `code`, `param` and ' +
    '`details` added.',
].join('\n\n');

const errors: RouteDocs['errors'] = [
  'bad_request',
  'unknown_model',
  'forbidden',
  'bad_messages',
  'context_length_exceeded',
  'payload_too_large',
  'unsupported_media_type',
  'capacity_unavailable',
];

const errorHeaders: RouteDocs['errorHeaders'] = Object.fromEntries(
  [400, 401, 402, 403, 405, 409, 413, 415, 429, 500, 502, 503].map((status) => [
    status,
    status === 409 ? ['AnthropicId', 'RetryAfter?'] : ['AnthropicId'],
  ]),
);

export const messages: RouteDocs = {
  operationId: 'createMessage',
  tag: 'Chat',
  summary: "Call a text model in Anthropic's form",
  description,
  headers: [idempotencyKey, metadata, callerNumber],
  body: {
    description: 'At most 10 MiB of JSON.',
    examples: one({ ...prompt, max_tokens: 100 }),
  },
  replies: {
    200: {
      description:
        'The message. With `stream: true`, server-sent events: the schema under ' +
        '`text/event-stream` describes the `data` of each.',
      headers: [
        'AnthropicId',
        'Charge?',
        'Ignored?',
        'Replayed?',
        'CacheControl?',
        'AccelBuffering?',
      ],
      examples: one(exampleMessage),
      events: { piece: { value: exampleEvent } },
    },
  },
  errors: [
    ...errors,
    'invalid_input',
    'insufficient_balance',
    'key_limit_reached',
    'idempotency_conflict',
    'submit_failed',
  ],
  errorHeaders,
};

export const countTokens: RouteDocs = {
  operationId: 'countMessageTokens',
  tag: 'Chat',
  summary: 'Estimate the tokens of a prompt',
  description:
    'The body of `POST /messages`, checked in the same way; `max_tokens` may be missing. Nothing is ' +
    'reserved or charged. The model is not asked: Farebox estimates the tokens in the same way as for ' +
    'a reply without usage, one for four bytes of text, 85 for an image and none for a PDF.',
  body: { description: 'At most 10 MiB of JSON.', examples: one(prompt) },
  replies: {
    200: {
      description: 'The estimate.',
      headers: ['AnthropicId'],
      examples: one({ input_tokens: 11 }),
    },
  },
  errors,
  errorHeaders,
};
