import { badMessages } from '../chat/chat-messages.ts';
import type { Media, MediaBlock, Turn } from '../chat/conversation.ts';
import { asBase64 } from '../../lib/base64.ts';
import { dataIn } from '../../lib/data-address.ts';

/** Reads media as callers write them in the three APIs. */

/**
 * The media in a text: a `data:` address, an http(s) address, or the id of a stored file. `at`: the
 * caller's path of the text.
 */
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

/** Bytes in base64 with the type that the caller states. Any other text names a file. */
export function statedMedia(stated: string, text: string, at: string): Media {
  const value = asBase64(text);
  if (value === null) return mediaOf(text, at);
  const type = typeByBytes(value) ?? usualType(stated);
  return { type, from: 'base64', value, name: null, at };
}

/** Names of types that are in use beside the registered ones. */
const aliases: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
};

function usualType(type: string): string | null {
  const lower = type.trim().toLowerCase();
  return lower === '' ? null : (aliases[lower] ?? lower);
}

/**
 * The first bytes of the types that chat models take, as base64. A label may be wrong, and services
 * refuse it.
 */
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
