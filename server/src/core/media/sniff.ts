import { fileTypeFromBuffer } from 'file-type';
import { dataIn } from '../../lib/data-address.ts';
import { isKnownType, kindOf, unknownType, usualType } from './content-type.ts';
import { isControl, plainText } from './plain-text.ts';

/**
 * Types that share a container, for which programs have only one name. The first bytes do not show
 * whether it contains video.
 */
const containers: Record<string, string> = {
  'video/mp4': 'mp4',
  'video/quicktime': 'mp4',
  'audio/mp4': 'mp4',
  'video/webm': 'matroska',
  'video/x-matroska': 'matroska',
  'audio/webm': 'matroska',
  'audio/x-matroska': 'matroska',
  'image/heic': 'heif',
  'image/avif': 'heif',
};

/** Number of first bytes that `sniff` needs. */
export const sniffBytes = 4100;

/**
 * The content type that the first bytes show, by the name we store; null for types that are not
 * accepted. Markup that a browser would run gets its real type, `image/svg+xml` or `text/html`, so
 * that it can be refused or served as an attachment. Only the given bytes of a text are checked;
 * `measure` reads it to the end.
 */
export async function sniff(head: Uint8Array): Promise<string | null> {
  if (head.length === 0) return null;
  const magic = await magicType(head);
  if (magic && isKnownType(magic)) return magic;
  if (!plainText().takes(head)) return null;
  return markupType(Buffer.from(head).toString('utf8')) ?? 'text/plain';
}

/** Names the type of bytes for which `sniff` gave null, in words for a refusal. */
export async function describe(head: Uint8Array): Promise<string> {
  if (head.length === 0) return 'empty';
  const magic = await magicType(head);
  if (magic !== null) return magic;
  const [first, second] = head;
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  if (isWide) return 'text in UTF-16';
  return head.some(isControl) ? 'of no known type' : 'text that is not in UTF-8';
}

/**
 * The type of a file whose first bytes these are, if its source calls it `stated`. Only what the
 * bytes do not show is believed, such as whether a container has no pictures. A picture of a type
 * that is known always shows it.
 */
export async function typeByBytes(head: Uint8Array, stated: string): Promise<string> {
  const name = usualType(stated);
  const found = (await sniff(head)) ?? (await magicType(head));
  if (found === null) return kindOf(name) === 'image' && isKnownType(name) ? unknownType : name;
  return kindOf(name) === 'audio' && isSameType(stated, found) ? name : found;
}

/** The type of the bytes in a valid `data:` address. */
export async function typeOfData(address: string): Promise<string> {
  const { base64, content_type } = dataIn(address)!;
  const head = Buffer.from(base64.slice(0, sniffBytes * 2), 'base64');
  return typeByBytes(head.subarray(0, sniffBytes), content_type);
}

/**
 * Whether a `Content-Type` header is a correct name for what `sniff` found. Parameters are ignored.
 */
export function isSameType(declared: string, sniffed: string): boolean {
  const name = usualType(declared);
  if (name === sniffed) return isKnownType(name);
  const container = containers[name];
  return container !== undefined && container === containers[sniffed];
}

async function magicType(head: Uint8Array): Promise<string | null> {
  const start = Buffer.from(head).toString('latin1', 0, 12);
  // A text's mark, which the library skips before any type.
  const found = start.startsWith('\xef\xbb\xbf') ? undefined : await fileTypeFromBuffer(head);
  const type = found ? usualType(found.mime) : null;
  if (type === 'image/bmp' && !isBitmap(head)) return null;
  // The library looks at the first of an Ogg file's streams.
  if (type === 'audio/ogg' && Buffer.from(head).includes('\x80theora', 0, 'latin1'))
    return 'video/ogg';
  if (type !== null) return stillType(Buffer.from(head)) ?? type;
  // The directory of a TIFF may be at its end.
  if (/^(?:II[*+]\0|MM\0[*+])/.test(start)) return 'image/tiff';
  // Readers of PDF skip empty lines and a byte order mark.
  if (/^(?:\xef\xbb\xbf)?\s*%PDF-/.test(start)) return 'application/pdf';
  // A WAV with lengths of 64 bits.
  if (/^(?:RF64|BW64).{4}WAVE/s.test(start)) return 'audio/wav';
  // An MP3's ID3 tag may be longer than the head, for example with a cover image.
  const [i, d, three, version = 0] = head;
  const tagged = i === 0x49 && d === 0x44 && three === 0x33 && version >= 2 && version <= 4;
  return tagged ? 'audio/mpeg' : null;
}

/** Sizes of a BMP's second header. A text may begin with BM too. */
const bitmapHeaders = new Set([12, 40, 52, 56, 64, 108, 124]);

function isBitmap(head: Uint8Array): boolean {
  return head.length >= 26 && bitmapHeaders.has(Buffer.from(head).readUInt32LE(14));
}

/**
 * The type of a still picture in an ISO container, by all its brands: the first one may be general,
 * such as `mif1`. If the brands name both codecs, or none, the picture's own codec decides.
 */
function stillType(head: Buffer): 'image/avif' | 'image/heic' | null {
  if (head.length < 16 || head.toString('latin1', 4, 8) !== 'ftyp') return null;
  const brands = head.toString('latin1', 8, head.readUInt32BE(0)).match(/.{4}/gs);
  const has = (pattern: RegExp) => brands?.some((brand) => pattern.test(brand)) === true;
  const [isAvif, isHeic] = [has(/^avi[fs]$/), has(/^he[iv][cmsx]$/)];
  if (isAvif !== isHeic) return isAvif ? 'image/avif' : 'image/heic';
  if (!isAvif && !has(/^(?:mif|msf)[12]$/)) return null;
  return head.includes('av1C') ? 'image/avif' : 'image/heic';
}

/**
 * Recognises HTML by the WHATWG's rules for unknown types. The whole name of the tag must match, so
 * `<bang` does not count as `<b`.
 */
const htmlStart =
  /^<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>]|^<!--/i;
const svgStart = /^<(?:[a-z_][\w.-]*:)?svg[\s/>]|^<!doctype\s+svg\b/i;
/**
 * Allowed before the root element of an XML document: declaration, comments, another document type.
 */
const prolog = /^(?:<\?[^>]*>|<!--(?:(?!-->).)*-->|<!doctype(?!\s+(?:svg|html)\b)[^>[]*>)\s*/is;

function markupType(text: string): 'image/svg+xml' | 'text/html' | null {
  const start = text.replace(/^\uFEFF/, '').trimStart();
  let root = start;
  for (let found = prolog.exec(root); found; found = prolog.exec(root)) {
    root = root.slice(found[0].length);
  }
  if (svgStart.test(root)) return 'image/svg+xml';
  return htmlStart.test(root) || htmlStart.test(start) ? 'text/html' : null;
}
