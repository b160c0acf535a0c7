import { isObject, itemsOf, objectOf, type Json } from '../../lib/json.ts';
import { filled, integer, isFilled, isGiven, oneOf, scalar, text, type Check } from '../check.ts';
import { badMessages } from '../bad-request.ts';
import { rebuilt, type LeftOut, type Shape } from '../apis/read-call.ts';
import { cacheMark, cacheMarkShape } from './optional-fields.ts';

/**
 * Reduces the messages of a chat call to known fields. Unchecked fields do not reach an upstream,
 * because they might name media or change the price.
 */

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

/** Google's proof of a thought, which its models expect back. */
const extra_content: Shape = {
  fields: { google: { fields: { thought_signature: text } } },
};

const calledFunction: Shape = { fields: { name: filled, arguments: text } };

/** Fields of a message besides its role and its content; null counts as missing. */
const messageFields: Readonly<Record<string, Shape>> = {
  name: text,
  tool_calls: {
    list: {
      fields: {
        id: text,
        type: text,
        index: integer,
        function: calledFunction,
        custom: { fields: { name: filled, input: text } },
        extra_content,
      },
    },
  },
  tool_call_id: text,
  function_call: calledFunction,
  refusal: text,
  reasoning: text,
  reasoning_content: text,
  // OpenRouter sends reasoning in this form and expects it back.
  reasoning_details: {
    list: {
      fields: {
        type: text,
        text,
        summary: text,
        data: text,
        signature: text,
        id: text,
        format: text,
        index: scalar,
      },
    },
  },
  extra_content,
  // Only the id of a reply's audio is sent back; clients also keep the bytes, which are dropped.
  audio: { fields: { id: filled } },
};
const messageShapes = Object.entries(messageFields);

const audioForm = 'an object with an id';
const mustBe = (at: string, is: string) => badMessages(at, `must be ${is}`);

/** A content part has one field named like its type: a text, or an object with texts. */
interface PartForm {
  is: string;
  fields: Readonly<Record<string, Check>> | null;
  test(own: unknown): boolean;
}

const parts: Readonly<Record<string, PartForm>> = {
  text: { is: 'text as a string', fields: null, test: text.test },
  refusal: { is: 'refusal as a string', fields: null, test: text.test },
  image_url: {
    is: 'image_url with a url',
    // The value `original`, which some models know, is refused: it costs more than is reserved for
    // an image.
    fields: { url: text, detail: oneOf('auto', 'low', 'high') },
    test: (image) => isObject(image) && isFilled(image.url),
  },
  input_audio: {
    is: 'input_audio with data and format',
    fields: { data: text, format: text },
    test: (audio) => isObject(audio) && isFilled(audio.data) && isFilled(audio.format),
  },
  file: {
    is: 'file with file_id or file_data',
    fields: { file_id: text, file_data: text, filename: text },
    test: (file) => isObject(file) && (isFilled(file.file_id) || isFilled(file.file_data)),
  },
};

/** @throws ApiError `bad_messages`, which names the message or field. */
export function readMessages(messages: unknown, left: LeftOut): Json[] {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw badMessages('messages', 'must be a list with at least one message');
  }
  return messages.map((message, i) => readMessage(message, `messages[${i}]`, left));
}

function readMessage(message: unknown, at: string, left: LeftOut): Json {
  if (!isObject(message)) throw badMessages(at, 'must be an object with role and content');
  const { role, content } = message;
  if (typeof role !== 'string' || !roles.includes(role)) {
    throw badMessages(`${at}.role`, `must be one of ${roles.join(', ')}`);
  }
  const isKnown = (field: string) => ['role', 'content'].includes(field) || field in messageFields;
  left.add(at, message, isKnown);
  const kept: Json = { role };
  if (content !== undefined) kept.content = readContent(content, `${at}.content`, left);
  for (const [field, shape] of messageShapes) {
    const value = Object.hasOwn(message, field) ? message[field] : undefined;
    if (value === null) kept[field] = null;
    else if (value !== undefined)
      kept[field] = rebuilt(value, shape, `${at}.${field}`, mustBe, left);
  }
  if (isObject(kept.audio) && kept.audio.id === undefined) throw mustBe(`${at}.audio`, audioForm);
  if (mayBeSilent.has(role)) return kept;
  if (!isGiven(content))
    throw badMessages(`${at}.content`, 'is missing; it must be a string or a list of parts');
  if (itemsOf(kept.content).length === 0 && typeof content !== 'string')
    throw badMessages(`${at}.content`, 'must hold at least one part');
  return kept;
}

/** A reply may have been empty or calls alone, and a tool may have no result to report. */
const mayBeSilent: ReadonlySet<string> = new Set(['assistant', 'tool', 'function']);

function readContent(content: unknown, at: string, left: LeftOut): unknown {
  if (content === null || typeof content === 'string') return content;
  if (!Array.isArray(content)) throw badMessages(at, 'must be a string or a list of parts');
  return content.map((part, i) => readPart(part, `${at}[${i}]`, left));
}

function readPart(part: unknown, at: string, left: LeftOut): Json {
  const { type, ...others } = objectOf(part);
  if (typeof type !== 'string' || !Object.hasOwn(parts, type)) {
    throw badMessages(`${at}.type`, `must be one of ${Object.keys(parts).join(', ')}`);
  }
  const { is, fields, test } = parts[type]!;
  const own = others[type];
  if (!test(own)) throw badMessages(at, `must have ${is}`);
  left.add(at, others, (field) => field === type || field === cacheMark);
  const mark = others[cacheMark];
  return {
    type,
    [type]: fields === null ? own : texts(objectOf(own), fields, `${at}.${type}`, left),
    ...(isGiven(mark) && {
      [cacheMark]: rebuilt(mark, cacheMarkShape, `${at}.${cacheMark}`, mustBe, left),
    }),
  };
}

function texts(
  own: Json,
  fields: Readonly<Record<string, Check>>,
  at: string,
  left: LeftOut,
): Json {
  const filled = Object.entries(own).filter(([, value]) => value !== '');
  return objectOf(rebuilt(Object.fromEntries(filled), { fields }, at, mustBe, left));
}
