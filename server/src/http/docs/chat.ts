import { idempotencyKey } from './queue.ts';
import {
  boolean,
  integer,
  list,
  microUsd,
  nullable,
  one,
  openObject,
  ref,
  text,
  type RouteDocs,
  type Schema,
} from './schema.ts';

/** POST /chat/completions: OpenAI's shapes, and what is ours in them. */

const exampleUsage = {
  prompt_tokens: 14,
  completion_tokens: 7,
  total_tokens: 21,
  cost_usd_micro: '14',
};

const identity = {
  id: 'chatcmpl-0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10',
  created: 1_772_366_400,
  model: 'sandbox/chat',
};

const exampleCompletion = {
  ...identity,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: 'Hello. Hallo. Bonjour.', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: exampleUsage,
};

const exampleChunk = {
  ...identity,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: 'Hello.' }, logprobs: null, finish_reason: null }],
};

/** The fields that go to the model as they are; their types as far as they are checked. */
const passed: Record<string, Schema> = {
  temperature: { type: 'number' },
  top_p: { type: 'number' },
  presence_penalty: { type: 'number' },
  frequency_penalty: { type: 'number' },
  seed: { type: 'integer' },
  stop: {
    anyOf: [
      { type: 'string', nullable: true },
      { type: 'array', items: { type: 'string' } },
    ],
  },
  logit_bias: { type: 'object', additionalProperties: true },
  logprobs: { type: 'boolean' },
  top_logprobs: { type: 'integer' },
  response_format: { type: 'object', additionalProperties: true },
  tools: list(
    { type: 'object', additionalProperties: true },
    '`function` and `custom` tools only.',
  ),
  tool_choice: textOrObject(),
  parallel_tool_calls: { type: 'boolean' },
  functions: { type: 'array', items: { type: 'object', additionalProperties: true } },
  function_call: textOrObject(),
  reasoning_effort: { type: 'string' },
  verbosity: { type: 'string' },
  user: { type: 'string' },
};

function textOrObject(): Schema {
  const anyObject = { type: 'object', additionalProperties: true };
  return { anyOf: [{ type: 'string', nullable: true }, anyObject] };
}

/** In OpenAI's own service null means not given, so it does here. */
function optional(schema: Schema): Schema {
  return schema.type === undefined ? schema : nullable(schema);
}

const passedFields = Object.fromEntries(
  Object.entries(passed).map(([name, schema]) => [name, optional(schema)]),
);

const ownFields: Record<string, Schema> = {
  model: text('The id of a text model.'),
  messages: list(ref('ChatMessage'), 'The conversation, oldest first.', {
    minItems: 1,
    maxItems: 10_000,
  }),
  max_tokens: nullable(
    integer("Completion tokens at most. Left out: 4096. The model's own ceiling holds as well.", {
      minimum: 1,
    }),
  ),
  max_completion_tokens: nullable(integer('The same as `max_tokens`.', { minimum: 1 })),
  n: nullable(integer('Only 1.', { minimum: 1, maximum: 1 })),
  stream: nullable(boolean('Answer as server-sent events.')),
  stream_options: nullable(
    openObject(
      { include_usage: nullable(boolean('Ask for a last chunk with `usage`.')) },
      ['include_usage'],
      { description: 'For streams.' },
    ),
  ),
};

const requestFields = { ...ownFields, ...passedFields };

