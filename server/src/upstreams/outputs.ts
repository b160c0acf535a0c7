import { asBase64 } from '../lib/base64.ts';
import { dataIn } from '../lib/data-address.ts';
import { isObject, itemsOf, objectOf } from '../lib/json.ts';
import { isSideOutput, mainOutputs, snakeCase } from '../core/media/output-fields.ts';
import { jsonOf, reasonIn } from './replies.ts';
import type { OutputMedia } from './upstream.ts';

/** Finds media in an output, whatever JSON shape an upstream uses. */

const extension =
  /\.(?:a?png|jpe?g|jfif|webp|gif|svg|avif|hei[cf]|tiff?|bmp|m[4k]v|mp[34]|mov|webm|wav|og[ag]|opus|m4a|mka|flac|aac)$/i;
const depthMax = 6;
/** A shorter text in a field for addresses may be a name that happens to look like base64. */
const base64MinLength = 64;

export interface CollectedOutput {
  media: OutputMedia[];
  /** Other fields, under their own names. */
  fields: Record<string, unknown>;
}

/**
 * Separates the media of an output from its other fields. Media in an object such as `{images:
 * [{url}], video: {url}, seed}` keep their names; a bare address, or a list of addresses, is named
 * `field`. If the whole output is a text, it becomes the field `text`. The field `left_out` has the
 * reasons that an upstream gives for empty places in a list of media. Addresses may be relative.
 */
export function collectMedia(output: unknown, field: string | null, depth = 0): CollectedOutput {
  if (isObject(output)) {
    const own = sourceOf(output);
    if (own) return { media: [{ field, ...own }], fields: {} };
    const found: CollectedOutput = { media: [], fields: {} };
    for (const [name, value] of Object.entries(output))
      if (!takeMedia(value, name, found)) found.fields[name] = value;
    const isFound = found.media.some(({ field }) => !isSideOutput(field!));
    return isFound ? found : unwrapped(found, depth);
  }
  const found: CollectedOutput = { media: [], fields: {} };
  if (takeMedia(output, field, found)) return found;
  if (typeof output === 'string') return { media: [], fields: { text: output } };
  const isText = Array.isArray(output) && output.every((part) => typeof part === 'string');
  if (isText && output.length > 0) return { media: [], fields: { text: output.join('') } };
  const inner = unwrapped({ media: [], fields: { output } }, depth);
  return inner.media.length > 0 ? inner : found;
}

/** Names of a text, or of a list of texts, that is an address or base64 in any form. */
const namedField =
  /^(?:(?:output|result|generated|final|base64|b64)_)?(?:images?|videos?|audios?|files?|samples?)$|^(?:urls|uri)$|^(?:(?:output|result|generated|final)_)?(?:image|video|audio|file|media|output|result|download|signed|bytes|binary_data)s?_(?:url|uri|b64|base64|base64_encoded|bytes|file)s?$/;
const isNamed = (field: string | null) => field !== null && namedField.test(snakeCase(field));

/** The media, of which the main ones are named `field`. */
export function underField(media: OutputMedia[], field: string | null): OutputMedia[] {
  const main = mainOutputs(media);
  return media.map((each) => (main.includes(each) ? { ...each, field } : each));
}

/** Not `input`: some services repeat the caller's. */
const wrapper =
  /(?:^|_)(?:outputs?|data|results?|responses?|generations?|generations_by_pk|generated|images?|videos?|assets|payload|content|creations|works|artifacts|predictions|samples|choices|message|candidates|parts)(?:_json)?$|^\d+$/;
const isWrapper = (name: string) => wrapper.test(snakeCase(name)) && !isSideOutput(name);
/** Those that may be addresses, however these end. */
const bareWrapper = /^(?:outputs?|results?|data|generated)$/;

