import * as checks from '../../../core/check.ts';
import { passingFields } from '../../../core/apis/completions/read-call.ts';
import { optionalFields } from '../../../core/chat/optional-fields.ts';
import * as s from '../../schemas/schema.ts';

/** Chat completions and our fields, for documentation only: `readCompletionsCall` checks a call. */

const atLeastOne = { minimum: 1 };
/** Fields of the calls of all three APIs. `limit`: of which tokens, and the usual one. */
export const ofCalls = {
  model: s.text('The id of a text model.'),
  limit: (most: string) =>
    s.integer(`Maximum number of ${most} Never more than the model's own maximum.`, atLeastOne),
  stream: s.optionalOrNull(s.boolean('Answer as server-sent events.')),
  cost_usd_micro: s.microUsd('Cost of the call.'),
};

/** How the document shows a checked field. */
function shown(shape: checks.Shape) {
  const plain = plainSchemas.get(shape);
  if (plain) return s.optionalOrNull(plain());
  if (shape === checks.textOrTexts)
    return s.optional(s.either([s.nullable(s.text()), s.list(s.text())]));
  if ('isText' in shape) return s.optional(s.either([s.nullable(s.text()), s.anything()]));
  return s.optionalOrNull('list' in shape ? s.list(s.anything()) : s.anything());
}

const plainSchemas = new Map<checks.Shape, () => s.TSchema>([
  [checks.boolean, s.boolean],
  [checks.number, s.number],
  [checks.integer, s.integer],
  [checks.longInteger, s.integer],
  [checks.text, s.text],
]);

const shownAll = (shapes: Readonly<Record<string, checks.Shape>>) =>
  Object.fromEntries(Object.entries(shapes).map(([field, shape]) => [field, shown(shape)]));

const content =
  'A text, or a list of parts: `text`, `refusal`, `image_url`, `input_audio`, `file`. May be ' +
  'missing in a `tool` message, and in an `assistant` message that calls tools.';

const otherFields =
  'Other accepted fields: `name`, `tool_calls`, `tool_call_id`, `function_call`, `refusal`, ' +
  '`reasoning`, `reasoning_content`, `reasoning_details`, `extra_content` and `audio.id`. ' +
  'All others, also in parts, are left out, but `cache_control` reaches some models.';

const ChatMessage = s.namedOpenObject(
  'ChatMessage',

  {
    role: s.choice(['system', 'developer', 'user', 'assistant', 'tool', 'function']),
    content: s.optional(
      s.either([s.nullable(s.text()), s.list(s.anything(), undefined, { minItems: 1 })], content),
    ),
  },
  { description: otherFields },
);

const leftOut =
  'Fields that are not listed here are left out. `top_k` and the fields after it go only to ' +
  'models that take them. `x-ignored-fields` names the fields that were left out.';

const include_usage = s.optionalOrNull(
  s.boolean('True: one more chunk, with `usage`, comes at the end.'),
);
const metadata = 'Pairs of texts that are kept with the request; no model gets them.';

export const ChatRequest = s.namedOpenObject(
  'ChatRequest',

  {
    model: ofCalls.model,
    messages: s.list(ChatMessage, 'The conversation, oldest first.', {
      minItems: 1,
      maxItems: 10_000,
    }),
    max_tokens: s.optionalOrNull(ofCalls.limit('completion tokens. Default: 4096.')),
    max_completion_tokens: s.optionalOrNull(s.integer('The same as `max_tokens`.', atLeastOne)),
    n: s.optionalOrNull(s.integer('Only 1.', { minimum: 1, maximum: 1 })),
    stream: ofCalls.stream,
    stream_options: s.optionalOrNull(
      s.openObject({ include_usage }, { description: 'For streams.' }),
    ),
    metadata: s.optionalOrNull(s.record(s.text(), metadata)),
    ...shownAll(passingFields),
    tools: s.optionalOrNull(s.list(s.anything(), '`function` and `custom` tools only.')),
    ...shownAll(optionalFields),
  },
  { description: leftOut },
);

