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
import { mediaOf, statedMedia } from '../../chat/chat-media.ts';
import { readParts, readResult, type PartKind, type PartKinds } from '../read-parts.ts';
import { thoughtBlock } from '../thoughts.ts';

/** Reads the system prompt and the messages of a Messages call. */

const source: KnownFields = {
  fields: { ...each(text, 'type', 'media_type', 'data', 'url', 'file_id'), content: anything },
};
const messageShape: KnownFields = { fields: each(anything, 'role', 'content') };

/** The model can always call all tools of the call. */
const toolChange: PartKind = {
  fields: { tool: anything },
  read(own, at, left) {
    left.add(at, String(own.type));
    return [];
  },
};

/** The blocks that can be translated, with the fields that are read. */
const kinds = {
  text: {
    fields: { text },
    needs: ['text'],
    read: (own, at) => [{ type: 'text', text: String(own.text), at }],
  },
  image: {
    fields: { source },
    needs: ['source'],
    read: (own, at) => {
      const media = sourceOf(own, at, /^image\/[\w.+-]+$/, 'an image');
      return [{ type: 'image', media, at }];
    },
  },
  document: {
    fields: { source, title: text, context: text },
    needs: ['source'],
    read: documentOf,
  },
  search_result: {
    fields: { source: text, title: text, content: anything },
    needs: ['content'],
    read({ title, source: from, content }, at, left) {
      const about = [title, from].filter(isFilled).join('\n');
      const found = readParts(content, `${at}.content`, ofDocument, left);
      return [...(about === '' ? [] : [{ type: 'text', text: about, at } as const]), ...found];
    },
  },
  thinking: {
    fields: { thinking: text, signature: text },
    read: ({ thinking, signature }, at) => [
      thoughtBlock('text', String(thinking ?? ''), signature, `${at}.signature`),
    ],
  },
  redacted_thinking: {
    fields: { data: text },
    needs: ['data'],
    read: ({ data }, at) => [thoughtBlock('hidden', '', data, `${at}.data`)],
  },
  tool_use: {
    fields: { id: filled, name: filled, input: inputCheck, caller: object },
    needs: ['id', 'name'],
    read({ id, name, input }, at) {
      const call = { id: String(id), name: String(name), input: givenInput(input) };
      return [{ type: 'call', ...call, custom: false, at }];
    },
  },
  tool_result: {
    fields: { tool_use_id: filled, is_error: boolean, content: anything },
    needs: ['tool_use_id'],
    read({ tool_use_id, is_error, content }, at, left) {
      const blocks = readResult(content, `${at}.content`, ofResult, left).filter(says);
      const marked = blocks.some((block) => block.mark) && { mark: true as const };
      const failed = is_error === true;
      return [{ type: 'result', call: String(tool_use_id), blocks, failed, at, ...marked }];
    },
  },
  tool_reference: {
    fields: { tool_name: filled },
    needs: ['tool_name'],
    read: ({ tool_name }, at) => [
      { type: 'text', text: `The tool ${String(tool_name)} is available.`, at },
    ],
  },
  tool_addition: toolChange,
  tool_removal: toolChange,
} satisfies Record<string, PartKind>;

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

function kindsOf(...named: (keyof typeof kinds)[]): PartKinds {
  return { kinds: Object.fromEntries(named.map((type) => [type, kinds[type]])), named, unread };
}

const shown = ['text', 'image', 'document', 'search_result'] as const;
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