/** Looks for media inside the fields that services wrap their outputs in. */
function unwrapped({ media, fields }: CollectedOutput, depth: number): CollectedOutput {
  const found: CollectedOutput = { media: [...media], fields: {} };
  for (const [name, value] of Object.entries(fields)) {
    const inner = (depth < depthMax && isWrapper(name) ? [parsed(value, name)].flat() : [])
      .map((each) => (bareWrapper.test(name) && isAddress(each) ? { url: each } : each))
      .filter(isObject)
      .map((each) => ({ isDraft: each.thought === true, ...collectMedia(each, name, depth + 1) }));
    const made = inner.filter(({ media }) => media.length > 0);
    const finals = made.some(({ isDraft }) => !isDraft) ? [] : made.slice(-1);
    if (made.length === 0) found.fields[name] = value;
    else
      for (const each of inner) {
        // Gemini's thoughts may have pictures, too.
        if (each.isDraft && !finals.includes(each)) continue;
        found.media.push(...each.media);
        Object.assign(found.fields, each.fields);
      }
  }
  return found;
}

/** Some services write a list or an object as a JSON text. A model's answer may be one, too. */
function parsed(value: unknown, field = 'output'): unknown {
  const start = /^(?:output|content|message)$/.test(field) ? /^\s*\[/ : /^\s*[[{]/;
  const isJson = typeof value === 'string' && start.test(value);
  return isJson ? (jsonOf(Buffer.from(value)) ?? value) : value;
}

/** False if the value is not media. */
function takeMedia(value: unknown, field: string | null, found: CollectedOutput): boolean {
  const places = placesIn(listIn(value), 0, isNamed(field));
  if (places === null) return false;
  const sources = places.filter((place) => 'source' in place);
  if (sources.length === 0) return false;
  for (const source of sources) found.media.push({ field, ...source });
  const left = places.flatMap((place) => ('source' in place ? [] : (reasonIn(place.empty) ?? [])));
  if (left.length > 0) found.fields.left_out = [...itemsOf(found.fields.left_out), ...left];
  return true;
}

type Source = Omit<OutputMedia, 'field'>;
/** One place of a list of media. Some stay empty, for example after moderation. */
type Place = Source | { empty: unknown };

/** A list in the forms that services write it as one text: as JSON, or with commas or lines. */
export function listIn(value: unknown): unknown {
  const list = parsed(value);
  if (Array.isArray(list)) return list;
  if (!isAddress(value)) return value;
  const addresses = String(value).split(/\s*[,;\s]\s*(?=https?:\/\/)/i);
  return addresses.length > 1 ? addresses : value;
}

/**
 * The places of a value, also of lists in lists; null if it contains a text that is no medium. In a
 * list of addresses, one with the extension of a media file speaks for the others. `isNamed`: its
 * field says that it is media, so any other text is a reason.
 */
function placesIn(value: unknown, depth: number, isNamed: boolean): Place[] | null {
  if (depth > depthMax) return null;
  const { url } = objectOf(value);
  if (Array.isArray(url)) return placesIn(url.map(addressed), depth + 1, isNamed);
  if (!Array.isArray(value)) {
    const source = sourceOf(value, isNamed) ?? (depth > 0 || isNamed ? sourceInField(value) : null);
    if (source !== null) return [source];
    const isEmpty = isNamed || typeof value !== 'string' || value.trim() === '';
    return isEmpty ? [{ empty: value }] : null;
  }
  const isMedia = value.some((item) => typeof item === 'string' && sourceOfText(item) !== null);
  const lists = value.map((item) => {
    const source = isMedia && typeof item === 'string' ? sourceOfText(item, true) : null;
    return source === null ? placesIn(item, depth + 1, isNamed) : [source];
  });
  return lists.every((list) => list !== null) ? lists.flat() : null;
}

const addressed = (url: unknown) => (typeof url === 'string' ? { url } : url);

/** The source in a text, or in an object with one; null if there is none that can be used. */
function sourceOf(value: unknown, isNamed = false): Source | null {
  if (typeof value === 'string') return sourceOfText(value, isNamed);
  const { url, b64_json, data, file_name, ...types } = objectOf(value);
  const content_type = types.content_type ?? types.mime_type ?? types.mimeType;
  const source =
    sourceOfText(url, true) ??
    sourceOfText(b64_json, true) ??
    bytesIn(b64_json) ??
    pathIn(url) ??
    (content_type === undefined ? null : sourceOfText(data, true));
  if (source === null) return null;
  return {
    ...source,
    ...(typeof content_type === 'string' && { content_type }),
    ...(typeof file_name === 'string' && { file_name }),
  };
}

/** Other names of the address or the bytes of a medium in a list. */
const ownField =
  /(?:^|_)(?:url|uri|href|src|link|b64|base64|base64_encoded|bytes)$|^(?:image|video|audio|file|data|resource|result)$/;

function sourceInField(value: unknown): Source | null {
  for (const [name, text] of Object.entries(objectOf(value))) {
    const source =
      ownField.test(snakeCase(name)) && !isSideOutput(name) ? sourceOfText(text, true) : null;
    if (source !== null) return source;
  }
  return null;
}

/**
 * An address, a `data:` address or base64. `isNamed`: the field says that the text is one of them.
 * A bare link without a media file's extension is probably a web page, not an output.
 */
function sourceOfText(value: unknown, isNamed = false): Source | null {
  if (typeof value !== 'string') return null;
  const text = linkIn(value.trim()).replace(quoted, '$1$2$3$4');
  const data = dataIn(text);
  if (data !== null)
    return {
      source: { bytes: Buffer.from(data.base64, 'base64') },
      content_type: data.content_type,
    };
  if (isAddress(text)) {
    const url = text.replaceAll('&amp;', '&');
    return isNamed || isMediaAddress(url) ? { source: { url } } : null;
  }
  if (isNamed && extension.test(text)) return pathIn(text);
  const isBytes = isNamed || mediaStart.test(text);
  return isBytes && text.length >= base64MinLength ? bytesIn(text) : null;
}

/** The address of a text that is nothing but a picture or a link in Markdown. */
function linkIn(text: string): string {
  return (
    /^!?\[[^\]]{0,500}\]\((\S+?)(?:\s+"[^"]*")?\)$/.exec(text.slice(0, linkMaxChars))?.[1] ?? text
  );
}
const linkMaxChars = 4_000;
/** An address in quotation marks, backticks or angle brackets. */
const quoted =
  /^(?:"(https?:[^"\s]+)"|'(https?:[^'\s]+)'|`+(https?:[^`\s]+)`+|<(https?:[^>\s]+)>)$/i;

/** How PNG, JPEG, RIFF, GIF, ISO media, ID3, Matroska, Ogg and FLAC begin in base64. */
const mediaStart = /^(?:iVBORw0KGg|\/9j\/|UklGR|R0lGOD|AAAA..Z0eX|SUQz|GkXfo|T2dnUw|ZkxhQw)/;

/** An address at the upstream itself, or one without its scheme. */
function pathIn(value: unknown): Source | null {
  const isPath = typeof value === 'string' && /^\s*\/[^\s]/.test(value);
  return isPath ? { source: { url: value.trim() } } : null;
}

function isAddress(value: unknown): boolean {
  return typeof value === 'string' && /^\s*https?:\/\//i.test(value) && URL.canParse(value);
}

/** Hexadecimal bytes, as MiniMax sends sound; they would be base64, too. */
const hex = /^(?:[\da-f]{2})+$/;

/** Some services write the end of a `data:` address's head before the bytes. */
function bytesIn(value: unknown): Source | null {
  if (typeof value !== 'string') return null;
  if (hex.test(value)) return { source: { bytes: Buffer.from(value, 'hex') } };
  const base64 = asBase64(value.replace(/^\s*(?:[\w.+-]+\/[\w.+-]+;)?base64,/i, ''));
  return base64 ? { source: { bytes: Buffer.from(base64, 'base64') } } : null;
}

/** Whether a whole body is a medium, of a type that is taken. */
export function isMedium(body: Uint8Array): boolean {
  return mediaStart.test(Buffer.from(body.subarray(0, 12)).toString('base64'));
}

/** Whether an address has the file extension of media. */
export function isMediaAddress(url: string): boolean {
  return extension.test(new URL(url).pathname);
}
