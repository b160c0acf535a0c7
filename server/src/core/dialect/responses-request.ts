import { isCount, isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { integer, isFilled, isGiven, object, oneOf, text, type Check } from '../check.ts';
import { badField, badRequest } from '../bad-request.ts';
import { rebuilt, unknownFields, type Shape } from '../chat/known-fields.ts';
import { metadataCheck } from '../request/metadata.ts';
import { readInput } from './responses-input.ts';
import { readToolChoice, readTools } from './responses-tools.ts';
import { pathIn } from './turn.ts';

/** Reads a call of OpenAI's Responses as the body of a chat completion. */

/** Fields that a chat completion has under the same name, and whose values it checks. */
const same = ['model', 'stream', 'temperature', 'top_p', 'top_logprobs', 'user'];

/**
 * The limit of calls that set none, as agents do. It is high, because a reply that is cut off stops
 * an agent. OpenAI uses the model's own limit, for which much more would have to be reserved.
 */
const maxTokensDefault = 32_768;

/** Fields that only a service that stores conversations can offer. */
const stored = ['previous_response_id', 'conversation', 'prompt'];

const shortText: Check = {
  is: 'a string of at most 512 characters',
  test: (value) => typeof value === 'string' && value.length <= 512,
};

/** The other fields that are checked here. Null counts as omitted. */
const shapes: Readonly<Record<string, Shape>> = {
  instructions: text,
  reasoning: { fields: { effort: text, summary: text } },
  text: {
    fields: {
      verbosity: text,
      format: {
        fields: {
          type: oneOf('text', 'json_object', 'json_schema'),
          name: text,
          description: text,
          schema: object,
          strict: { is: 'true or false', test: (value) => typeof value === 'boolean' },
        },
      },
    },
  },
  include: { list: text },
  // The reply repeats these, so they are short.
  max_tool_calls: integer,
  metadata: metadataCheck,
  prompt_cache_key: shortText,
  safety_identifier: shortText,
  truncation: oneOf('auto', 'disabled'),
};

const read: ReadonlySet<string> = new Set([
  ...same,
  ...stored,
  ...Object.keys(shapes),
  'input',
  'max_output_tokens',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'background',
  'store',
  'stream_options',
]);

/** Names of fields without effect. A reply is never stored, and a prompt is never shortened. */
export function responsesIgnored(body: Json): string[] {
  const vain = [
    ...(body.store === true ? ['store'] : []),
    ...(body.truncation === 'auto' ? ['truncation'] : []),
  ];
  return [...vain, ...unknownFields(body, read, shapes)];
}

/** @throws ApiError `bad_request` or `bad_messages`, which names the caller's field. */
export function responsesChatBody(body: Json): Json {
  refuseStored(body);
  const call: Json = {};
  for (const [field, shape] of Object.entries(shapes))
    if (isGiven(body[field])) call[field] = rebuilt(body[field], shape, field, badField);
  const { verbosity, format } = objectOf(call.text);
  const tools = readTools(body.tools);
  return {
    ...Object.fromEntries(same.map((field) => [field, body[field]])),
    messages: readInput(body).map(({ message }) => message),
    max_tokens: maxTokens(body.max_output_tokens),
    response_format: formatOf(objectOf(format)),
    reasoning_effort: objectOf(call.reasoning).effort,
    verbosity,
    prompt_cache_key: call.prompt_cache_key,
    safety_identifier: call.safety_identifier,
    metadata: call.metadata,
    logprobs: wantsLogprobs(call.include, body.top_logprobs),
    ...choiceOf(body, tools),
  };
}

/** The names in a call of Responses for fields of the chat body. */
const renamed: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  reasoning_effort: 'reasoning.effort',
  verbosity: 'text.verbosity',
};

/** The path of the caller's field for a path of the chat body, such as `messages[1].content[0]`. */
export function responsesPath(param: string, body: Json): string {
  if (!param.startsWith('messages[')) return renamed[param] ?? param;
  return pathIn(readInput(body), param) ?? 'input';
}

function refuseStored(body: Json): void {
  const field = stored.find((each) => isGiven(body[each]));
  if (field !== undefined)
    throw badRequest(
      field,
      `${field} needs a stored conversation, and this service stores none. Send the whole conversation in input.`,
    );
  if (isGiven(body.background) && body.background !== false)
    throw badRequest(
      'background',
      'background must be false: replies are not stored. Send the whole conversation in input, and wait for the reply or stream it.',
    );
}

function maxTokens(value: unknown): number {
  if (!isGiven(value)) return maxTokensDefault;
  if (!isCount(value) || value < 1) throw badField('max_output_tokens', 'an integer of at least 1');
  return value;
}

function formatOf({ type, ...json_schema }: Json): Json | null {
  if (type === 'json_object') return { type };
  if (type !== 'json_schema') return null;
  if (!isFilled(json_schema.name)) throw badField('text.format.name', 'the name of the schema');
  if (!isObject(json_schema.schema)) throw badField('text.format.schema', 'a JSON schema');
  return { type, json_schema };
}

/** Chat completions give log probabilities only if they are switched on. */
function wantsLogprobs(include: unknown, top: unknown): true | null {
  const isNamed = itemsOf(include).includes('message.output_text.logprobs');
  return isNamed || (isCount(top) && top > 0) ? true : null;
}

/** Without tools, chat completions refuse a choice of tools and an empty list of tools. */
function choiceOf({ tool_choice, parallel_tool_calls }: Json, tools: Json[]): Json {
  const choice = readToolChoice(tool_choice);
  return tools.length === 0 ? {} : { tools, tool_choice: choice, parallel_tool_calls };
}
