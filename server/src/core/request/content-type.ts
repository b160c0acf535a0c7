/** Media types and their file extensions. Pure. */

/** Every type that `sniff` can return, with its file extension. */
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

/** Other names for these types. */
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

/** The name under which a type is stored, without its parameters. */
export function usualType(content_type: string): string {
  const name = (content_type.split(';', 1)[0] ?? '').trim().toLowerCase();
  return aliases[name] ?? name;
}

export function isKnownType(name: string): boolean {
  return Object.hasOwn(endings, name);
}

/** The file extension without the dot; `bin` for an unknown type. */
export function extensionOf(content_type: string): string {
  const name = usualType(content_type);
  return isKnownType(name) ? endings[name]! : 'bin';
}
