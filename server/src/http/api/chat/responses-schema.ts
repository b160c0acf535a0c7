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
  openObject,
  optional,
  optionalOrNull,
  record,
  text,
} from '../../schemas/schema.ts';

/**
 * Request and reply of OpenAI's Responses. For documentation only: `readResponsesCall` checks a
 * call, and `responsesWriter` writes its reply.
 */

const ResponseItem = named(
  'ResponseItem',
  openObject(
    {
      type: optional(
        choice([
          'message',
          'reasoning',
          'function_call',
          'function_call_output',
          'custom_tool_call',
          'custom_tool_call_output',
        ]),
      ),
    },
    {
      description:
        'A `message` (the type may be missing) has `role` (`user`, `system`, `developer`, ' +
        '`assistant`) and `content`, a text or a list of `input_text`, `input_image`, ' +
        '`input_file`, `output_text` and `refusal`. Send the items of a reply back unchanged.',
    },
  ),
);

export const ResponseRequest = named(
  'ResponseRequest',
  openObject(
    {
      model: text('The id of a text model.'),
      input: either(
        [text(), list(ResponseItem, undefined, { minItems: 1 })],
        'The whole conversation, oldest first. A text is one message of the user.',
      ),
      instructions: optionalOrNull(text('The first system message.')),
      max_output_tokens: optionalOrNull(
        integer(
          "Maximum number of tokens to write. Default: 32768. Never more than the model's own maximum.",
          {
            minimum: 1,
          },
        ),
      ),
      stream: optionalOrNull(boolean('Answer as server-sent events.')),
      temperature: optionalOrNull(number()),
      top_p: optionalOrNull(number()),
      top_logprobs: optionalOrNull(integer()),
      tools: optionalOrNull(
        list(anything(), '`function` and `custom` tools only, also in a `namespace`.'),
      ),
      tool_choice: optional(either([nullable(text()), anything()])),
      parallel_tool_calls: optionalOrNull(boolean()),
      text: optionalOrNull(
        openObject({
          format: optionalOrNull(anything('`text`, `json_object` or `json_schema`.')),
          verbosity: optionalOrNull(text()),
        }),
      ),
      reasoning: optionalOrNull(openObject({ effort: optionalOrNull(text()) })),
      include: optionalOrNull(
        list(text(), '`message.output_text.logprobs` asks for log probabilities.'),
      ),
      user: optionalOrNull(text()),
      metadata: optionalOrNull(
        record(text(), 'Kept with the request and repeated in the reply; no model gets it.'),
      ),
    },
    {
      description:
        '`max_tool_calls` is only repeated in the reply. `prompt_cache_key` and ' +
        '`safety_identifier` go to the models that take them. `previous_response_id`, ' +
        '`conversation`, `prompt` and `background: true` get 400. `x-ignored-fields` names ' +
        'what has no effect.',
    },
  ),
);

const usage = openObject({
  input_tokens: integer('Tokens read.'),
  input_tokens_details: openObject({
    cached_tokens: integer(),
    cache_write_tokens: integer(),
  }),
  output_tokens: integer('Tokens written.'),
  output_tokens_details: openObject({ reasoning_tokens: integer() }),
  total_tokens: integer('Tokens read and written.'),
  cost_usd_micro: microUsd('Cost of the call.'),
});

const status = choice(['in_progress', 'completed', 'incomplete', 'failed']);

const OutputItem = named(
  'ResponseOutputItem',
  openObject(
    {
      id: text(),
      type: choice(['message', 'reasoning', 'function_call', 'custom_tool_call']),
      status,
    },
    {
      description:
        'A `message` has `content`, a list of `output_text` and `refusal`. A `reasoning` has ' +
        '`summary`, `content` and `encrypted_content`. A call has `call_id`, `name` and ' +
        '`arguments` or `input`.',
    },
  ),
);

export const ResponseObject = named(
  'Response',
  openObject(
    {
      id: text('`resp_` and the id of the request.'),
      object: choice(['response']),
      created_at: integer('Unix seconds.'),
      completed_at: nullable(integer('Unix seconds; null unless the status is `completed`.')),
      model: text('The catalog id.'),
      status,
      output: list(OutputItem),
      incomplete_details: nullable(
        openObject({ reason: choice(['max_output_tokens', 'content_filter']) }),
      ),
      error: nullable(
        openObject(
          { code: text(), message: text() },
          { description: 'If the status is `failed`.' },
        ),
      ),
      usage: nullable(usage),
    },
    { description: 'It also repeats fields of the call. `store` is always false.' },
  ),
);

export const ResponseEvent = named(
  'ResponseEvent',
  openObject(
    {
      type: text('The same as the name of the event, such as `response.output_text.delta`.'),
      sequence_number: integer('From 0, without gaps.'),
      response: optional(ResponseObject),
    },
    { description: "An event of OpenAI's Responses, with its own fields." },
  ),
);
