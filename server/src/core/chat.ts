import { isObject } from '../lib/json.ts';
import { ApiError } from './errors.ts';

/**
 * What a chat call may say: OpenAI's chat completions, narrowed to what can be priced beforehand.
 * Shapes are checked here, ranges of numbers by the upstream, which knows its own.
 */

export interface ChatLimits {
  /** A longer list is refused; 10 MiB could hold 350,000 messages. */
  messages_max: number;
}

export const chatLimits: ChatLimits = { messages_max: 10_000 };

export interface Chat {
  model: string;
  messages: Record<string, unknown>[];
  stream: boolean;
  /** The caller asked for a last chunk with usage. */
  include_usage: boolean;
  /** `max_tokens` or its newer name `max_completion_tokens`; null where neither was given. */
  max_tokens: number | null;
  /**
   * What goes to the upstream: `messages` and the allowed fields. Model, stream and max_tokens are
   * set by who sends.
   */
  body: Record<string, unknown> & { messages: Record<string, unknown>[] };
}

type Check = { is: string; test(value: unknown): boolean };

const text: Check = { is: 'a string', test: (v) => typeof v === 'string' };
const number: Check = { is: 'a number', test: (v) => typeof v === 'number' };
const integer: Check = { is: 'an integer', test: (v) => Number.isSafeInteger(v) };
const boolean: Check = { is: 'true or false', test: (v) => typeof v === 'boolean' };
const object: Check = { is: 'an object', test: isObject };
const objects: Check = { is: 'a list of objects', test: isObjects };
const textOrObject: Check = {
  is: 'a string or an object',
  test: (v) => typeof v === 'string' || isObject(v),
};
const textOrTexts: Check = {
  is: 'a string or a list of strings',
  test: (v) => typeof v === 'string' || (Array.isArray(v) && v.every((s) => typeof s === 'string')),
};

/**
 * The allow-list. What is not here is dropped in silence, as it may change the price
 * (`service_tier`, `web_search_options`, `prediction`, audio through `modalities`) or keep data at
 * the upstream (`store`, `metadata`).
 */
export const passingFields: Readonly<Record<string, Check>> = {
  temperature: number,
  top_p: number,
  presence_penalty: number,
  frequency_penalty: number,
  seed: integer,
  stop: textOrTexts,
  logit_bias: object,
  logprobs: boolean,
  top_logprobs: integer,
  response_format: object,
  tools: objects,
  tool_choice: textOrObject,
  parallel_tool_calls: boolean,
  functions: objects,
  function_call: textOrObject,
  reasoning_effort: text,
  verbosity: text,
  user: text,
};

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

/** Types of content parts, and how each must look. */
const parts: Record<string, { is: string; test(part: Record<string, unknown>): boolean }> = {
  text: { is: 'text as a string', test: (part) => typeof part.text === 'string' },
  refusal: { is: 'refusal as a string', test: (part) => typeof part.refusal === 'string' },
  image_url: {
    is: 'image_url with a url',
    test: ({ image_url: image }) => isObject(image) && isFilled(image.url),
  },
  input_audio: {
    is: 'input_audio with data and format',
    test: ({ input_audio: audio }) =>
      isObject(audio) && isFilled(audio.data) && isFilled(audio.format),
  },
  file: {
    is: 'file with file_id or file_data',
    test: ({ file }) => isObject(file) && (isFilled(file.file_id) || isFilled(file.file_data)),
  },
};

/**
 * Reads the body of a chat call. In optional fields null means not given, as in OpenAI's own
 * service. Whether the model exists, and the ceilings of max_tokens, are for the caller.
 *
 * @throws ApiError `bad_messages` (names the message by its index) or `bad_request` (names the
 * field)
 */
export function parseChat(body: unknown, limits: ChatLimits = chatLimits): Chat {
  if (!isObject(body)) throw badRequest(null, 'The body must be a JSON object.');
  if (!isFilled(body.model)) throw badField('model', 'the id of a text model');
  checkMessages(body.messages, limits);
  const messages = body.messages as Record<string, unknown>[];
  if (isGiven(body.n) && body.n !== 1) {
    throw badField('n', '1; send one request for each completion you want');
  }
  return {
    model: body.model,
    messages,
    stream: flag(body.stream, 'stream'),
    include_usage: includeUsage(body.stream_options),
    max_tokens: maxTokens(body),
    body: { messages, ...passing(body) },
  };
}

