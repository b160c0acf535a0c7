import { isObject } from '../lib/json.ts';
import { isFilled, isGiven, object, objects, text, type Check } from './check.ts';
import { ApiError } from './errors.ts';

/**
 * The messages of a chat call, narrowed to the fields that are known here. What nobody judges does
 * not reach an upstream: it might name media, or change the price.
 */

type Json = Record<string, unknown>;

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

/** Fields of a message besides its role and its content; null stands for none. */
const messageFields: Readonly<Record<string, Check>> = {
  name: text,
  tool_calls: objects,
  tool_call_id: text,
  function_call: object,
  refusal: text,
  reasoning: text,
  reasoning_content: text,
  reasoning_details: objects,
  audio: { is: 'an object with an id', test: (v) => isObject(v) && isFilled(v.id) },
};

/** A content part has one field of its own, named like its type: a text, or an object of texts. */
interface PartForm {
  is: string;
  fields: readonly string[] | null;
  test(own: unknown): boolean;
}

const parts: Readonly<Record<string, PartForm>> = {
  text: { is: 'text as a string', fields: null, test: text.test },
  refusal: { is: 'refusal as a string', fields: null, test: text.test },
  image_url: {
    is: 'image_url with a url',
    fields: ['url', 'detail'],
    test: (image) => isObject(image) && isFilled(image.url),
  },
  input_audio: {
    is: 'input_audio with data and format',
    fields: ['data', 'format'],
    test: (audio) => isObject(audio) && isFilled(audio.data) && isFilled(audio.format),
  },
  file: {
    is: 'file with file_id or file_data',
    fields: ['file_id', 'file_data', 'filename'],
    test: (file) => isObject(file) && (isFilled(file.file_id) || isFilled(file.file_data)),
  },
};

/** @throws ApiError `bad_messages`, which names the place. */
export function readMessages(messages: unknown, max: number): Json[] {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw badMessages('messages', 'must be a list with at least one message');
  }
  if (messages.length > max) throw badMessages('messages', `must hold at most ${max} messages`);
  return messages.map((message, i) => readMessage(message, `messages[${i}]`));
}

function readMessage(message: unknown, at: string): Json {
  if (!isObject(message)) throw badMessages(at, 'must be an object with role and content');
  const { role, content } = message;
  if (typeof role !== 'string' || !roles.includes(role)) {
    throw badMessages(`${at}.role`, `must be one of ${roles.join(', ')}`);
  }
  const kept: Json = { role };
  if (content !== undefined) kept.content = readContent(content, `${at}.content`);
  for (const [field, check] of Object.entries(messageFields)) {
    if (!Object.hasOwn(message, field)) continue;
    const value = message[field];
    if (value !== null && !check.test(value)) {
      throw badMessages(`${at}.${field}`, `must be ${check.is}`);
    }
    // Of a reply's sound only its id is taken back; the bytes come along in what clients keep.
    kept[field] = field === 'audio' && isObject(value) ? { id: value.id } : value;
  }
  if (!isGiven(content) && !mayLackContent(role, kept)) {
    throw badMessages(`${at}.content`, 'is missing; it must be a string or a list of parts');
  }
  return kept;
}

/**
 * An assistant that called a tool or refused said nothing else; a tool may have nothing to report.
 */
function mayLackContent(role: string, message: Json): boolean {
  if (role === 'tool' || role === 'function') return true;
  if (role !== 'assistant') return false;
  const { tool_calls: calls, function_call: call, refusal } = message;
  return (Array.isArray(calls) && calls.length > 0) || isObject(call) || isFilled(refusal);
}

function readContent(content: unknown, at: string): unknown {
  if (content === null || typeof content === 'string') return content;
  if (!Array.isArray(content)) throw badMessages(at, 'must be a string or a list of parts');
  if (content.length === 0) throw badMessages(at, 'must hold at least one part');
  return content.map((part, i) => readPart(part, `${at}[${i}]`));
}

function readPart(part: unknown, at: string): Json {
  const type = isObject(part) ? part.type : undefined;
  if (typeof type !== 'string' || !Object.hasOwn(parts, type)) {
    throw badMessages(`${at}.type`, `must be one of ${Object.keys(parts).join(', ')}`);
  }
  const { is, fields, test } = parts[type]!;
  const own = (part as Json)[type];
  if (!test(own)) throw badMessages(at, `must have ${is}`);
  return { type, [type]: fields === null ? own : texts(own as Json, fields, `${at}.${type}`) };
}

function texts(own: Json, fields: readonly string[], at: string): Json {
  const kept: Json = {};
  for (const field of fields) {
    const value = own[field];
    if (!isGiven(value) || value === '') continue;
    if (typeof value !== 'string') throw badMessages(`${at}.${field}`, 'must be a string');
    kept[field] = value;
  }
  return kept;
}

/** `param`: the place, such as `messages[0].content`. */
export function badMessages(param: string, wrong: string): ApiError {
  return new ApiError('bad_messages', { message: `${param} ${wrong}.`, param });
}
