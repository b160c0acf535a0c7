import { isObject, type Json } from '../../../lib/json.ts';
import { hasKey } from '../../../lib/records.ts';
import { boolean, filled, isFilled, isGiven, object, text, type KnownFields } from '../../check.ts';
import { badMessages } from '../../bad-request.ts';
import type * as chat from '../../chat/conversation.ts';
import { anything, each, knownFields, mustBe, unknownType, type LeftOut } from '../read-call.ts';
import { cacheMark, cacheMarkShape } from '../../chat/optional-fields.ts';
import { mediaOf, statedMedia } from '../../chat/chat-media.ts';
import { unpackProof, unproven } from '../thoughts.ts';

/** Reads the system prompt and the messages of a Messages call. */

const source: KnownFields = { fields: each(text, 'type', 'media_type', 'data', 'url', 'file_id') };
const mark = { type: text, [cacheMark]: cacheMarkShape };

const messageShape: KnownFields = { fields: each(anything, 'role', 'content') };

const toolChange: KnownFields = { fields: each(anything, 'type', 'tool') };

/** The blocks that can be translated, with the fields that are read. */
const blockShapes = {
  text: { fields: { text, ...mark } },
  image: { fields: { source, ...mark } },
  document: { fields: { source, title: text, context: text, ...mark } },
  thinking: { fields: { type: text, thinking: text, signature: text } },
  redacted_thinking: { fields: { type: text, data: text } },
  tool_use: { fields: { id: filled, name: filled, input: object, caller: object, ...mark } },
  tool_result: { fields: { tool_use_id: filled, is_error: boolean, content: anything, ...mark } },
  tool_reference: { fields: { tool_name: filled, ...mark } },
  tool_addition: toolChange,
  tool_removal: toolChange,
} satisfies Record<string, KnownFields>;

type BlockType = keyof typeof blockShapes;

const needed: Partial<Record<BlockType, readonly string[]>> = {
  text: ['text'],
  image: ['source'],
  document: ['source'],
  redacted_thinking: ['data'],
  tool_use: ['id', 'name'],
  tool_result: ['tool_use_id'],
  tool_reference: ['tool_name'],
};

const shown: BlockType[] = ['text', 'image', 'document'];
/** The result of a search for tools names those that it found. */
const ofResult: BlockType[] = [...shown, 'tool_reference'];
const ofRole = {
  user: [...shown, 'tool_result'],
  assistant: ['text', 'thinking', 'redacted_thinking', 'tool_use'],
  system: ['text', 'tool_addition', 'tool_removal'],
} satisfies Record<string, BlockType[]>;
type Role = keyof typeof ofRole;

/** `left` gets the names of fields that are not read. Throws `bad_messages`. */
export function readTurns({ system, messages }: Json, left: LeftOut): chat.Turn[] {
  if (!Array.isArray(messages) || messages.length === 0)
    throw badMessages('messages', 'must be a list with at least one message');
  return [
    ...(isGiven(system) ? turnOf('system', system, 'system', 'system', left) : []),
    ...messages.flatMap((message: unknown, i) => readMessage(message, `messages[${i}]`, left)),
  ];
}

function readMessage(message: unknown, at: string, left: LeftOut): chat.Turn[] {
  if (!isObject(message)) throw badMessages(at, 'must be an object with role and content');
  const { role, content } = message;
  if (!hasKey(ofRole, role)) throw badMessages(`${at}.role`, 'must be user, assistant or system');
  knownFields(message, messageShape, at, mustBe, left);
  return turnOf(role, content, `${at}.content`, at, left);
}

function turnOf(by: Role, content: unknown, path: string, at: string, left: LeftOut): chat.Turn[] {
  const blocks = readBlocks(content, path, ofRole[by], left).filter(says);
  if (by === 'user' && blocks.length === 0) throw badMessages(path, 'must hold at least one block');
  if (by === 'system' && blocks.length === 0) return [];
  return [{ by, name: null, blocks, at }];
}

/** An empty text or thought says nothing, and services refuse it. */
function says(block: chat.Block): boolean {
  if (block.type === 'text') return block.text !== '';
  return block.type !== 'thought' || block.text !== '' || block.signature !== null;
}

function readBlocks(
  content: unknown,
  at: string,
  allowed: BlockType[],
  left: LeftOut,
): chat.Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  if (!Array.isArray(content)) throw badMessages(at, 'must be a string or a list of blocks');
  return content.flatMap((block: unknown, i) => readBlock(block, `${at}[${i}]`, allowed, left));
}

