import {
  boolean,
  integer,
  list,
  microUsd,
  nullable,
  openObject,
  ref,
  text,
  type Schema,
} from './schema.ts';

/** What the chat call takes and gives: OpenAI's shapes, and what is ours in them. */

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

const usageFields = {
  prompt_tokens: integer('Tokens read.'),
  completion_tokens: integer('Tokens written.'),
  total_tokens: integer('Both.'),
  cost_usd_micro: microUsd('What the call cost.'),
};

/** What a model writes besides its text, whole or piece by piece. */
const writtenFields = {
  refusal: nullable(text('Why the model does not answer.')),
  reasoning: nullable(text('The reasoning; some models say `reasoning_content`.')),
  reasoning_content: nullable(text('The reasoning; some models say `reasoning`.')),
};
const toolCallPiece = openObject(
  {
    index: integer('Which call of the reply it belongs to.'),
    id: text('In the first piece of a call.'),
    type: text('`function` or `custom`, in the first piece of a call.'),
    function: openObject(
      { name: text('In the first piece.'), arguments: text('The next piece of the JSON.') },
      ['name', 'arguments'],
    ),
    custom: openObject({ name: text('In the first piece.'), input: text('The next piece.') }, [
      'name',
      'input',
    ]),
  },
  ['id', 'type', 'function', 'custom'],
);
const written = [...Object.keys(writtenFields), 'tool_calls'];

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
    {
      description:
        'Besides these: `name`, `tool_calls`, `tool_call_id`, `function_call`, `refusal`, ' +
        '`reasoning`, `reasoning_content`, `reasoning_details` and `audio.id`. Other fields, also ' +
        'of parts, are dropped.',
    },
  ),
  ChatRequest: openObject(
    requestFields,
    Object.keys(requestFields).filter((name) => name !== 'model' && name !== 'messages'),
    { description: 'Fields that are not named here are dropped.' },
  ),
  ChatUsage: openObject(usageFields, [], {
    description: "The model's own count where it gives one; else what was delivered is counted.",
  }),
  FunctionCall: openObject({
    id: text('Names the call; the reply with its result has it as `tool_call_id`.'),
    type: { type: 'string', enum: ['function'] },
    function: openObject({
      name: text('The tool.'),
      arguments: text('JSON, as the model wrote it: it may be invalid.'),
    }),
  }),
  CustomCall: openObject({
    id: text('Names the call; the reply with its result has it as `tool_call_id`.'),
    type: { type: 'string', enum: ['custom'] },
    custom: openObject({ name: text('The tool.'), input: text('The text of the reply.') }),
  }),
  ToolCall: { anyOf: [ref('FunctionCall'), ref('CustomCall')] },
  ChatCompletion: openObject(
    {
      id: text('`chatcmpl-` and the id of the request.'),
      object: { type: 'string', enum: ['chat.completion'] },
      created: integer('Unix seconds.'),
      model: text('The catalog id.'),
      choices: list(
        openObject({
          index: integer('0.'),
          message: openObject(
            {
              role: { type: 'string', enum: ['assistant'] },
              content: nullable(text('The reply.')),
              ...writtenFields,
              tool_calls: nullable(list(ref('ToolCall'), 'Tools that the model calls.')),
            },
            written,
          ),
          finish_reason: nullable(text('`stop`, `length`, `tool_calls` …')),
        }),
        'One.',
      ),
      usage: ref('ChatUsage'),
    },
    [],
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
            delta: openObject(
              {
                role: text('`assistant`, in the first chunk.'),
                content: nullable(text('The next piece of the reply.')),
                ...writtenFields,
                tool_calls: nullable(list(toolCallPiece, 'Pieces of tool calls.')),
              },
              ['role', 'content', ...written],
              { description: 'What is new.' },
            ),
            finish_reason: nullable(text('In the last chunk of the text.')),
          },
          ['finish_reason'],
        ),
        'Empty in the usage chunk.',
      ),
      usage: nullable(
        openObject(usageFields, [], {
          description: 'Where asked for: null until the last chunk, then as `ChatUsage`.',
        }),
      ),
    },
    ['usage'],
  ),
};
