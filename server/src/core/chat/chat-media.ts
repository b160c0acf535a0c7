import {
  isTooMuch,
  mediaInputsMax,
  mediaRule,
  noteMedia,
  sampleForm,
  type MediaInputs,
} from '../catalog/media-input.ts';
import type { Modality } from '../catalog/catalog.ts';
import type { ApiError } from '../errors.ts';
import { parseFileId } from '../request/file-id.ts';
import { badMessages } from '../bad-request.ts';
import { isFilled } from '../check.ts';
import { usualType } from '../media/content-type.ts';
import type { Conversation, Media, MediaBlock, Turn } from './conversation.ts';
import { asBase64 } from '../../lib/base64.ts';
import { dataIn } from '../../lib/data-address.ts';
import type { Json } from '../../lib/json.ts';

/** The caller's field with the list of what was said. */
export function listOf({ api }: Pick<Conversation, 'api'>): 'messages' | 'input' {
  return api === 'responses' ? 'input' : 'messages';
}

/** The error for an upstream that refuses conversations without any text. */
export function saysNothing(conversation: Pick<Conversation, 'api'>): ApiError {
  return badMessages(listOf(conversation), 'must have a text that is not empty');
}

/** The media in a conversation, also those in results of tools. */
export function mediaBlocks({ turns }: Pick<Conversation, 'turns'>): MediaBlock[] {
  const found: MediaBlock[] = [];
  for (const { blocks } of turns)
    for (const block of blocks)
      for (const each of block.type === 'result' ? block.blocks : [block])
        if ('media' in each) found.push(each);
  return found;
}

/** The files and addresses that a conversation names. Throws `bad_messages`. */
export function chatMedia(conversation: Pick<Conversation, 'turns' | 'api'>): MediaInputs {
  const found: MediaInputs = { files: [], urls: [] };
  for (const { type, media } of mediaBlocks(conversation)) {
    note(media, found, type === 'image');
    if (isTooMuch(found)) throw tooManyMedia(listOf(conversation));
  }
  return found;
}

export function tooManyMedia(list: 'messages' | 'input'): ApiError {
  return badMessages(list, `have more than ${mediaInputsMax} files and addresses`, {
    reason: 'media_too_many',
    limit: mediaInputsMax,
  });
}

function note({ from, type, value, at }: Media, found: MediaInputs, isImage: boolean): void {
  if (from === 'base64') {
    // The upstream would bill other data by its real type, not as an image.
    if (isImage && type?.startsWith('image/') === false)
      throw badMessages(at, 'must be an address, a file_id, or data of an image (data:image/…)');
    return;
  }
  if (at.endsWith('file_id') && parseFileId(value) === null)
    throw badMessages(at, 'must be a file_id of POST /files');
  // Samples work only in the queue, where the sandbox makes the file; a chat model would get just
  // the name.
  if (sampleForm.test(value) || !noteMedia(value, at, found)) {
    const rule = mediaRule(value);
    throw badMessages(at, isImage ? rule : `${rule}, or base64`);
  }
}

type MediaTaker = { id: string; input_modalities?: readonly Modality[] };
const namedMax = 3;

/**
 * Refuses media that the model's price does not cover, and names the models of `others` that take
 * them.
 *
 * @throws ApiError `bad_messages`
 */
export function demandModalities(
  conversation: Pick<Conversation, 'turns'>,
  { id, input_modalities }: Required<MediaTaker>,
  others: Iterable<MediaTaker> = [],
): void {
  const block = mediaBlocks(conversation).find(({ type }) => !input_modalities.includes(type));
  if (block === undefined) return;
  const { type: wanted } = block;
  const taken = input_modalities.join(', ');
  const taking = [...others].filter((each) => each.input_modalities?.includes(wanted));
  const named = taking.slice(0, namedMax).map((each) => each.id);
  const wrong = `has the modality ${wanted}, which ${id} does not take; it takes ${taken}`;
  const where =
    named.length === 0 ? 'No model takes it' : `Models that take it: ${named.join(', ')}`;
  throw badMessages(block.at, `${wrong}. ${where}`, { one_of: input_modalities });
}

/** The media in a text, which is a `data:` address, an http(s) address or the id of a file. */
export function mediaOf(value: string, at: string, name: string | null = null): Media {
  const data = dataIn(value);
  if (data !== null) return { ...statedMedia(data.content_type, data.base64, at), name };
  const from = /^https?:/i.test(value) ? 'url' : 'file_id';
  return { type: null, from, value, name, at };
}

/** As `mediaOf`; the text may also be base64. */
export function mediaOrBytes(value: string, at: string, name: string | null = null): Media {
  // The id of a file consists of characters of base64 for URLs.
  const bytes = value.startsWith('file_') ? null : asBase64(value);
  if (bytes === null) return mediaOf(value, at, name);
  return { type: null, from: 'base64', value: bytes, name, at };
}

/** The media in the first of these fields that is filled; null if none is. */
export function mediaIn(own: Json, at: string, fields: readonly string[]): Media | null {
  const field = fields.find((each) => isFilled(own[each]));
  if (field === undefined) return null;
  const name = isFilled(own.filename) ? own.filename : null;
  const read = field === 'file_data' ? mediaOrBytes : mediaOf;
  return read(String(own[field]), `${at}.${field}`, name);
}

/** Bytes in base64 with the type that the caller states. Any other text names a file. */
export function statedMedia(stated: string, text: string, at: string): Media {
  const value = asBase64(text);
  if (value === null) return mediaOf(text, at);
  const label = stated.trim().toLowerCase();
  const named = label.startsWith('image/') ? usualType(label) : label || null;
  const type = typeByBytes(value) ?? named;
  return { type, from: 'base64', value, name: null, at };
}

/** The first bytes of known types, as base64. A label may be wrong, and services refuse it. */
const beginnings: readonly [RegExp, string][] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGODdh|^R0lGODlh/, 'image/gif'],
  [/^UklGR.{6}XRUJQ/, 'image/webp'],
  [/^JVBERi0/, 'application/pdf'],
];

function typeByBytes(base64: string): string | null {
  return beginnings.find(([form]) => form.test(base64))?.[1] ?? null;
}

/** @throws ApiError `bad_messages` for media that the user did not send */
export function demandUsers(by: Turn['by'], { at, type }: MediaBlock): void {
  if (by !== 'user')
    throw badMessages(at, `has the type ${type}; this model takes it from the user only`);
}
