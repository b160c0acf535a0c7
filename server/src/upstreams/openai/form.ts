import { extensionOf, usualType } from '../../core/request/content-type.ts';
import type { FormPart } from '../../lib/outbound/multipart.ts';
import { bytesOf, InputRefused } from '../inputs.ts';
import type { InputFile } from '../upstream.ts';

/** The parts of a multipart form, as servers of this kind expect them. */

/** Size of all images of one call together, because all of it is in memory for a moment. */
const filesMaxBytes = 100 * 1024 * 1024;

/** A field as parts: a list repeats its name with `[]`, an object is JSON, null is left out. */
export function partsOf(name: string, value: unknown): FormPart[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => partsOf(`${name}[]`, item));
  return [{ name, content: typeof value === 'object' ? JSON.stringify(value) : String(value) }];
}

/** Reads files into parts, and refuses what is too large. A name is `stem` and its ending. */
export function fileReader(eachMaxBytes: number) {
  let left = filesMaxBytes;
  return async (file: InputFile, field: string, name: string, stem = name): Promise<FormPart> => {
    if (left <= 0)
      throw new InputRefused(`${field} does not fit: the files together are too large.`);
    const content = await bytesOf(file, field, Math.min(left, eachMaxBytes));
    left -= content.length;
    const content_type = headerType(file.content_type);
    return { name, content, content_type, file_name: `${stem}.${extensionOf(content_type)}` };
  };
}

/** For a header of the form: a caller's text must not begin a new line there. */
function headerType(given: string): string {
  const type = usualType(given);
  return /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'application/octet-stream';
}
