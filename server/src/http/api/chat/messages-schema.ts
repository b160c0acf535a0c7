import { ErrorBody } from '../../schemas/error-schema.ts';
import {
  anything,
  boolean,
  choice,
  either,
  integer,
  list,
  microUsd,
  named,
  nullable,
  number,
  object,
  openObject,
  optional,
  optionalOrNull,
  text,
} from '../../schemas/schema.ts';

/**
 * Request and reply of Anthropic's Messages, and the fields that Farebox adds. For documentation
 * only: `readMessagesCall` checks a call.
 */

const textOrBlocks = (description: string) => either([text(), list(anything())], description);

const prompt = {
  model: text('The id of a text model.'),
  messages: list(
    openObject({
      role: choice(['user', 'assistant', 'system']),
      content: textOrBlocks(
        'A text, or a list of blocks. A user sends `text`, `image`, `document`, `tool_result`; ' +
          'the assistant `text`, `thinking`, `redacted_thinking`, `tool_use`.',
      ),
    }),
    'The conversation, oldest first.',
    { minItems: 1 },
  ),
  system: optional(textOrBlocks('The system prompt: a text, or a list of `text` blocks.')),
  tools: optionalOrNull(
    list(
      openObject({
        type: optionalOrNull(text('Only `custom`.')),
        name: text('Its name.'),
        description: optionalOrNull(text('Its purpose, for the model.')),
        input_schema: anything('The JSON schema of its input.'),
        strict: optionalOrNull(boolean('Follow the schema exactly.')),
      }),
      'Tools of your own.',
    ),
  ),
  tool_choice: optionalOrNull(
    openObject({
      type: choice(['auto', 'any', 'tool', 'none']),
      name: optionalOrNull(text('With `tool`: its name.')),
      disable_parallel_tool_use: optionalOrNull(boolean('At most one call in a reply.')),
    }),
  ),
  thinking: optionalOrNull(
    openObject(
      {
        type: choice(['enabled', 'disabled', 'adaptive', 'between_tools']),
        budget_tokens: optionalOrNull(integer('With `enabled`.')),
      },
      {
        description:
          'Without `output_config.effort`, a budget of up to 4096 tokens means low effort, up to ' +
          '16384 medium, and a larger one high. With `disabled` the model gets no effort, not even `output_config.effort`.',
      },
    ),
  ),
  output_config: optionalOrNull(
    openObject({
      effort: optionalOrNull(text('`low`, `medium`, `high`, `xhigh` or `max`.')),
      format: optionalOrNull(anything('`{"type":"json_schema","schema":…}`')),
    }),
  ),
  output_format: optionalOrNull(anything('The older name of `output_config.format`.')),
};

const dropped =
  'Fields that are not listed here are dropped, except `cache_control` in blocks and tools, which ' +
  'reaches the models that take it, and `mcp_servers`, `container` and `thread`, which get 400.';

export const MessageRequest = named(
  'MessageRequest',
  openObject(
    {
      ...prompt,
      max_tokens: integer(
        "Maximum number of completion tokens. Never more than the model's own maximum.",
        {
          minimum: 1,
        },
      ),
      stream: optionalOrNull(boolean('Answer as server-sent events.')),
      stop_sequences: optionalOrNull(list(text(), 'Texts that end the reply.')),
      temperature: optionalOrNull(number()),
      top_p: optionalOrNull(number()),
      top_k: optionalOrNull(integer('It reaches the models that take it.')),
      metadata: optionalOrNull(
        openObject({ user_id: optionalOrNull(text('Tells your users apart for the model.')) }),
      ),
    },
    { description: dropped },
  ),
);

export const CountRequest = named('CountRequest', openObject(prompt, { description: dropped }));

export const TokenCount = named(
  'TokenCount',
  object({ input_tokens: integer('An estimate of the tokens of the prompt.', { minimum: 0 }) }),
);

const MessageUsage = named(
  'MessageUsage',
  openObject({
    input_tokens: integer('Prompt tokens, without those read from the cache or written to it.'),
    cache_creation_input_tokens: integer("Tokens written to the model's cache."),
    cache_read_input_tokens: integer("Tokens read from the model's cache."),
    output_tokens: integer('Tokens written.'),
    output_tokens_details: nullable(
      openObject({ thinking_tokens: integer('Tokens of the reasoning.') }),
    ),
    cost_usd_micro: optional(microUsd('Cost of the call.')),
  }),
);

const MessageBlock = named(
  'MessageBlock',
  openObject({
    type: choice(['text', 'thinking', 'redacted_thinking', 'tool_use']),
    text: optional(text('In a `text` block.')),
    thinking: optional(text('In a `thinking` block.')),
    signature: optional(text('Belongs to `thinking`: send it back unchanged. May be empty.')),
    data: optional(text('Belongs to `redacted_thinking`: send it back unchanged.')),
    id: optional(text('In `tool_use`; the `tool_result` repeats it as `tool_use_id`.')),
    name: optional(text('The tool, in `tool_use`.')),
    input: optional(
      anything(
        'The input, in `tool_use`. If the model wrote no JSON object, it is `{"INVALID_JSON": "<its text>"}`.',
      ),
    ),
  }),
);

export const Message = named(
  'Message',
  openObject({
    id: text('`msg_` and the id of the request.'),
    type: choice(['message']),
    role: choice(['assistant']),
    model: text('The catalog id.'),
    content: list(MessageBlock),
    stop_reason: nullable(
      text('`end_turn`, `max_tokens`, `stop_sequence`, `tool_use` or `refusal`.'),
    ),
    stop_sequence: nullable(
      text(
        'The text of `stop_sequences` that ended the reply; null if none did, or if the model’s server does not tell.',
      ),
    ),
    stop_details: nullable(openObject({ type: choice(['refusal']) })),
    usage: MessageUsage,
  }),
);

const { request_id, ...own } = ErrorBody.properties.error.properties;

/** Our own error with the type that Anthropic's clients know. */
export const MessagesError = named(
  'MessagesError',
  object({
    type: choice(['error']),
    error: object({
      ...own,
      type: choice([
        'invalid_request_error',
        'authentication_error',
        'billing_error',
        'permission_error',
        'not_found_error',
        'request_too_large',
        'rate_limit_error',
        'api_error',
        'overloaded_error',
      ]),
    }),
    request_id,
  }),
);

export const MessageEvent = named(
  'MessageEvent',
  openObject({
    type: choice([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      'error',
    ]),
    message: optional(Message),
    index: optional(integer('The index of the block.', { minimum: 0 })),
    content_block: optional(MessageBlock),
    delta: optional(
      anything(
        '`text_delta`, `thinking_delta`, `signature_delta` or `input_json_delta`; in ' +
          '`message_delta` the `stop_reason`.',
      ),
    ),
    usage: optional(MessageUsage),
  }),
);