function passing(body: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [field, check] of Object.entries(passingFields)) {
    const value = Object.hasOwn(body, field) ? body[field] : undefined;
    if (!isGiven(value)) continue;
    if (!check.test(value)) throw badField(field, check.is);
    kept[field] = value;
  }
  // A hosted tool (web search, code interpreter) has a fee of its own, which no reservation covers.
  const tools = (kept.tools ?? []) as Record<string, unknown>[];
  tools.forEach((tool, i) => {
    if (tool.type !== 'function' && tool.type !== 'custom') {
      throw badField(`tools[${i}].type`, 'function or custom');
    }
  });
  return kept;
}

function maxTokens(body: Record<string, unknown>): number | null {
  const given = ['max_tokens', 'max_completion_tokens'].filter((field) => isGiven(body[field]));
  for (const field of given) {
    const value = body[field];
    if (!Number.isSafeInteger(value) || (value as number) < 1) {
      throw badField(field, 'an integer of at least 1');
    }
  }
  const [first, second] = given.map((field) => body[field] as number);
  if (second !== undefined && first !== second) {
    throw badField('max_completion_tokens', 'equal to max_tokens where both are given');
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

function checkMessages(messages: unknown, limits: ChatLimits): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw badMessages('messages', 'must be a list with at least one message');
  }
  if (messages.length > limits.messages_max) {
    throw badMessages('messages', `must hold at most ${limits.messages_max} messages`);
  }
  for (let i = 0; i < messages.length; i++) checkMessage(messages[i], `messages[${i}]`);
}

function checkMessage(message: unknown, at: string): void {
  if (!isObject(message)) throw badMessages(at, 'must be an object with role and content');
  const { role, content, tool_calls: calls } = message;
  if (typeof role !== 'string' || !roles.includes(role)) {
    throw badMessages(`${at}.role`, `must be one of ${roles.join(', ')}`);
  }
  if (isGiven(calls) && !isObjects(calls)) {
    throw badMessages(`${at}.tool_calls`, 'must be a list of objects');
  }
  if (typeof content === 'string') return;
  if (Array.isArray(content)) return checkParts(content, `${at}.content`);
  if (isGiven(content)) throw badMessages(`${at}.content`, 'must be a string or a list of parts');
  if (!mayLackContent(role, message)) {
    throw badMessages(`${at}.content`, 'is missing; it must be a string or a list of parts');
  }
}

/**
 * An assistant that called a tool or refused said nothing else; a tool may have nothing to report.
 */
function mayLackContent(role: string, message: Record<string, unknown>): boolean {
  if (role === 'tool' || role === 'function') return true;
  if (role !== 'assistant') return false;
  const { tool_calls: calls, function_call: call, refusal } = message;
  return (Array.isArray(calls) && calls.length > 0) || isObject(call) || isFilled(refusal);
}

function checkParts(list: unknown[], at: string): void {
  if (list.length === 0) throw badMessages(at, 'must hold at least one part');
  for (let i = 0; i < list.length; i++) {
    const part = list[i];
    const type = isObject(part) ? part.type : undefined;
    const form = typeof type === 'string' && Object.hasOwn(parts, type) ? parts[type] : undefined;
    if (form === undefined) {
      throw badMessages(`${at}[${i}].type`, `must be one of ${Object.keys(parts).join(', ')}`);
    }
    if (!form.test(part as Record<string, unknown>)) {
      throw badMessages(`${at}[${i}]`, `must have ${form.is}`);
    }
  }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isFilled(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isObjects(value: unknown): boolean {
  return Array.isArray(value) && value.every(isObject);
}

function badField(field: string, allowed: string): ApiError {
  return badRequest(field, `${field} must be ${allowed}.`);
}

function badRequest(param: string | null, message: string): ApiError {
  return new ApiError('bad_request', { message, param: param ?? undefined });
}

/** `param`: the place, such as `messages[0].content`. */
export function badMessages(param: string, wrong: string): ApiError {
  return new ApiError('bad_messages', { message: `${param} ${wrong}.`, param });
}
