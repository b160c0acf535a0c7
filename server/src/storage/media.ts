import { fileTypeFromBuffer } from 'file-type';
import { plainText } from './plain-text.ts';

export { measure, Unmeasurable, type Measures } from './measure.ts';

/** Every type that `sniff` can give, with its ending of a file name. */
const endings: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'image/heic': 'heic',
  'image/svg+xml': 'svg',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
  'video/x-matroska': 'mkv',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/mp4': 'm4a',
  'audio/aac': 'aac',
  'application/pdf': 'pdf',
  'text/plain': 'txt',
  'text/html': 'html',
};

/** Other names of these types. */
const aliases: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'image/apng': 'image/png',
  'image/heif': 'image/heic',
  'image/heic-sequence': 'image/heic',
  'image/heif-sequence': 'image/heic',
  'image/svg': 'image/svg+xml',
  'video/x-m4v': 'video/mp4',
  'video/matroska': 'video/x-matroska',
  'audio/mp3': 'audio/mpeg',
  'audio/x-mp3': 'audio/mpeg',
  'audio/mpeg3': 'audio/mpeg',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/opus': 'audio/ogg',
  'audio/vorbis': 'audio/ogg',
  'application/ogg': 'audio/ogg',
  'audio/x-flac': 'audio/flac',
  'audio/m4a': 'audio/mp4',
  'audio/x-m4a': 'audio/mp4',
  'audio/x-aac': 'audio/aac',
  'audio/aacp': 'audio/aac',
  'application/x-pdf': 'application/pdf',
  'text/markdown': 'text/plain',
  'text/csv': 'text/plain',
  'application/xhtml+xml': 'text/html',
};

/** One container, several names: the first bytes do not tell whether there is a picture in it. */
const containers: Record<string, string> = {
  'video/mp4': 'mp4',
  'video/quicktime': 'mp4',
  'audio/mp4': 'mp4',
  'video/webm': 'matroska',
  'video/x-matroska': 'matroska',
  'audio/webm': 'matroska',
  'audio/x-matroska': 'matroska',
};

/** How many first bytes `sniff` should be given. */
export const sniffBytes = 4100;

/**
 * The content type that the first bytes show, by the name we store; null for anything that is not
 * taken here. Markup that a browser would run is named for what it is, `image/svg+xml` or
 * `text/html`, so that it can be refused or served as an attachment. Of a text only the bytes given
 * are judged; `measure` reads it to the end.
 */
export async function sniff(head: Uint8Array): Promise<string | null> {
  if (head.length === 0) return null;
  const magic = await magicType(head);
  if (magic && magic in endings) return magic;
  if (!plainText().takes(head)) return null;
  return markupType(Buffer.from(head).toString('utf8')) ?? 'text/plain';
}

/**
 * Whether a `Content-Type` header is an honest name for what `sniff` found. Parameters do not
 * count.
 */
export function agrees(declared: string, sniffed: string): boolean {
  const name = stored(declared);
  if (name === sniffed) return name in endings;
  const container = containers[name];
  return container !== undefined && container === containers[sniffed];
}

/** Without the dot; `bin` for a type we do not know. */
export function extensionOf(content_type: string): string {
  return endings[stored(content_type)] ?? 'bin';
}

function stored(content_type: string): string {
  const name = (content_type.split(';', 1)[0] ?? '').trim().toLowerCase();
  return aliases[name] ?? name;
}

async function magicType(head: Uint8Array): Promise<string | null> {
  const found = await fileTypeFromBuffer(head);
  if (found) return stored(found.mime);
  // The tag before the sound, a cover picture for one, may be longer than the head.
  const [i, d, three, version = 0] = head;
  const tagged = i === 0x49 && d === 0x44 && three === 0x33 && version >= 2 && version <= 4;
  return tagged ? 'audio/mpeg' : null;
}

/**
 * As the WHATWG's rules for unknown types tell HTML; the tag must end, so that `<b` is not `<bang`.
 */
const htmlStart =
  /^<(?:!doctype\s+html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[\s>]|^<!--/i;
const svgStart = /^<(?:[a-z_][\w.-]*:)?svg[\s/>]|^<!doctype\s+svg\b/i;
/**
 * What may stand before the root element of an XML document: declaration, comments, another
 * document type.
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
