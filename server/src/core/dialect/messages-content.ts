import { isObject, type Json } from '../../lib/json.ts';
import { boolean, isFilled, isGiven, object, text } from '../check.ts';
import { badMessages } from '../chat/chat-messages.ts';
import { rebuilt, type Shape } from '../chat/known-fields.ts';
import { cacheMark, cacheMarkShape } from '../chat/optional-fields.ts';
import { encryptedDetail, signedDetail } from './messages-signature.ts';
import type { Part, Turn } from './turn.ts';

/** Reads the messages of a Messages call as messages of a chat completion. */

const source: Shape = {
  fields: { type: text, media_type: text, data: text, url: text, file_id: text },
};

/** The blocks that can be translated, with the fields that are read. */
const blockShapes = {
  text: { fields: { text, [cacheMark]: cacheMarkShape } },
  image: { fields: { source, [cacheMark]: cacheMarkShape } },
  document: { fields: { source, title: text, context: text, [cacheMark]: cacheMarkShape } },
  thinking: { fields: { thinking: text, signature: text } },
  redacted_thinking: { fields: { data: text } },
  tool_use: { fields: { id: text, name: text, input: object } },
  tool_result: { fields: { tool_use_id: text, is_error: boolean, [cacheMark]: cacheMarkShape } },
} satisfies Record<string, Shape>;

type BlockType = keyof typeof blockShapes;

const needed: Partial<Record<BlockType, readonly string[]>> = {
  text: ['text'],
  image: ['source'],
  document: ['source'],
  redacted_thinking: ['data'],
  tool_use: ['id', 'name'],
  tool_result: ['tool_use_id'],
};

interface Block {
  type: BlockType;
  at: string;
  /** The fields of its shape, checked. */
  own: Json;
  /** The content of a `tool_result`, as received. */
  content: unknown;
}

const shown: BlockType[] = ['text', 'image', 'document'];
const ofRole = {
  user: [...shown, 'tool_result'],
  assistant: ['text', 'thinking', 'redacted_thinking', 'tool_use'],
  system: ['text'],
} satisfies Record<string, BlockType[]>;

/** @throws ApiError `bad_messages`, which names the caller's field. */
export function readTurns({ system, messages }: Json): Turn[] {
  if (!Array.isArray(messages) || messages.length === 0)
    throw badMessages('messages', 'must be a list with at least one message');
  return [
    ...(isGiven(system) ? systemTurn(system, 'system') : []),
    ...messages.flatMap((message: unknown, i) => readMessage(message, `messages[${i}]`)),
  ];
}

function readMessage(message: unknown, at: string): Turn[] {
  if (!isObject(message)) throw badMessages(at, 'must be an object with role and content');
  const { role, content } = message;
  const path = `${at}.content`;
  if (role === 'user') return userTurns(content, path);
  if (role === 'assistant') return [assistantTurn(content, path)];
  if (role === 'system') return systemTurn(content, path);
  throw badMessages(`${at}.role`, 'must be user, assistant or system');
}

function systemTurn(content: unknown, at: string): Turn[] {
  const blocks = readBlocks(content, at, ofRole.system).filter(({ own }) => isFilled(own.text));
  if (blocks.length === 0) return [];
  const isMarked = blocks.some(({ own }) => cacheMark in own);
  const said = isMarked
    ? blocks.flatMap(partsOf).map(({ part }) => part)
    : blocks.map(({ own }) => own.text).join('\n\n');
  return [{ message: { role: 'system', content: said }, at, parts: [] }];
}

/** Tool results become messages of their own, ahead of the rest of the turn. */
function userTurns(content: unknown, at: string): Turn[] {
  const blocks = readBlocks(content, at, ofRole.user);
  if (blocks.length === 0) throw badMessages(at, 'must hold at least one block');
  const results = blocks.filter(({ type }) => type === 'tool_result').map(readResult);
  const rest = blocks.filter(({ type }) => type !== 'tool_result').flatMap(partsOf);
  const parts = [...results.flatMap(({ media }) => media), ...rest];
  const turns = results.map(({ turn }) => turn);
  return parts.length === 0 ? turns : [...turns, userTurn(parts, at)];
}

function userTurn(parts: Part[], at: string): Turn {
  const [{ part }] = parts as [Part, ...Part[]];
  const isPlain = parts.length === 1 && part.type === 'text' && !(cacheMark in part);
  const content = isPlain ? part.text : parts.map((each) => each.part);
  return { message: { role: 'user', content }, at, parts };
}

/** A tool's message has only text, so its images and files go into the user's message after it. */
function readResult({ own, at, content }: Block): { turn: Turn; media: Part[] } {
  const blocks = isGiven(content) ? readBlocks(content, `${at}.content`, shown) : [];
  const parts = blocks.flatMap(partsOf);
  const texts = parts.flatMap(({ part }) => (part.type === 'text' ? [part.text] : [])).join('\n');
  const said = own.is_error === true ? `Error: ${texts}` : texts;
  const mark = markOf(own) ?? parts.map(({ part }) => markOf(part)).find((each) => each !== null);
  const message = {
    role: 'tool',
    tool_call_id: own.tool_use_id,
    content: mark ? [{ type: 'text', text: said, ...mark }] : said,
  };
  const media = parts.filter(({ part }) => part.type !== 'text');
  return { turn: { message, at, parts: [] }, media };
}

