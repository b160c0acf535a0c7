import * as s from '../../schemas/schema.ts';
import { ofCalls } from './chat-schema.ts';

/** OpenAI's Responses, for documentation only: `readResponsesCall` checks a call. */

const items =
  'A `message` (the type may be missing) has `role` (`user`, `system`, `developer`, ' +
  '`assistant`) and `content`, a text or a list of `input_text`, `input_image`, ' +
  '`input_file`, `output_text` and `refusal`. Send the items of a reply back unchanged. ' +
  'The items of Codex are read or named in `x-ignored-fields`.';
const ResponseItem = s.namedOpenObject(
  'ResponseItem',
  { type: s.optional(s.text()) },
  { description: items },
);

const input = 'The whole conversation, oldest first. A text is one message of the user.';
const limit = ofCalls.limit('tokens to write. Default: 32768.');
const tools = '`function` and `custom` tools only, also in a `namespace`.';
const text = s.openObject({
  format: s.optionalOrNull(s.anything('`text`, `json_object` or `json_schema`.')),
  verbosity: s.optionalOrNull(s.text()),
});
const reasoning = s.openObject({
  effort: s.optionalOrNull(s.text()),
  summary: s.optionalOrNull(s.text('Asks for a summary: `auto`, `concise` or `detailed`.')),
});
const include = '`message.output_text.logprobs` asks for log probabilities.';
const metadata = 'Kept with the request and repeated in the reply; no model gets it.';
const others =
  '`max_tool_calls` is only repeated in the reply. `prompt_cache_key` and ' +
  '`safety_identifier` go to the models that take them. `previous_response_id`, ' +
  '`conversation`, `prompt` and `background: true` get 400. `x-ignored-fields` names ' +
  'what has no effect.';

export const ResponseRequest = s.namedOpenObject(
  'ResponseRequest',

  {
    model: ofCalls.model,
    input: s.either([s.text(), s.list(ResponseItem, undefined, { minItems: 1 })], input),
    instructions: s.optionalOrNull(s.text('The first system message.')),
    max_output_tokens: s.optionalOrNull(limit),
    stream: ofCalls.stream,
    temperature: s.optionalOrNull(s.number()),
    top_p: s.optionalOrNull(s.number()),
    top_logprobs: s.optionalOrNull(s.integer()),
    tools: s.optionalOrNull(s.list(s.anything(), tools)),
    tool_choice: s.optional(s.either([s.nullable(s.text()), s.anything()])),
    parallel_tool_calls: s.optionalOrNull(s.boolean()),
    text: s.optionalOrNull(text),
    reasoning: s.optionalOrNull(reasoning),
    include: s.optionalOrNull(s.list(s.text(), include)),
    user: s.optionalOrNull(s.text()),
    metadata: s.optionalOrNull(s.record(s.text(), metadata)),
  },
  { description: others },
);

const usage = s.openObject({
  input_tokens: s.integer('Tokens read.'),
  input_tokens_details: s.openObject({
    cached_tokens: s.integer(),
    cache_write_tokens: s.integer(),
  }),
  output_tokens: s.integer('Tokens written.'),
  output_tokens_details: s.openObject({ reasoning_tokens: s.integer() }),
  total_tokens: s.integer('Tokens read and written.'),
  cost_usd_micro: ofCalls.cost_usd_micro,
});

const status = s.choice(['in_progress', 'completed', 'incomplete', 'failed']);

const outputs =
  'A `message` has `content`, a list of `output_text` and `refusal`. A `reasoning` has ' +
  '`summary`, `content` and `encrypted_content`. A call has `call_id`, `name` and ' +
  '`arguments` or `input`.';
const outputTypes = ['message', 'reasoning', 'function_call', 'custom_tool_call'];
const OutputItem = s.namedOpenObject(
  'ResponseOutputItem',
  { id: s.text(), type: s.choice(outputTypes), status },
  { description: outputs },
);

const reason = s.choice(['max_output_tokens', 'content_filter']);
const error = s.openObject(
  { code: s.text(), message: s.text() },
  { description: 'If the status is `failed`.' },
);

export const ResponseObject = s.namedOpenObject(
  'Response',

  {
    id: s.text('`resp_` and the id of the request.'),
    object: s.choice(['response']),
    created_at: s.integer('Unix seconds.'),
    completed_at: s.nullable(s.integer('Unix seconds; null unless the status is `completed`.')),
    model: s.text('The catalog id.'),
    status,
    output: s.list(OutputItem),
    incomplete_details: s.nullable(s.openObject({ reason })),
    error: s.nullable(error),
    usage: s.nullable(usage),
  },
  { description: 'It also repeats fields of the call. `store` is always false.' },
);

export const ResponseEvent = s.namedOpenObject(
  'ResponseEvent',

  {
    type: s.text('The same as the name of the event, such as `response.output_text.delta`.'),
    sequence_number: s.integer('From 0, without gaps.'),
    response: s.optional(ResponseObject),
  },
  { description: "An event of OpenAI's Responses, with its own fields." },
);
