import path from 'node:path';

/**
 * Names of output files. All their parts come from others, so a name must not lead out of the
 * folder, hide the file, or give it a type that programs execute.
 */

export interface NamedJob {
  input: Record<string, unknown>;
  model_id: string;
  request_id: string;
}

export interface TypedMedia {
  content_type: string;
  file_name?: string;
}

/** `a-lighthouse-at-dawn-5f02c1.png`: the prompt or the model, and the end of the request's id. */
export function usualName({ input, model_id, request_id }: NamedJob, media: TypedMedia): string {
  const prompt = typeof input.prompt === 'string' ? slug(input.prompt) : '';
  const model = slug(model_id.split('/').slice(1).join(' ') || model_id);
  return `${prompt || model || 'output'}-${idEnd(request_id)}${extensionOf(media)}`;
}

const promptMost = 40;

function slug(text: string): string {
  const words =
    text
      .toLowerCase()
      .normalize('NFC')
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  let kept = '';
  for (const word of words) {
    if (kept.length + word.length > promptMost) break;
    kept += kept === '' ? word : `-${word}`;
  }
  return kept;
}

/** The last digits of a request id; `output` for any other text. */
function idEnd(id: string): string {
  const isId = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(id);
  return isId ? id.slice(-6).toLowerCase() : 'output';
}

/** File types that models generate. None is read as settings or run by a double click. */
const extensions = new Map([
  ['image/png', '.png'],
  ['image/jpeg', '.jpg'],
  ['image/jpg', '.jpg'],
  ['image/webp', '.webp'],
  ['image/gif', '.gif'],
  ['image/avif', '.avif'],
  ['image/heic', '.heic'],
  ['image/bmp', '.bmp'],
  ['image/tiff', '.tiff'],
  ['image/svg+xml', '.svg'],
  ['video/mp4', '.mp4'],
  ['video/quicktime', '.mov'],
  ['video/webm', '.webm'],
  ['video/x-matroska', '.mkv'],
  ['audio/mpeg', '.mp3'],
  ['audio/mp3', '.mp3'],
  ['audio/wav', '.wav'],
  ['audio/x-wav', '.wav'],
  ['audio/ogg', '.ogg'],
  ['audio/flac', '.flac'],
  ['audio/mp4', '.m4a'],
  ['audio/aac', '.aac'],
  ['audio/webm', '.webm'],
  ['audio/x-matroska', '.mka'],
  ['application/pdf', '.pdf'],
  ['application/json', '.json'],
  ['application/zip', '.zip'],
  ['model/gltf-binary', '.glb'],
  ['text/plain', '.txt'],
]);
const known = new Set(extensions.values());

/** Other spellings of these extensions. */
const spellings: Record<string, string> = { '.jpeg': '.jpg', '.jpe': '.jpg', '.tif': '.tiff' };

/** The extension as our names have it; null if it is none of ours. */
export function usualExtension(text: string): string | null {
  const extension = text.toLowerCase();
  const usual = spellings[extension] ?? extension;
  return known.has(usual) ? usual : null;
}

export function extensionOf({ content_type, file_name }: TypedMedia): string {
  const type = content_type.split(';')[0]!.trim().toLowerCase();
  const named = path.extname(String(file_name ?? '')).toLowerCase();
  return extensions.get(type) ?? (known.has(named) ? named : '.bin');
}
