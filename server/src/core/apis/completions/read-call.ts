import { isCount, isObject, itemsOf, objectOf, type Json } from '../../../lib/json.ts';
import { badField, badRequest } from '../../bad-request.ts';
import * as checks from '../../check.ts';
import type { Conversation, ReplyFormat, Tool, ToolChoice } from '../../chat/conversation.ts';
import { cacheMark, cacheMarkShape, optionalFields } from '../../chat/optional-fields.ts';
import { readMetadata } from '../../request/metadata.ts';
import type { ReadCall } from '../api.ts';
import * as common from '../read-call.ts';
import { readTurns } from './read-turns.ts';

const { boolean, integer, isFilled, isGiven, longInteger, number, numbers, object, oneOf, text } =
  checks;

const functionShape = {
  fields: { name: text, description: text, parameters: object, strict: boolean },
};
const named: checks.KnownFields = { fields: { name: text } };
const toolType = oneOf('function', 'custom');
const grammar: checks.Shape = { fields: { definition: text, syntax: text } };
const toolShape: checks.KnownFields = {
  fields: {
    // Hosted tools (web search, code interpreter) are not accepted: they have fees that are not
    // part of the reservation.
    type: toolType,
    function: functionShape,
    custom: {
      fields: { name: text, description: text, format: { fields: { type: text, grammar } } },
    },
    [cacheMark]: cacheMarkShape,
  },
};
const formatType = oneOf('text', 'json_object', 'json_schema');
const chosenTool = { type: text, name: text, function: named, custom: named };
const allowedTools = { mode: text, tools: { list: { fields: chosenTool } } };

/**
 * Allowed fields, beside `optionalFields`. All others are dropped, because they may change the
 * price (`service_tier`, `web_search_options`, `prediction`, audio through `modalities`) or store
 * data at the upstream (`store`). Types are checked here. Upstreams check the ranges of numbers,
 * which differ between models.
 */
export const passingFields: Readonly<Record<string, checks.Shape>> = {
  temperature: number,
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  seed: longInteger,
  stop: checks.textOrTexts,
  logit_bias: numbers,
  logprobs: boolean,
  top_logprobs: integer,
  response_format: {
    fields: {
      type: formatType,
      json_schema: {
        fields: {
          name: text,
          description: text,
          schema: object,
          strict: boolean,
        },
      },
      // Together and llama.cpp expect the schema here.
      schema: object,
    },
  },
  tools: { list: toolShape },
  tool_choice: {
    isText: true,
    fields: { ...chosenTool, ...allowedTools, allowed_tools: { fields: allowedTools } },
  },
  parallel_tool_calls: boolean,
  functions: { list: functionShape },
  function_call: { isText: true, ...named },
  reasoning_effort: text,
  verbosity: text,
  user: text,
};

const shape: checks.KnownFields = {
  fields: {
    ...passingFields,
    ...optionalFields,
    ...common.each(common.anything, 'model', 'messages', 'n', 'metadata'),
    stream: boolean,
    stream_options: { fields: { ...common.streamOptions.fields, include_usage: boolean } },
    ...common.each(common.tokenLimit, 'max_tokens', 'max_completion_tokens'),
  },
};

/** Fields that are not a part of the conversation or its settings. */
const extraFields: readonly string[] = [
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'logit_bias',
  ...Object.keys(optionalFields).filter((name) => name !== 'top_k' && name !== 'thinking'),
];

/**
 * Reads a call of OpenAI's chat completions. In optional fields null means not given, as in
 * OpenAI's own service. The caller checks whether the model exists, and the limits of max_tokens.
 *
 * @throws ApiError `bad_messages` (names the message by its index) or `bad_request` (names the
 * field)
 */
