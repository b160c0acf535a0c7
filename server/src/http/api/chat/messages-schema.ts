import { ErrorBody } from '../../schemas/error-schema.ts';
import * as s from '../../schemas/schema.ts';
import { ofCalls } from './chat-schema.ts';

/** Anthropic's Messages and our fields, only to document: `readMessagesCall` checks a call. */

const textOrBlocks = (about: string) => s.either([s.text(), s.list(s.anything())], about);

const messages = s.list(
  s.openObject({
    role: s.choice(['user', 'assistant', 'system']),
    content: textOrBlocks(
      'A text, or a list of blocks. A user sends `text`, `image`, `document`, `tool_result`; ' +
        'the assistant `text`, `thinking`, `redacted_thinking`, `tool_use`.',
    ),
  }),
  'The conversation, oldest first.',
  { minItems: 1 },
);

const tool = s.openObject({
  type: s.optionalOrNull(s.text('Only `custom`.')),
  name: s.text('Its name.'),
  description: s.optionalOrNull(s.text('Its purpose, for the model.')),
  input_schema: s.anything('The JSON schema of its input.'),
  strict: s.optionalOrNull(s.boolean('Follow the schema exactly.')),
});

const toolChoice = s.openObject({
  type: s.choice(['auto', 'any', 'tool', 'none']),
  name: s.optionalOrNull(s.text('With `tool`: its name.')),
  disable_parallel_tool_use: s.optionalOrNull(s.boolean('At most one call in a reply.')),
});

const efforts =
  'Without `output_config.effort`, a budget of up to 4096 tokens means low effort, up to ' +
  '16384 medium, and a larger one high. With `disabled` the model gets no effort, not even `output_config.effort`.';
const thinking = s.openObject(
  {
    type: s.choice(['enabled', 'disabled', 'adaptive', 'between_tools']),
    budget_tokens: s.optionalOrNull(s.integer('With `enabled`.')),
  },
  { description: efforts },
);

const outputConfig = s.openObject({
  effort: s.optionalOrNull(s.text('`low`, `medium`, `high`, `xhigh` or `max`.')),
  format: s.optionalOrNull(s.anything('`{"type":"json_schema","schema":…}`')),
});

const prompt = {
  model: ofCalls.model,
  messages,
  system: s.optional(textOrBlocks('The system prompt: a text, or a list of `text` blocks.')),
  tools: s.optionalOrNull(s.list(tool, 'Tools of your own.')),
  tool_choice: s.optionalOrNull(toolChoice),
  thinking: s.optionalOrNull(thinking),
  output_config: s.optionalOrNull(outputConfig),
  output_format: s.optionalOrNull(s.anything('The older name of `output_config.format`.')),
};

const description =
  'Fields that are not listed here are dropped, except `cache_control` in blocks and tools, which ' +
  'reaches the models that take it, and `mcp_servers`, `container` and `thread`, which get 400.';

const user_id = s.optionalOrNull(s.text('Tells your users apart for the model.'));
const ofReplies = {
  max_tokens: ofCalls.limit('completion tokens.'),
  stream: ofCalls.stream,
  stop_sequences: s.optionalOrNull(s.list(s.text(), 'Texts that end the reply.')),
  temperature: s.optionalOrNull(s.number()),
  top_p: s.optionalOrNull(s.number()),
  top_k: s.optionalOrNull(s.integer('It reaches the models that take it.')),
  metadata: s.optionalOrNull(s.openObject({ user_id })),
};

export const MessageRequest = s.namedOpenObject(
  'MessageRequest',
  { ...prompt, ...ofReplies },
  { description },
);

export const CountRequest = s.namedOpenObject('CountRequest', prompt, { description });

const counted = s.integer('An estimate of the tokens of the prompt.', { minimum: 0 });
export const TokenCount = s.namedObject('TokenCount', { input_tokens: counted });

const thinking_tokens = s.integer('Tokens of the reasoning.');
const MessageUsage = s.namedOpenObject('MessageUsage', {
  input_tokens: s.integer('Prompt tokens, without those read from the cache or written to it.'),
  cache_creation_input_tokens: s.integer("Tokens written to the model's cache."),
  cache_read_input_tokens: s.integer("Tokens read from the model's cache."),
  output_tokens: s.integer('Tokens written.'),
  output_tokens_details: s.nullable(s.openObject({ thinking_tokens })),
  cost_usd_micro: s.optional(ofCalls.cost_usd_micro),
});

const input =
  'The input, in `tool_use`. If the model wrote no JSON object, it is `{"INVALID_JSON": "<its text>"}`.';
const MessageBlock = s.namedOpenObject('MessageBlock', {
  type: s.choice(['text', 'thinking', 'redacted_thinking', 'tool_use']),
  text: s.optional(s.text('In a `text` block.')),
  thinking: s.optional(s.text('In a `thinking` block.')),
  signature: s.optional(s.text('Belongs to `thinking`: send it back unchanged. May be empty.')),
  data: s.optional(s.text('Belongs to `redacted_thinking`: send it back unchanged.')),
  id: s.optional(s.text('In `tool_use`; the `tool_result` repeats it as `tool_use_id`.')),
  name: s.optional(s.text('The tool, in `tool_use`.')),
  input: s.optional(s.anything(input)),
});

const reasons = '`end_turn`, `max_tokens`, `stop_sequence`, `tool_use` or `refusal`.';
const stop =
  'The text of `stop_sequences` that ended the reply; null if none did, or if the model’s server does not tell.';
export const Message = s.namedOpenObject('Message', {
  id: s.text('`msg_` and the id of the request.'),
  type: s.choice(['message']),
  role: s.choice(['assistant']),
  model: s.text('The catalog id.'),
  content: s.list(MessageBlock),
  stop_reason: s.nullable(s.text(reasons)),
  stop_sequence: s.nullable(s.text(stop)),
  stop_details: s.nullable(s.openObject({ type: s.choice(['refusal']) })),
  usage: MessageUsage,
});

const { request_id, ...own } = ErrorBody.properties.error.properties;

const errorType = s.choice([
  'invalid_request_error',
  'authentication_error',
  'billing_error',
  'permission_error',
  'not_found_error',
  'request_too_large',
  'rate_limit_error',
  'api_error',
  'overloaded_error',
]);

/** Our own error with the type that Anthropic's clients know. */
export const MessagesError = s.namedObject('MessagesError', {
  type: s.choice(['error']),
  error: s.object({ ...own, type: errorType }),
  request_id,
});

const delta =
  '`text_delta`, `thinking_delta`, `signature_delta` or `input_json_delta`; in ' +
  '`message_delta` the `stop_reason`.';
export const MessageEvent = s.namedOpenObject('MessageEvent', {
  type: s.choice([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
    'ping',
    'error',
  ]),
  message: s.optional(Message),
  index: s.optional(s.integer('The index of the block.', { minimum: 0 })),
  content_block: s.optional(MessageBlock),
  delta: s.optional(s.anything(delta)),
  usage: s.optional(MessageUsage),
});
