import { dataIn } from '../lib/data-address.ts';
import { objectOf } from '../lib/json.ts';
import type { OutputMedia } from './upstream.ts';

/** Finds media in an output, whatever JSON shape an upstream uses. */

const extensions: Readonly<Record<string, string>> = {
  png: 'image',
  jpg: 'image',
  jpeg: 'image',
  webp: 'image',
  gif: 'image',
  svg: 'image',
  avif: 'image',
  mp4: 'video',
  webm: 'video',
  mov: 'video',
  mkv: 'video',
  mp3: 'audio',
  wav: 'audio',
  ogg: 'audio',
  m4a: 'audio',
  flac: 'audio',
};
const depthMax = 6;

export interface CollectedOutput {
  media: OutputMedia[];
  /** Other fields, under their own names. */
  fields: Record<string, unknown>;
}

/**
 * Separates the media of an output from its other fields. Media in an object such as `{images:
 * [{url}], video: {url}, seed}` keep their names; a bare address, or a list of addresses, is named
 * `field`. If the whole output is a text, it becomes the field `text`.
 */
export function collectMedia(output: unknown, field: string): CollectedOutput {
  const found: CollectedOutput = { media: [], fields: {} };
  if (typeof output === 'object' && output !== null && !Array.isArray(output)) {
    const own = sourceOf(output);
    if (own) found.media.push({ field, ...own });
    else for (const [name, value] of Object.entries(output)) take(value, name, found);
    return found;
  }
  const media = listOf(output, field);
  if (media !== null) return { media, fields: {} };
  if (typeof output === 'string') return { media: [], fields: { text: output } };
  const isText = Array.isArray(output) && output.every((part) => typeof part === 'string');
  if (isText && output.length > 0) return { media: [], fields: { text: output.join('') } };
  return found;
}

function take(value: unknown, name: string, found: CollectedOutput): void {
  const media = listOf(value, name);
  if (media === null) found.fields[name] = value;
  else found.media.push(...media);
}

/** The media in a value; null if any part of the value is not media. */
function listOf(value: unknown, field: string, depth = 0): OutputMedia[] | null {
  if (depth > depthMax) return null;
  if (Array.isArray(value)) {
    const lists = value.map((item) => listOf(item, field, depth + 1));
    return lists.length > 0 && lists.every((list) => list !== null) ? lists.flat() : null;
  }
  const source = sourceOf(value);
  return source === null ? null : [{ field, ...source }];
}

/** The source in a text (an address or a `data:` address) or in an object with one; else null. */
function sourceOf(value: unknown): Omit<OutputMedia, 'field'> | null {
  if (typeof value === 'string') return sourceOfText(value);
  const { url, b64_json, content_type, file_name } = objectOf(value);
  const source =
    typeof url === 'string'
      ? sourceOfText(url, true)
      : typeof b64_json === 'string'
        ? { source: { bytes: Buffer.from(b64_json, 'base64') } }
        : null;
  if (source === null) return null;
  return {
    ...source,
    ...(typeof content_type === 'string' && { content_type }),
    ...(typeof file_name === 'string' && { file_name }),
  };
}

function sourceOfText(text: string, isAddress = false): Omit<OutputMedia, 'field'> | null {
  const data = dataIn(text);
  if (data !== null)
    return {
      source: { bytes: Buffer.from(data.base64, 'base64') },
      content_type: data.content_type,
    };
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return null;
  // A bare link without a media file's extension is probably a web page, not an output.
  return isAddress || kindOfAddress(text) !== null ? { source: { url: text } } : null;
}

/** The kind of media by an address's file extension: image, video or audio; null if unknown. */
export function kindOfAddress(url: string): string | null {
  const extension = /\.([a-z0-9]{2,5})$/i.exec(new URL(url).pathname)?.[1]?.toLowerCase() ?? '';
  return extensions[extension] ?? null;
}