function assistantTurn(content: unknown, at: string): Turn {
  const blocks = readBlocks(content, at, ofRole.assistant);
  const said = blocks.map(({ own }) => own.text ?? '').join('');
  const tool_calls = blocks.filter(({ type }) => type === 'tool_use').map(({ own }) => callOf(own));
  const reasoning_details = blocks.flatMap(detailsOf).map((each, index) => ({ ...each, index }));
  const thoughts = blocks
    .filter(({ own }) => !isFilled(own.signature))
    .map(({ own }) => own.thinking ?? '');
  const reasoning_content = thoughts.join('');
  const message = {
    role: 'assistant',
    content: said === '' && tool_calls.length > 0 ? null : said,
    ...(tool_calls.length > 0 && { tool_calls }),
    ...(reasoning_content !== '' && { reasoning_content }),
    ...(reasoning_details.length > 0 && { reasoning_details }),
  };
  return { message, at, parts: [] };
}

function callOf({ id, name, input = {} }: Json): Json {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

/** Only signed or encrypted reasoning can be given back to its model as its own. */
function detailsOf({ type, at, own: { thinking, signature, data } }: Block): Json[] {
  if (type === 'redacted_thinking') return [encryptedDetail(String(data), `${at}.data`)];
  return isFilled(signature) ? [signedDetail(thinking ?? '', signature, `${at}.signature`)] : [];
}

function readBlocks(content: unknown, at: string, allowed: BlockType[]): Block[] {
  if (typeof content === 'string')
    return [{ type: 'text', at, own: { text: content }, content: null }];
  if (!Array.isArray(content)) throw badMessages(at, 'must be a string or a list of blocks');
  return content.map((block: unknown, i) => readBlock(block, `${at}[${i}]`, allowed));
}

function readBlock(block: unknown, at: string, allowed: BlockType[]): Block {
  if (!isObject(block)) throw badMessages(at, 'must be an object with a type');
  const type = allowed.find((each) => each === block.type);
  if (type === undefined) {
    const said = typeof block.type === 'string' ? `is ${block.type.slice(0, 60)}; it ` : '';
    throw badMessages(`${at}.type`, `${said}must be one of ${allowed.join(', ')}`);
  }
  const own = rebuilt(block, blockShapes[type], at, mustBe) as Json;
  const missing = needed[type]?.find((field) => own[field] === undefined);
  if (missing !== undefined) throw badMessages(`${at}.${missing}`, 'is missing');
  return { type, at, own, content: block.content };
}

const mustBe = (at: string, is: string) => badMessages(at, `must be ${is}`);

/** A block may become several parts. Its cache mark goes to the last one. */
function partsOf(block: Block): Part[] {
  const parts = unmarkedParts(block);
  const mark = markOf(block.own);
  if (mark === null) return parts;
  return parts.map((each, i) =>
    i === parts.length - 1 ? { ...each, part: { ...each.part, ...mark } } : each,
  );
}

function markOf(of: Json): Json | null {
  return cacheMark in of ? { [cacheMark]: of[cacheMark] } : null;
}

function unmarkedParts({ type, own, at }: Block): Part[] {
  if (type === 'text') return [{ part: { type, text: own.text }, at }];
  const given = own.source as Json;
  return type === 'image' ? [imageOf(given, at)] : documentOf(own, given, at);
}

function imageOf(given: Json, at: string): Part {
  const { value: url, field } = sourceOf(given, at, /^image\/[\w.+-]+$/, 'an image');
  return { part: { type: 'image_url', image_url: { url } }, at, fields: { url: field } };
}

/** For each type of source, the field that holds its value. */
const sourceFields: Readonly<Record<string, string>> = {
  base64: 'data',
  url: 'url',
  file: 'file_id',
};

function sourceOf(given: Json, at: string, media: RegExp, what: string) {
  const type = String(given.type);
  const name = Object.hasOwn(sourceFields, type) ? sourceFields[type] : undefined;
  if (name === undefined) throw badMessages(`${at}.source.type`, 'must be base64, url or file');
  const said = demand(given, name, at);
  const field = `source.${name}`;
  if (type !== 'base64') return { value: said, field };
  const media_type = demand(given, 'media_type', at);
  if (!media.test(media_type))
    throw badMessages(`${at}.source.media_type`, `must be the type of ${what}`);
  return { value: `data:${media_type};base64,${said}`, field };
}

function demand(given: Json, field: string, at: string): string {
  const value = given[field];
  if (!isFilled(value)) throw badMessages(`${at}.source.${field}`, 'is missing');
  return value;
}

/** A document of text becomes a text that begins with its title and context. */
function documentOf({ title, context }: Json, given: Json, at: string): Part[] {
  if (given.type === 'text') {
    const text = [title, context, demand(given, 'data', at)].filter(isFilled).join('\n\n');
    return [{ part: { type: 'text', text }, at }];
  }
  const { value, field } = sourceOf(given, at, /^application\/pdf$/, 'a PDF: application/pdf');
  const file =
    given.type === 'file'
      ? { file_id: value }
      : { file_data: value, filename: isFilled(title) ? title : 'document.pdf' };
  const about = isFilled(context) ? [{ part: { type: 'text', text: context }, at }] : [];
  const fields = { file_id: field, file_data: field };
  return [...about, { part: { type: 'file', file }, at, fields }];
}
