import { randomBytes } from 'node:crypto';
import { bytesOf, InputRefused } from '../inputs.ts';
import type { InputFile } from '../upstream.ts';

/** A body of multipart/form-data, whole, since servers of this kind want its length. */

export interface Part {
  name: string;
  value: string | { bytes: Uint8Array; content_type: string; file_name: string };
}

/** What the images of one call may hold together: all of it is in memory for a moment. */
const filesMaxBytes = 100 * 1024 * 1024;

const endings: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'video/mp4': 'mp4',
};

export function formOf(parts: readonly Part[]): { content_type: string; body: Buffer } {
  const boundary = `----farebox${randomBytes(18).toString('hex')}`;
  const pieces: Uint8Array[] = [];
  for (const { name, value } of parts) {
    const isText = typeof value === 'string';
    const file = isText ? '' : `; filename="${quoted(value.file_name)}"`;
    const type = isText ? '' : `content-type: ${value.content_type}\r\n`;
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"${file}\r\n${type}\r\n`;
    pieces.push(Buffer.from(head), isText ? Buffer.from(value) : value.bytes, Buffer.from('\r\n'));
  }
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  return {
    content_type: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.concat(pieces),
  };
}

/** A field as parts: a list repeats its name with `[]`, an object is JSON, null is left out. */
export function partsOf(name: string, value: unknown): Part[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => partsOf(`${name}[]`, item));
  return [{ name, value: typeof value === 'object' ? JSON.stringify(value) : String(value) }];
}

/** Reads files into parts, and refuses what is too much. */
export function fileReader(eachMaxBytes: number) {
  let left = filesMaxBytes;
  return async (file: InputFile, field: string, name: string): Promise<Part['value']> => {
    if (left <= 0)
      throw new InputRefused(`${field} is too much: the files are too large together.`);
    const bytes = await bytesOf(file, field, Math.min(left, eachMaxBytes));
    left -= bytes.length;
    const content_type = contentType(file.content_type);
    const ending = endings[content_type] ?? 'bin';
    return { bytes, content_type, file_name: `${name}.${ending}` };
  };
}

/** What stands in a header of the form: no line of the caller's may begin there. */
function contentType(given: string): string {
  const type = given.split(';', 1)[0]!.trim().toLowerCase();
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream';
}

function quoted(text: string): string {
  return text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}