export function readCompletionsCall(body: unknown): ReadCall {
  if (!isObject(body)) throw badRequest(null, 'The body must be a JSON object.');
  common.demandFew(body, 'messages');
  const model = common.readModel(body.model);
  const left = new common.LeftOut();
  const turns = readTurns(body.messages, left);
  if (isGiven(body.n) && body.n !== 1)
    throw badField('n', '1; send one request for each completion you want');
  const { tools: given } = body;
  const own = { ...body, tools: Array.isArray(given) ? given.map(nested) : given };
  const call = common.knownFields(own, shape, '', badField, left);
  const older = itemsOf(call.functions).map((own) => ({ type: 'function', function: own }));
  const tools = [...itemsOf(call.tools), ...older].map(objectOf).map(readTool);
  const conversation: Conversation = {
    api: 'completions',
    turns,
    tools,
    choice: choiceOf(call, tools),
    parallel: (call.parallel_tool_calls as boolean | undefined) ?? null,
    format: isObject(call.response_format) ? formatOf(call.response_format) : null,
    settings: readSettings(call),
    extras: extrasOf(call),
  };
  common.notePadding(call, left);
  return {
    model,
    stream: call.stream === true,
    max_tokens: maxTokens(call),
    conversation,
    metadata: readMetadata(call.metadata, 'metadata'),
    ignored: [...left.names],
  };
}

function extrasOf(call: Json): Json {
  const extras: Json = {};
  for (const name of extraFields) if (isGiven(call[name])) extras[name] = call[name];
  return extras;
}

function maxTokens({ max_tokens, max_completion_tokens }: Json): number | null {
  const limits = [max_tokens, max_completion_tokens].filter(isCount);
  if (new Set(limits).size > 1)
    throw badField('max_completion_tokens', 'equal to max_tokens if both are given');
  return limits[0] ?? null;
}

function readSettings(call: Json): Conversation['settings'] {
  const { temperature, top_p, top_k, stop, verbosity, logprobs, top_logprobs, user } = call;
  const { type, budget_tokens } = objectOf(call.thinking);
  return common.settingsOf({
    temperature,
    top_p,
    top_k,
    stop: [stop ?? []].flat().filter(isFilled),
    effort: call.reasoning_effort,
    thinking: isFilled(type) ? { type, budget_tokens: Number(budget_tokens ?? NaN) || null } : null,
    verbosity,
    logprobs,
    top_logprobs,
    user,
  });
}

/** A function as in the other APIs or without its type, in the form of chat completions. */
function nested(tool: unknown): unknown {
  if (!isObject(tool)) return tool;
  const { type = isObject(tool.custom) ? 'custom' : 'function', ...own } = tool;
  if (type !== 'function' || isObject(own.function)) return { type, ...own };
  const { [cacheMark]: mark, input_schema, parameters = input_schema, ...fields } = own;
  return { type, function: { ...fields, parameters }, [cacheMark]: mark };
}

function readTool(tool: Json, i: number): Tool {
  const isCustom = tool.type === 'custom';
  const own = objectOf(isCustom ? tool.custom : tool.function);
  if (!isFilled(own.name))
    throw badField(`tools[${i}].${isCustom ? 'custom' : 'function'}.name`, 'the name of the tool');
  const { syntax, definition } = objectOf(objectOf(own.format).grammar);
  const grammar = isFilled(definition) ? { syntax: String(syntax ?? ''), definition } : null;
  const mark = isGiven(tool[cacheMark]) && { mark: true as const };
  return { ...common.toolOf(own, own.parameters, isCustom ? { grammar } : null), ...mark };
}

/** Mistral's word for `required` is `any`. */
const modes = { auto: 'auto', none: 'none', required: 'any', any: 'any' } as const;

function choiceOf({ tool_choice, function_call: older }: Json, tools: readonly Tool[]): ToolChoice {
  if (isGiven(tool_choice)) return common.readToolChoice(tool_choice, tools, modes);
  const own = isObject(older) ? { type: 'function', ...older } : older;
  return common.readToolChoice(own, tools, modes, 'function_call');
}

/** Together and llama.cpp put the schema beside the type. */
function formatOf({ type, json_schema, schema: beside }: Json): ReplyFormat | null {
  if (type === undefined) throw badField('response_format.type', formatType.is);
  if (type === 'text') return null;
  const { schema = beside, ...own } = objectOf(json_schema);
  if (isObject(schema)) return common.schemaFormat(own, schema);
  if (type === 'json_object') return { type: 'json' };
  throw badField('response_format.json_schema.schema', 'a JSON schema');
}