export const schemas: Record<string, Schema> = {
  ChatMessage: openObject(
    {
      role: {
        type: 'string',
        enum: ['system', 'developer', 'user', 'assistant', 'tool', 'function'],
      },
      content: {
        description:
          'A text, or a list of parts: `text`, `refusal`, `image_url`, `input_audio`, `file`. ' +
          'May be missing where an assistant called tools, and of a tool.',
        anyOf: [
          { type: 'string', nullable: true },
          { type: 'array', minItems: 1, items: { type: 'object', additionalProperties: true } },
        ],
      },
    },
    ['content'],
  ),
  ChatRequest: openObject(
    requestFields,
    Object.keys(requestFields).filter((name) => name !== 'model' && name !== 'messages'),
    { description: 'Fields that are not named here are dropped.' },
  ),
  ChatUsage: openObject(
    {
      prompt_tokens: integer('Tokens read.'),
      completion_tokens: integer('Tokens written.'),
      total_tokens: integer('Both.'),
      cost_usd_micro: microUsd('What the call cost.'),
    },
    [],
    {
      description: "The model's own count where it gives one; else what was delivered is counted.",
    },
  ),
  ChatCompletion: openObject(
    {
      id: text('`chatcmpl-` and the id of the request.'),
      object: { type: 'string', enum: ['chat.completion'] },
      created: integer('Unix seconds.'),
      model: text('The catalog id.'),
      choices: list(
        openObject({
          index: integer('0.'),
          message: openObject({
            role: text('`assistant`.'),
            content: nullable(text('The reply.')),
          }),
          finish_reason: nullable(text('`stop`, `length`, `tool_calls` …')),
        }),
        'One.',
      ),
      usage: ref('ChatUsage'),
    },
    ['usage'],
  ),
  ChatChunk: openObject(
    {
      id: text('The same in every chunk.'),
      object: { type: 'string', enum: ['chat.completion.chunk'] },
      created: integer('Unix seconds.'),
      model: text('The catalog id.'),
      choices: list(
        openObject(
          {
            index: integer('0.'),
            delta: { type: 'object', additionalProperties: true, description: 'What is new.' },
            finish_reason: nullable(text('In the last chunk of the text.')),
          },
          ['finish_reason'],
        ),
        'Empty in the usage chunk.',
      ),
      usage: nullable(
        openObject({ cost_usd_micro: microUsd('What the call cost.') }, [], {
          description: 'Where asked for: null until the last chunk, then as `ChatUsage`.',
        }),
      ),
    },
    ['usage'],
  ),
};

const description = [
  "The same request and reply as OpenAI's chat completions, streamed or not; stock clients work " +
    'with this base address and `Bearer <API_KEY>`. Added: `usage.cost_usd_micro` and the header ' +
    '`x-charge-usd-micro` (not on streams).',
  'Before the call the most that it can cost is reserved: the prompt, bounded from above, and ' +
    '`max_tokens`. The charge is what was really used, never more.',
  'A stream is server-sent events: `data:` with a chunk each, a chunk with `usage` and no ' +
    'choices where `stream_options.include_usage` asks, then `data: [DONE]`. A line `: ' +
    'keep-alive` comes every 15 seconds. A fault in the middle is a last chunk with a top-level ' +
    '`error`, then `[DONE]`; what was delivered is charged. Who leaves in the middle pays for ' +
    'what was delivered.',
  'With an `Idempotency-Key` the reply is kept and repeated (a stream as a stream of its whole ' +
    'text). While the first call under a key runs, a second one waits 10 seconds for it, then ' +
    'gets 409 with `Retry-After: 1`. A call that failed frees its key.',
].join('\n\n');

export const chat: RouteDocs = {
  operationId: 'chatCompletions',
  tag: 'Chat',
  summary: 'Call a text model',
  description,
  parameters: [idempotencyKey],
  body: {
    required: true,
    description: 'At most 10 MiB of JSON.',
    content: {
      'application/json': {
        schema: ref('ChatRequest'),
        examples: one({
          model: 'sandbox/chat',
          messages: [{ role: 'user', content: 'Say hello in three languages.' }],
          max_tokens: 100,
        }),
      },
    },
  },
  replies: {
    200: {
      description:
        'The completion; or, with `stream: true`, the chunks: the schema of `text/event-stream` ' +
        'is that of the `data` of each event before `[DONE]`.',
      headers: ['Charge?', 'Replayed?'],
      content: {
        'application/json': { schema: ref('ChatCompletion'), examples: one(exampleCompletion) },
        'text/event-stream': {
          schema: { anyOf: [ref('ChatChunk'), ref('Error')] },
          examples: { chunk: { value: exampleChunk } },
        },
      },
    },
  },
  errors: [
    'bad_request',
    'unknown_model',
    'bad_messages',
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
