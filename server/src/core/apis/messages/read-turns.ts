import { isObject, type Json } from '../../../lib/json.ts';
import { hasKey } from '../../../lib/records.ts';
import { boolean, filled, isFilled, isGiven, object, text, type KnownFields } from '../../check.ts';
import { badMessages } from '../../bad-request.ts';
import type * as chat from '../../chat/conversation.ts';
import {
  anything,
  each,
  givenInput,
  inputCheck,
  knownFields,
  mustBe,
  type LeftOut,
} from '../read-call.ts';
import { cacheMark, cacheMarkShape } from '../../chat/optional-fields.ts';
import { mediaOf, statedMedia } from '../../chat/chat-media.ts';
import { readParts, readResult, type PartKind, type PartKinds } from '../read-parts.ts';
import { thoughtBlock } from '../thoughts.ts';

/** Reads the system prompt and the messages of a Messages call. */

const source: KnownFields = {
  fields: { ...each(text, 'type', 'media_type', 'data', 'url', 'file_id'), content: anything },
};
const mark = { type: text, [cacheMark]: cacheMarkShape };

const messageShape: KnownFields = { fields: each(anything, 'role', 'content') };

const toolChange: KnownFields = { fields: each(anything, 'type', 'tool') };

/** The blocks that can be translated, with the fields that are read. */
const blockShapes = {
  text: { fields: { text, ...mark } },
  image: { fields: { source, ...mark } },
  document: { fields: { source, title: text, context: text, ...mark } },
  search_result: { fields: { source: text, title: text, content: anything, ...mark } },
  thinking: { fields: { type: text, thinking: text, signature: text } },
  redacted_thinking: { fields: { type: text, data: text } },
  tool_use: { fields: { id: filled, name: filled, input: inputCheck, caller: object, ...mark } },
  tool_result: { fields: { tool_use_id: filled, is_error: boolean, content: anything, ...mark } },
  tool_reference: { fields: { tool_name: filled, ...mark } },
  tool_addition: toolChange,
  tool_removal: toolChange,
} satisfies Record<string, KnownFields>;

type BlockType = keyof typeof blockShapes;

const needs: Partial<Record<BlockType, readonly string[]>> = {
  text: ['text'],
  image: ['source'],
  document: ['source'],
  search_result: ['content'],
  redacted_thinking: ['data'],
  tool_use: ['id', 'name'],
  tool_result: ['tool_use_id'],
  tool_reference: ['tool_name'],
};

function kindsOf(...named: BlockType[]): PartKinds {
  const kinds = named.map((type): [string, PartKind] => {
    const read: PartKind['read'] = (own, at, left) => blocksOf(type, own, at, left);
    return [type, { ...blockShapes[type], read, needs: needs[type] ?? [] }];
  });
  return { kinds: Object.fromEntries(kinds), named, unread };
}

/** Blocks of tools that ran at Anthropic, and of history that only Anthropic can read. */
const unread = new Set([
  'server_tool_use',
  'mcp_tool_use',
  'mcp_tool_result',
  'compaction',
  'container_upload',
  'fallback',
  ...['web_search', 'web_fetch', 'code_execution', 'bash_code_execution', 'tool_search', 'advisor']
    .concat('text_editor_code_execution')
    .map((tool) => `${tool}_tool_result`),
]);

const shown: BlockType[] = ['text', 'image', 'document', 'search_result'];
const ofDocument = kindsOf('text', 'image');
/** The result of a search for tools names those that it found. */
const ofResult = kindsOf(...shown, 'tool_reference');
const ofRole = {
  user: kindsOf(...shown, 'tool_result'),
  assistant: kindsOf('text', 'thinking', 'redacted_thinking', 'tool_use'),
  system: kindsOf('text', 'tool_addition', 'tool_removal'),
};
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
  const blocks = readParts(content, path, ofRole[by], left).filter(says);
  if (by === 'user' && blocks.length === 0) throw badMessages(path, 'must hold at least one block');
  if (by === 'system' && blocks.length === 0) return [];
  return [{ by, name: null, blocks, at }];
}

/** An empty text or thought says nothing, and services refuse it. */
function says(block: chat.Block): boolean {
  if (block.type === 'text') return block.text !== '';
  return block.type !== 'thought' || block.text !== '' || block.signature !== null;
}

/** `own`: the checked fields of the block. */
function blocksOf(type: BlockType, own: Json, at: string, left: LeftOut): chat.Block[] {
  switch (type) {
    case 'text':
      return [{ type, text: String(own.text), at }];
    case 'image':
      return [{ type, media: sourceOf(own, at, /^image\/[\w.+-]+$/, 'an image'), at }];
    case 'document':
      return documentOf(own, at, left);
    case 'search_result': {
      const { title, source: from, content } = own;
      const about = [title, from].filter(isFilled).join('\n');
      const said = readParts(content, `${at}.content`, ofDocument, left);
      return [...(about === '' ? [] : [{ type: 'text', text: about, at } as const]), ...said];
    }
    case 'thinking':
      return [thoughtBlock('text', String(own.thinking ?? ''), own.signature, `${at}.signature`)];
    case 'redacted_thinking':
      return [thoughtBlock('hidden', '', own.data, `${at}.data`)];
    case 'tool_use': {
      const { id, name, input } = own;
      const call = { id: String(id), name: String(name), input: givenInput(input) };
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
      const said = isGiven(content) ? readResult(content, `${at}.content`, ofResult, left) : [];
      const blocks = said.filter(says);
      const failed = own.is_error === true;
      const marked = blocks.some((block) => block.mark) && { mark: true as const };
      return [{ type: 'result', call: String(own.tool_use_id), blocks, failed, at, ...marked }];
    }
  }
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
    throw badMessages(`${at}.source.type`, 'must be base64, text, content, url or file');
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
function documentOf(own: Json, at: string, left: LeftOut): chat.Block[] {
  const { title, context } = own;
  const given = own.source as Json;
  if (given.type === 'content') {
    const about = [title, context].filter(isFilled).join('\n\n');
    const said = readParts(given.content, `${at}.source.content`, ofDocument, left);
    return [{ type: 'text', text: about, at }, ...said];
  }
  if (given.type === 'text') {
    const said = [title, context, demand(given, 'data', at)].filter(isFilled).join('\n\n');
    return [{ type: 'text', text: said, at }];
  }
  const media = sourceOf(own, at, /^application\/pdf$/, 'a PDF: application/pdf');
  const name = isFilled(title) ? title : given.type === 'file' ? null : 'document.pdf';
  const about: chat.Block[] = isFilled(context) ? [{ type: 'text', text: context, at }] : [];
  return [...about, { type: 'file', media: { ...media, name }, at }];
}
