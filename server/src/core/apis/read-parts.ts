import { isObject, objectOf, type Json } from '../../lib/json.ts';
import { hasKey } from '../../lib/records.ts';
import { badMessages } from '../bad-request.ts';
import type { Block, MediaBlock, TextBlock } from '../chat/conversation.ts';
import { mediaIn, mediaOf, mediaOrBytes } from '../chat/chat-media.ts';
import { cacheMark, cacheMarkShape } from '../chat/optional-fields.ts';
import { isFilled, isGiven, text, type KnownFields } from '../check.ts';
import {
  anything,
  detail,
  each,
  knownFields,
  mustBe,
  unknownType,
  type LeftOut,
} from './read-call.ts';

/** Reads the contents of messages and results, which are lists of parts in all three APIs. */

/** A kind of part, with its fields and those that it needs. */
export interface PartKind extends KnownFields {
  needs?: readonly string[];
  read(own: Json, at: string, left: LeftOut): Block[];
}

/** By the name of the kind. `named`: the types that a refusal lists; `unread`: those left out. */
export interface PartKinds {
  kinds: Readonly<Partial<Record<string, PartKind>>>;
  named: readonly string[];
  unread?: ReadonlySet<unknown>;
}

const ofEveryPart = { type: text, [cacheMark]: cacheMarkShape };

/**
 * The blocks of a content: a text, a part, or a list of parts.
 *
 * @throws ApiError `bad_messages`, which names the part or its field
 */
export function readParts(content: unknown, at: string, known: PartKinds, left: LeftOut): Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  if (isObject(content) && content.type !== undefined) return readPart(content, at, known, left);
  if (!Array.isArray(content)) throw mustBe(at, 'a string or a list of parts');
  return content.flatMap((part, k) => readPart(part, `${at}[${k}]`, known, left));
}

function readPart(
  sent: unknown,
  at: string,
  { kinds, named, unread }: PartKinds,
  left: LeftOut,
): Block[] {
  if (!isObject(sent) && typeof sent !== 'string') throw mustBe(at, 'an object with a type');
  const part = objectOf(sent);
  if (unread?.has(part.type)) {
    left.add(at, String(part.type));
    return [];
  }
  const name = nameOf(part.type);
  const kind = hasKey(kinds, name) ? kinds[name] : undefined;
  if (kind === undefined) throw unknownType(part.type, at, named);
  const own = knownFields(part, { fields: { ...ofEveryPart, ...kind.fields } }, at, mustBe, left);
  const missing = kind.needs?.find((field) => own[field] === undefined);
  if (missing !== undefined) throw badMessages(`${at}.${missing}`, 'is missing, and must be given');
  const blocks = kind.read(own, at, left);
  // A part may become several blocks. Its cache mark goes to the last one.
  const last = blocks.at(-1);
  if (cacheMark in own && last) last.mark = true;
  return blocks;
}

/** Clients send the types of one OpenAI API to the other. */
function nameOf(type: unknown): string {
  return String(type).replaceAll(/^(input|output)_|_url$/g, '');
}

/**
 * The content of a tool's result. Any value that is not made of parts, such as an object or a
 * number, is told as its JSON.
 */
export function readResult(
  content: unknown,
  at: string,
  known: PartKinds,
  left: LeftOut,
): (TextBlock | MediaBlock)[] {
  if (!isGiven(content)) return [];
  const isPart = (value: unknown) => typeof objectOf(value).type === 'string';
  const isParts = Array.isArray(content)
    ? content.every(isPart)
    : typeof content === 'string' || hasKey(known.kinds, nameOf(objectOf(content).type));
  const said = isParts ? content : JSON.stringify(content);
  return readParts(said, at, known, left).map((block) => {
    if (block.type === 'refusal') return { ...block, type: 'text' };
    if (block.type === 'thought' || block.type === 'call' || block.type === 'result')
      throw badMessages(block.at, 'must be a part of a result');
    return block;
  });
}

const ofFiles = each(text, 'file_id', 'file_data', 'file_url', 'filename');

/** The kinds of parts of both OpenAI APIs, in the form of either. */
export const openaiParts = {
  text: {
    fields: { text, ...each(anything, 'annotations', 'logprobs') },
    needs: ['text'],
    read: (own, at) => [{ type: 'text', text: String(own.text), at }],
  },
  refusal: {
    fields: { refusal: text },
    needs: ['refusal'],
    read: (own, at) => [{ type: 'refusal', text: String(own.refusal), at }],
  },
  image: {
    fields: { image_url: { isText: true, fields: { url: text, detail } }, file_id: text, detail },
    read({ image_url, ...beside }, at) {
      const inner = isObject(image_url) ? { ...beside, ...image_url } : beside;
      const url = isObject(image_url) ? inner.url : image_url;
      const place = isObject(image_url) ? `${at}.image_url.url` : `${at}.image_url`;
      const media = isFilled(url) ? mediaOf(url, place) : mediaIn(beside, at, ['file_id']);
      if (media === null) throw badMessages(at, 'must have image_url or file_id');
      return [
        { type: 'image', media, at, ...(isFilled(inner.detail) && { detail: inner.detail }) },
      ];
    },
  },
  audio: {
    fields: { input_audio: { fields: { data: text, format: text } } },
    read({ input_audio }, at) {
      const { data, format } = objectOf(input_audio);
      if (!isFilled(data) || !isFilled(format))
        throw badMessages(at, 'must have input_audio with data and format');
      return [{ type: 'audio', media: mediaOrBytes(data, `${at}.input_audio.data`), at, format }];
    },
  },
  file: {
    fields: { ...ofFiles, file: { fields: ofFiles } },
    read({ file, ...beside }, at) {
      const own = isObject(file) ? file : beside;
      const place = isObject(file) ? `${at}.file` : at;
      const media = mediaIn(own, place, ['file_id', 'file_data', 'file_url']);
      if (media === null) throw badMessages(at, 'must have file_id, file_data or file_url');
      return [{ type: 'file', media, at }];
    },
  },
} satisfies Record<string, PartKind>;
