import { isCount, isObject, itemsOf, objectOf } from '../../lib/json.ts';
import { badField, badRequest } from '../bad-request.ts';
import { messagesMax } from './list-sizes.ts';
import { readMessages } from './chat-messages.ts';
import {
  boolean,
  integer,
  isFilled,
  isGiven,
  longInteger,
  number,
  numbers,
  object,
  oneOf,
  text,
  textOrTexts,
} from '../check.ts';
import { readMetadata, type Metadata } from '../request/metadata.ts';
import { LeftOut, rebuilt, type Shape } from './known-fields.ts';
import { cacheMark, cacheMarkShape, optionalFields } from './optional-fields.ts';

/**
 * Reads chat calls: OpenAI's chat completions, reduced to what can be priced beforehand. Types are
 * checked here. Upstreams check the ranges of numbers, which differ between models.
 */

export interface ChatLimits {
  /** Longest list of messages. Without this limit, 10 MiB could hold 350,000 of them. */
  messages_max: number;
}

export const chatLimits: ChatLimits = { messages_max: messagesMax };

export interface Chat {
  model: string;
  messages: Record<string, unknown>[];
  stream: boolean;
  /** The caller wants a last chunk with the usage. */
  include_usage: boolean;
  /** `max_tokens` or its newer name `max_completion_tokens`; null if neither was given. */
  max_tokens: number | null;
  /**
   * The body for the upstream: `messages` and the allowed fields. Model, stream and max_tokens are
   * set when it is sent.
   */
  body: Record<string, unknown> & { messages: Record<string, unknown>[] };
  /** Stored with the request. */
  metadata: Metadata | null;
  /** Names of given fields that reach no upstream. */
  ignored: readonly string[];
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
const chosenTool = { type: toolType, function: named, custom: named };

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
      type: text,
      allowed_tools: { fields: { mode: text, tools: { list: { fields: chosenTool } } } },
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
export function parseChat(body: unknown, limits: ChatLimits = chatLimits): Chat {
  if (!isObject(body)) throw badRequest(null, 'The body must be a JSON object.');
  if (!isFilled(body.model)) throw badField('model', 'the id of a text model');
  const left = new LeftOut();
  const messages = readMessages(body.messages, limits.messages_max, left);
  if (isGiven(body.n) && body.n !== 1) {
    throw badField('n', '1; send one request for each completion you want');
  }
  const passed = passing(body, left);
  return {
    model: body.model,
    messages,
    stream: flag(body.stream, 'stream'),
    include_usage: includeUsage(body.stream_options),
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
const bodyFields = { ...passingFields, ...optionalFields };
const bodyShapes = Object.entries(bodyFields);

function passing(body: Record<string, unknown>, left: LeftOut): Record<string, unknown> {
  left.add('', body, (field) => ownFields.has(field) || Object.hasOwn(bodyFields, field));
  const kept: Record<string, unknown> = {};
  for (const [field, shape] of bodyShapes) {
    const value = Object.hasOwn(body, field) ? body[field] : undefined;
    if (isGiven(value)) kept[field] = rebuilt(value, shape, field, badField, left);
  }
  const tools = itemsOf(kept.tools).map(objectOf);
  const untyped = tools.findIndex(({ type }) => type === undefined);
  if (untyped !== -1) throw badField(`tools[${untyped}].type`, toolType.is);
  if (isObject(kept.response_format) && !('type' in kept.response_format))
    throw badField('response_format.type', formatType.is);
  return kept;
}

function maxTokens(body: Record<string, unknown>): number | null {
  const given = ['max_tokens', 'max_completion_tokens'].filter((field) => isGiven(body[field]));
  const [first, second] = given.map((field) => {
    const value = body[field];
    if (!isCount(value) || value < 1) throw badField(field, 'an integer of at least 1');
    return value;
  });
  if (second !== undefined && first !== second) {
    throw badField('max_completion_tokens', 'equal to max_tokens if both are given');
  }
  return first ?? null;
}

function flag(value: unknown, field: string): boolean {
  if (!isGiven(value)) return false;
  if (typeof value !== 'boolean') throw badField(field, 'true or false');
  return value;
}

function includeUsage(options: unknown): boolean {
  if (!isGiven(options)) return false;
  if (!isObject(options)) throw badField('stream_options', 'an object');
  return flag(options.include_usage, 'stream_options.include_usage');
}
