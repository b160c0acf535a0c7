import type { Media } from '../chat/conversation.ts';
import { isBase64 } from '../../lib/base64.ts';

/** Reads media as callers write them in the three APIs. */

/**
 * The media in a text: a `data:` address, an http(s) address, or the id of a stored file. `at`: the
 * caller's path of the text.
 */
export function mediaOf(value: string, at: string, name: string | null = null): Media {
  const data = dataIn(value);
  if (data !== null) return { ...data, from: 'base64', name, at };
  const from = /^https?:/i.test(value) ? 'url' : 'file_id';
  return { type: null, from, value, name, at };
}

/** As `mediaOf`; the text may also be base64. */
export function mediaOrBytes(value: string, at: string, name: string | null = null): Media {
  if (!isBase64(value)) return mediaOf(value, at, name);
  return { type: typeByBytes(value), from: 'base64', value, name, at };
}

/** Bytes in base64 with the type that the caller states. */
export function statedMedia(type: string, value: string, at: string): Media {
  return { type: typeByBytes(value) ?? usualType(type), from: 'base64', value, name: null, at };
}

/** The media type and the base64 of a `data:` address; null for any other text. */
function dataIn(address: string): Pick<Media, 'type' | 'value'> | null {
  const [, type = '', value] = /^\s*data:([^;,]*)[^,]*;base64,(.*)$/is.exec(address) ?? [];
  return value === undefined ? null : { type: typeByBytes(value) ?? usualType(type), value };
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

/** The first bytes of the types that chat models take. A label may be wrong; services refuse it. */
const beginnings: readonly [RegExp, string][] = [
  [/^\x89PNG\r\n\x1a\n/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8[79]a/, 'image/gif'],
  [/^RIFF[^]{4}WEBP/, 'image/webp'],
  [/^%PDF-/, 'application/pdf'],
];

function typeByBytes(base64: string): string | null {
  const head = Buffer.from(base64.slice(0, 24), 'base64').toString('latin1');
  return beginnings.find(([form]) => form.test(head))?.[1] ?? null;
}
