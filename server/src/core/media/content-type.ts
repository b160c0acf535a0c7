/** Media types, their names and file extensions. Pure. */

interface MediaType {
  ending: string;
  /** As people call it. */
  name: string;
}

const type = (ending: string, name = ending.toUpperCase()): MediaType => ({ ending, name });

/** Every type that is taken. */
const types: Record<string, MediaType> = {
  'image/png': type('png'),
  'image/jpeg': type('jpg', 'JPEG'),
  'image/webp': type('webp', 'WebP'),
  'image/gif': type('gif'),
  'image/avif': type('avif'),
  'image/heic': type('heic'),
  'image/tiff': type('tif', 'TIFF'),
  'image/bmp': type('bmp'),
  'image/svg+xml': type('svg'),
  'video/mp4': type('mp4'),
  'video/quicktime': type('mov'),
  'video/webm': type('webm', 'WebM'),
  'video/x-matroska': type('mkv'),
  'audio/mpeg': type('mp3'),
  'audio/wav': type('wav'),
  'audio/ogg': type('ogg'),
  'audio/flac': type('flac'),
  'audio/mp4': type('m4a'),
  'audio/aac': type('aac'),
  'audio/webm': type('webm', 'WebM audio'),
  'audio/x-matroska': type('mka'),
  'application/pdf': type('pdf'),
  'text/plain': type('txt', 'plain text'),
  'text/html': type('html'),
};

/** The type of bytes that show none. */
export const unknownType = 'application/octet-stream';

/** Other names for these types. */
const aliases: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'image/apng': 'image/png',
  'image/heif': 'image/heic',
  'image/heic-sequence': 'image/heic',
  'image/heif-sequence': 'image/heic',
  'image/tif': 'image/tiff',
  'image/x-tiff': 'image/tiff',
  'image/x-bmp': 'image/bmp',
  'image/x-ms-bmp': 'image/bmp',
  'image/svg': 'image/svg+xml',
  'video/x-m4v': 'video/mp4',
  'video/matroska': 'video/x-matroska',
  'audio/matroska': 'audio/x-matroska',
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
  'application/mp4': 'video/mp4',
  'binary/octet-stream': unknownType,
  'application/binary': unknownType,
  'application/x-binary': unknownType,
  'application/force-download': unknownType,
  'application/download': unknownType,
  'text/markdown': 'text/plain',
  'text/csv': 'text/plain',
  'application/xhtml+xml': 'text/html',
};

/** The name under which a type is stored, without its parameters. */
export function usualType(content_type: string): string {
  const name = (content_type.split(';', 1)[0] ?? '').trim().toLowerCase();
  return aliases[name] ?? name;
}

export function isKnownType(name: string): boolean {
  return Object.hasOwn(types, name);
}

/** The file extension without the dot; `bin` for an unknown type. */
export function extensionOf(content_type: string): string {
  const name = usualType(content_type);
  return isKnownType(name) ? types[name]!.ending : 'bin';
}

/** The name for people, such as `JPEG`; an unknown type is named by itself. */
export function typeName(content_type: string): string {
  const name = usualType(content_type);
  if (name === unknownType) return 'of no known type';
  return isKnownType(name) ? types[name]!.name : name;
}

/** The names of all types for which `takes` is true, as a list in words. */
export function typeNames(takes: (content_type: string) => boolean): string {
  return Object.keys(types).filter(takes).map(typeName).join(', ');
}

/** The types with this name or file extension in lower case; `webm` names a video and a sound. */
export function typesNamed(word: string): string[] {
  return Object.entries(types).flatMap(([content_type, { ending, name }]) =>
    ending === word || name.toLowerCase() === word ? [content_type] : [],
  );
}

/** A kind of media, which is what a row sells. */
export type MediaKind = 'image' | 'video' | 'audio';

export function kindOf(content_type: string): MediaKind | null {
  const [kind] = content_type.split('/', 1);
  return kind === 'image' || kind === 'video' || kind === 'audio' ? kind : null;
}
