import { extensionOf, usualType } from '../../core/media/content-type.ts';
import type { SentPart } from '../../lib/outbound/multipart.ts';
import { InputRefused, sentBytes, sized } from '../inputs.ts';
import type { InputFile } from '../upstream.ts';

/** Makes the parts of a multipart form as OpenAI-compatible servers expect them. */

/** Limit for all files of one call together. */
const filesMaxBytes = 100 * 1024 * 1024;

/** A field as parts: a list repeats its name with `[]`, an object is JSON, null is left out. */
export function partsOf(name: string, value: unknown): SentPart[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => partsOf(`${name}[]`, item));
  return [{ name, content: typeof value === 'object' ? JSON.stringify(value) : String(value) }];
}

/**
 * Makes parts of files, which are read while the form is sent. Refuses files that are too large. A
 * part's file name is `stem` and the file extension.
 */
export function fileReader(eachMaxBytes: number) {
  let left = filesMaxBytes;
  return async (file: InputFile, field: string, name: string, stem = name): Promise<SentPart> => {
    if (left <= 0)
      throw new InputRefused(
        `${field} does not fit: all files of the request together are too large.`,
      );
    const read = await sized(file, field, Math.min(left, eachMaxBytes));
    left -= read.size;
    const content = { size: read.size, chunks: sentBytes(read) };
    const content_type = headerType(file.content_type);
    return { name, content, content_type, file_name: `${stem}.${extensionOf(content_type)}` };
  };
}

/** A content type for a header of the form, in which a caller's text must not begin a new line. */
function headerType(given: string): string {
  const type = usualType(given);
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream';
}