const usage = {
  prompt_tokens: s.integer('Tokens read.'),
  completion_tokens: s.integer('Tokens written.'),
  total_tokens: s.integer('Tokens read and written.'),
  cost_usd_micro: ofCalls.cost_usd_micro,
};
const counted = "The model's own count if it reports one; otherwise a count of what was delivered.";
const countedLast = 'Only if requested: null until the last chunk, which has a `ChatUsage`.';

export const ChatUsage = s.namedOpenObject('ChatUsage', usage, { description: counted });

const callId = s.text(
  'Id of the tool call; the message with its result repeats it as `tool_call_id`.',
);
const tool = s.text('The tool.');
const callOf = <T extends string, P extends Parameters<typeof s.openObject>[0]>(type: T, own: P) =>
  s.openObject({ id: callId, type: s.choice([type]), [type]: s.openObject(own) });

const json = s.text('JSON, as the model wrote it: it may be invalid.');
const FunctionCall = s.named('FunctionCall', callOf('function', { name: tool, arguments: json }));
const input = s.text('The input, as a text.');
const CustomCall = s.named('CustomCall', callOf('custom', { name: tool, input }));
const ToolCall = s.named('ToolCall', s.either([FunctionCall, CustomCall]));

/** The fields a model writes besides its text, complete or in pieces. */
const written = {
  refusal: s.optionalOrNull(s.text('The reason why the model does not answer.')),
  reasoning: s.optionalOrNull(s.text('The reasoning; some models send `reasoning_content`.')),
  reasoning_content: s.optionalOrNull(s.text('The reasoning; some models send `reasoning`.')),
};

const stop_reason = s.optionalOrNull(
  s.text('The text of `stop` that ended the reply, if the model’s server tells it.'),
);

const message = s.openObject({
  role: s.choice(['assistant']),
  content: s.nullable(s.text('The reply.')),
  ...written,
  tool_calls: s.optionalOrNull(s.list(ToolCall, 'Tools that the model calls.')),
});

export const ChatCompletion = s.namedOpenObject('ChatCompletion', {
  id: s.text('`chatcmpl-` and the id of the request.'),
  object: s.choice(['chat.completion']),
  created: s.integer('Unix seconds.'),
  model: s.text('The catalog id.'),
  choices: s.list(
    s.openObject({
      index: s.integer('0.'),
      message,
      finish_reason: s.nullable(s.text('`stop`, `length`, `tool_calls` …')),
      stop_reason,
    }),
    'One.',
  ),
  usage: ChatUsage,
});

const name = s.optional(s.text('In the first piece.'));
const piece = (about: string) => s.optional(s.text(about));

const toolCallPiece = s.openObject({
  index: s.integer('Index of the tool call that this piece belongs to.'),
  id: piece('In the first piece of a call.'),
  type: piece('`function` or `custom`, in the first piece of a call.'),
  function: s.optional(s.openObject({ name, arguments: piece('The next piece of the JSON.') })),
  custom: s.optional(s.openObject({ name, input: piece('The next piece.') })),
});

const delta = s.openObject(
  {
    role: piece('`assistant`, in the first chunk.'),
    content: s.optionalOrNull(s.text('The next piece of the reply.')),
    ...written,
    tool_calls: s.optionalOrNull(s.list(toolCallPiece, 'Pieces of tool calls.')),
  },
  { description: 'The new piece.' },
);

export const ChatChunk = s.namedOpenObject('ChatChunk', {
  id: s.text('The same in every chunk.'),
  object: s.choice(['chat.completion.chunk']),
  created: s.integer('Unix seconds.'),
  model: s.text('The catalog id.'),
  choices: s.list(
    s.openObject({
      index: s.integer('0.'),
      delta,
      finish_reason: s.optionalOrNull(s.text('In the last chunk of the text.')),
      stop_reason,
    }),
    'Empty in the usage chunk.',
  ),
  usage: s.optionalOrNull(s.openObject(usage, { description: countedLast })),
});
