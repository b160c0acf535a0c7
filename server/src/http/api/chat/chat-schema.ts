import * as checks from '../../../core/check.ts';
import { passingFields } from '../../../core/apis/completions/read-call.ts';
import type { Shape } from '../../../core/check.ts';
import { optionalFields } from '../../../core/chat/optional-fields.ts';
import {
  type TSchema,
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
  openObject,
  optional,
  optionalOrNull,
  record,
  text,
} from '../../schemas/schema.ts';

/**
 * Request and reply of the chat call: OpenAI's shapes, and the fields that Farebox adds. For
 * documentation only: `readCompletionsCall` checks a call, `completionsWriter` writes its reply.
 */

/** How the document shows a checked field. */
function shown(shape: Shape) {
  const plain = plainSchemas.get(shape);
  if (plain) return optionalOrNull(plain());
  if (shape === checks.textOrTexts) return optional(either([nullable(text()), list(text())]));
  if ('isText' in shape) return optional(either([nullable(text()), anything()]));
  return optionalOrNull('list' in shape ? list(anything()) : anything());
}

const plainSchemas = new Map<Shape, () => TSchema>([
  [checks.boolean, boolean],
  [checks.number, number],
  [checks.integer, integer],
  [checks.longInteger, integer],
  [checks.text, text],
]);

const shownAll = (shapes: Readonly<Record<string, Shape>>) =>
  Object.fromEntries(Object.entries(shapes).map(([field, shape]) => [field, shown(shape)]));

const ChatMessage = named(
  'ChatMessage',
  openObject(
    {
      role: choice(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
      content: optional(
        either(
          [nullable(text()), list(anything(), undefined, { minItems: 1 })],
          'A text, or a list of parts: `text`, `refusal`, `image_url`, `input_audio`, ' +
            '`file`. May be missing in a `tool` message, and in an `assistant` message that ' +
            'calls tools.',
        ),
      ),
    },
    {
      description:
        'Other accepted fields: `name`, `tool_calls`, `tool_call_id`, `function_call`, ' +
        '`refusal`, `reasoning`, `reasoning_content`, `reasoning_details`, `extra_content` and ' +
        '`audio.id`. ' +
        'All others, also in parts, are left out, but `cache_control` reaches some models.',
    },
  ),
);

export const ChatRequest = named(
  'ChatRequest',
  openObject(
    {
      model: text('The id of a text model.'),
      messages: list(ChatMessage, 'The conversation, oldest first.', {
        minItems: 1,
        maxItems: 10_000,
      }),
      max_tokens: optionalOrNull(
        integer(
          "Maximum number of completion tokens. Default: 4096. Never more than the model's own maximum.",
          {
            minimum: 1,
          },
        ),
      ),
      max_completion_tokens: optionalOrNull(integer('The same as `max_tokens`.', { minimum: 1 })),
      n: optionalOrNull(integer('Only 1.', { minimum: 1, maximum: 1 })),
      stream: optionalOrNull(boolean('Answer as server-sent events.')),
      stream_options: optionalOrNull(
        openObject(
          {
            include_usage: optionalOrNull(
              boolean('True: one more chunk, with `usage`, comes at the end.'),
            ),
          },
          { description: 'For streams.' },
        ),
      ),
      metadata: optionalOrNull(
        record(text(), 'Pairs of texts that are kept with the request; no model gets them.'),
      ),
      ...shownAll(passingFields),
      tools: optionalOrNull(list(anything(), '`function` and `custom` tools only.')),
      ...shownAll(optionalFields),
    },
    {
      description:
        'Fields that are not listed here are left out. `top_k` and the fields after it go only to ' +
        'models that take them. `x-ignored-fields` names the fields that were left out.',
    },
  ),
);

const usage = {
  prompt_tokens: integer('Tokens read.'),
  completion_tokens: integer('Tokens written.'),
  total_tokens: integer('Tokens read and written.'),
  cost_usd_micro: microUsd('Cost of the call.'),
};

export const ChatUsage = named(
  'ChatUsage',
  openObject(usage, {
    description:
      "The model's own count if it reports one; otherwise a count of what was delivered.",
  }),
);

const callId = text(
  'Id of the tool call; the message with its result repeats it as `tool_call_id`.',
);

const FunctionCall = named(
  'FunctionCall',
  openObject({
    id: callId,
    type: choice(['function']),
    function: openObject({
      name: text('The tool.'),
      arguments: text('JSON, as the model wrote it: it may be invalid.'),
    }),
  }),
);

const CustomCall = named(
  'CustomCall',
  openObject({
    id: callId,
    type: choice(['custom']),
    custom: openObject({ name: text('The tool.'), input: text('The input, as a text.') }),
  }),
);

const ToolCall = named('ToolCall', either([FunctionCall, CustomCall]));

/** The fields a model writes besides its text, complete or in pieces. */
const written = {
  refusal: optionalOrNull(text('The reason why the model does not answer.')),
  reasoning: optionalOrNull(text('The reasoning; some models send `reasoning_content`.')),
  reasoning_content: optionalOrNull(text('The reasoning; some models send `reasoning`.')),
};

const stopReason = optionalOrNull(
  text('The text of `stop` that ended the reply, if the model’s server tells it.'),
);

export const ChatCompletion = named(
  'ChatCompletion',
  openObject({
    id: text('`chatcmpl-` and the id of the request.'),
    object: choice(['chat.completion']),
    created: integer('Unix seconds.'),
    model: text('The catalog id.'),
    choices: list(
      openObject({
        index: integer('0.'),
        message: openObject({
          role: choice(['assistant']),
          content: nullable(text('The reply.')),
          ...written,
          tool_calls: optionalOrNull(list(ToolCall, 'Tools that the model calls.')),
        }),
        finish_reason: nullable(text('`stop`, `length`, `tool_calls` …')),
        stop_reason: stopReason,
      }),
      'One.',
    ),
    usage: ChatUsage,
  }),
);

const toolCallPiece = openObject({
  index: integer('Index of the tool call that this piece belongs to.'),
  id: optional(text('In the first piece of a call.')),
  type: optional(text('`function` or `custom`, in the first piece of a call.')),
  function: optional(
    openObject({
      name: optional(text('In the first piece.')),
      arguments: optional(text('The next piece of the JSON.')),
    }),
  ),
  custom: optional(
    openObject({
      name: optional(text('In the first piece.')),
      input: optional(text('The next piece.')),
    }),
  ),
});

export const ChatChunk = named(
  'ChatChunk',
  openObject({
    id: text('The same in every chunk.'),
    object: choice(['chat.completion.chunk']),
    created: integer('Unix seconds.'),
    model: text('The catalog id.'),
    choices: list(
      openObject({
        index: integer('0.'),
        delta: openObject(
          {
            role: optional(text('`assistant`, in the first chunk.')),
            content: optionalOrNull(text('The next piece of the reply.')),
            ...written,
            tool_calls: optionalOrNull(list(toolCallPiece, 'Pieces of tool calls.')),
          },
          { description: 'The new piece.' },
        ),
        finish_reason: optionalOrNull(text('In the last chunk of the text.')),
        stop_reason: stopReason,
      }),
      'Empty in the usage chunk.',
    ),
    usage: optionalOrNull(
      openObject(usage, {
        description: 'Only if requested: null until the last chunk, which has a `ChatUsage`.',
      }),
    ),
  }),
);
