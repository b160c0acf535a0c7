import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import type { ReadCall } from '../apis/api.ts';
import {
  demandFew,
  knownFields,
  LeftOut,
  readFlag,
  readModel,
  readTokenLimit,
  type Shape,
} from '../apis/read-call.ts';
import { badField, badRequest } from '../bad-request.ts';
import { readMessages } from './chat-messages.ts';
import {
  boolean,
  integer,
  isGiven,
  longInteger,
  number,
  numbers,
  object,
  oneOf,
  text,
  textOrTexts,
} from '../check.ts';
import { readMetadata } from '../request/metadata.ts';
import { cacheMark, cacheMarkShape, optionalFields } from './optional-fields.ts';

/**
 * Reads chat calls: OpenAI's chat completions, reduced to what can be priced beforehand. Types are
 * checked here. Upstreams check the ranges of numbers, which differ between models.
 */

/** A checked call. */
export interface Chat extends Omit<ReadCall, 'conversation'> {
  /** The messages and the allowed fields, reduced to known fields. */
  body: Json & { messages: Json[] };
}

const functionShape: Shape = {
  fields: { name: text, description: text, parameters: object, strict: boolean },
};
const named: Shape = { fields: { name: text } };
const toolType = oneOf('function', 'custom');
const grammar: Shape = { fields: { definition: text, syntax: text } };
const toolShape: Shape = {
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
 * data at the upstream (`store`).
 */
export const passingFields: Readonly<Record<string, Shape>> = {
  temperature: number,
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  seed: longInteger,
  stop: textOrTexts,
  logit_bias: numbers,
  logprobs: boolean,
  top_logprobs: integer,
  response_format: {
    fields: {
      type: formatType,
      json_schema: { fields: { name: text, description: text, schema: object, strict: boolean } },
      // Together and llama.cpp expect the schema here.
      schema: object,
    },
  },
  tools: { list: toolShape },
  tool_choice: {
    isText: true,
    fields: {
      ...chosenTool,
      ...allowedTools,
      allowed_tools: { fields: allowedTools },
    },
  },
  parallel_tool_calls: boolean,
  functions: { list: functionShape },
  function_call: { isText: true, ...named },
  reasoning_effort: text,
  verbosity: text,
  user: text,
};

/**
 * Reads the body of a chat call. In optional fields null means not given, as in OpenAI's own
 * service. The caller checks whether the model exists, and the limits of max_tokens.
 *
 * @throws ApiError `bad_messages` (names the message by its index) or `bad_request` (names the
 * field)
 */
export function parseChat(body: unknown): Chat {
  if (!isObject(body)) throw badRequest(null, 'The body must be a JSON object.');
  demandFew(body, 'messages');
  const model = readModel(body.model);
  const left = new LeftOut();
  const messages = readMessages(body.messages, left);
  if (isGiven(body.n) && body.n !== 1) {
    throw badField('n', '1; send one request for each completion you want');
  }
  const passed = passing(body, left);
  const stream = readFlag(body.stream, 'stream');
  checkStreamOptions(body.stream_options);
  return {
    model,
    stream,
    max_tokens: maxTokens(body),
    body: { messages, ...passed },
    metadata: readMetadata(body.metadata, 'metadata'),
    ignored: [...left.names],
  };
}

const ownFields = new Set([
  'model',
  'messages',
  'n',
  'stream',
  'stream_options',
  'max_tokens',
  'max_completion_tokens',
  'metadata',
]);
const shapes = { ...passingFields, ...optionalFields };

function passing(body: Json, left: LeftOut): Json {
  const kept = knownFields(body, shapes, ownFields, left);
  const tools = itemsOf(kept.tools).map(objectOf);
  const untyped = tools.findIndex(({ type }) => type === undefined);
  if (untyped !== -1) throw badField(`tools[${untyped}].type`, toolType.is);
  if (isObject(kept.response_format) && !('type' in kept.response_format))
    throw badField('response_format.type', formatType.is);
  return kept;
}

function maxTokens(body: Json): number | null {
  const usual = readTokenLimit(body.max_tokens, 'max_tokens');
  const newer = readTokenLimit(body.max_completion_tokens, 'max_completion_tokens');
  if (usual !== null && newer !== null && usual !== newer) {
    throw badField('max_completion_tokens', 'equal to max_tokens if both are given');
  }
  return usual ?? newer;
}

/** The writer of the reply does what the options ask for. */
function checkStreamOptions(options: unknown): void {
  if (!isGiven(options)) return;
  if (!isObject(options)) throw badField('stream_options', 'an object');
  readFlag(options.include_usage, 'stream_options.include_usage');
}