function readBlock(block: unknown, at: string, allowed: BlockType[], left: LeftOut): chat.Block[] {
  if (!isObject(block)) throw badMessages(at, 'must be an object with a type');
  const type = allowed.find((each) => each === block.type);
  if (type === undefined) throw unknownType(block.type, at, allowed);
  const own = knownFields(block, blockShapes[type], at, mustBe, left);
  const missing = needed[type]?.find((field) => own[field] === undefined);
  if (missing !== undefined) throw badMessages(`${at}.${missing}`, 'is missing');
  const blocks = blocksOf(type, own, at, left);
  // A block may become several. Its cache mark goes to the last one.
  const last = blocks.at(-1);
  if (cacheMark in own && last) last.mark = true;
  return blocks;
}

/** `own`: the checked fields of the block. */
function blocksOf(type: BlockType, own: Json, at: string, left: LeftOut): chat.Block[] {
  switch (type) {
    case 'text':
      return [{ type, text: String(own.text), at }];
    case 'image':
      return [{ type, media: sourceOf(own, at, /^image\/[\w.+-]+$/, 'an image'), at }];
    case 'document':
      return documentOf(own, at);
    case 'thinking':
      return [thoughtOf('text', String(own.thinking ?? ''), own.signature, `${at}.signature`)];
    case 'redacted_thinking':
      return [thoughtOf('hidden', '', own.data, `${at}.data`)];
    case 'tool_use': {
      const { id, name, input = {} } = own;
      const call = { id: String(id), name: String(name), input: JSON.stringify(input) };
      return [{ type: 'call', ...call, custom: false, at }];
    }
    case 'tool_reference':
      return [{ type: 'text', text: `The tool ${String(own.tool_name)} is available.`, at }];
    case 'tool_addition':
    case 'tool_removal':
      // The model can always call all tools of the call.
      left.add(at, type);
      return [];
    case 'tool_result': {
      const { content } = own;
      const said = isGiven(content) ? readBlocks(content, `${at}.content`, ofResult, left) : [];
      const blocks = said.filter(says) as (chat.TextBlock | chat.MediaBlock)[];
      const failed = own.is_error === true;
      const marked = blocks.some((block) => block.mark) && { mark: true as const };
      return [{ type: 'result', call: String(own.tool_use_id), blocks, failed, at, ...marked }];
    }
  }
}

/** Only signed or hidden reasoning can be given back to its model as its own. */
function thoughtOf(
  form: 'text' | 'hidden',
  said: string,
  signature: unknown,
  at: string,
): chat.ThoughtBlock {
  if (!isFilled(signature)) return { type: 'thought', form, text: said, ...unproven, at };
  const { proof, ...origin } = unpackProof(signature, at);
  return form === 'hidden'
    ? { type: 'thought', form, text: proof, signature: null, ...origin, at }
    : { type: 'thought', form, text: said, signature: proof, ...origin, at };
}

/** For each type of source, the field that holds its value. */
const sourceFields: Readonly<Record<string, string>> = {
  base64: 'data',
  url: 'url',
  file: 'file_id',
};

function sourceOf(own: Json, at: string, types: RegExp, what: string): chat.Media {
  const given = own.source as Json;
  const type = String(given.type);
  const field = Object.hasOwn(sourceFields, type) ? sourceFields[type] : undefined;
  if (field === undefined)
    throw badMessages(`${at}.source.type`, 'must be base64, text, url or file');
  const said = demand(given, field, at);
  const path = `${at}.source.${field}`;
  if (type !== 'base64') return mediaOf(said, path);
  const media = statedMedia(String(given.media_type ?? ''), said, path);
  if (media.from === 'base64' && !types.test(media.type ?? ''))
    throw badMessages(`${at}.source.media_type`, `must be the type of ${what}`);
  return media;
}

function demand(given: Json, field: string, at: string): string {
  const value = given[field];
  if (!isFilled(value)) throw badMessages(`${at}.source.${field}`, 'is missing');
  return value;
}

/** A document of text becomes a text that begins with its title and context. */
function documentOf(own: Json, at: string): chat.Block[] {
  const { title, context } = own;
  const given = own.source as Json;
  if (given.type === 'text') {
    const said = [title, context, demand(given, 'data', at)].filter(isFilled).join('\n\n');
    return [{ type: 'text', text: said, at }];
  }
  const media = sourceOf(own, at, /^application\/pdf$/, 'a PDF: application/pdf');
  const name = isFilled(title) ? title : given.type === 'file' ? null : 'document.pdf';
  const about: chat.Block[] = isFilled(context) ? [{ type: 'text', text: context, at }] : [];
  return [...about, { type: 'file', media: { ...media, name }, at }];
}
