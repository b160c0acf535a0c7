import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../core/errors.ts';
import { formParts, readShort, type ComingPart } from '../../lib/form-stream.ts';
import { isObject, JsonError, parseJson, type Json } from '../../lib/json.ts';
import type { Bytes } from '../../lib/streams.ts';
import { formError } from '../body.ts';

/** A form with one file, which is read while it arrives. */

/** The names of the fields that an API's clients use. */
export interface UploadForm {
  file: string;
  /** A field with a JSON object, which clients may send as a file. */
  metadata?: string;
}

export interface FormFile {
  /** As the sender named it. */
  filename: string;
  content_type: string | null;
  /** Ends once the whole form was read, and fails if the form is wrong behind the file. */
  bytes: Bytes;
  /** The texts of the form; all of them once `bytes` has ended. */
  texts: ReadonlyMap<string, string>;
}

const textMaxBytes = 64 * 1024;
/** The most bytes of a form beside those of its file. */
export const besideMaxBytes = 2 * textMaxBytes;

/**
 * Reads the form up to its file.
 * @throws ApiError `bad_request` or `payload_too_large`
 */
export async function fileInForm(
  body: Bytes,
  boundary: string,
  form: UploadForm,
): Promise<FormFile> {
  const texts = new Map<string, string>();
  const parts = formParts(body, boundary);
  return asForm(async () => {
    for (let next; !(next = await parts.next()).done;) {
      const part = next.value;
      if (isText(part, form)) await readText(part, form.file, texts);
      else {
        demandFile(part, form.file);
        const { file_name, content_type } = part;
        const filename = file_name ?? '';
        return { filename, content_type, bytes: fileAndRest(part, parts, form, texts), texts };
      }
    }
    throw bad(form.file, `The form has no file in the field ${form.file}.`);
  });
}

function isText({ name, file_name }: ComingPart, { metadata }: UploadForm): boolean {
  return file_name === null || name === metadata;
}

async function* fileAndRest(
  file: ComingPart,
  parts: AsyncGenerator<ComingPart>,
  form: UploadForm,
  texts: Map<string, string>,
): Bytes {
  const inner = file.bytes[Symbol.asyncIterator]();
  for (let read; !(read = await asForm(() => inner.next())).done;) yield read.value;
  await asForm(async () => {
    for await (const part of parts) {
      if (isText(part, form)) await readText(part, form.file, texts);
      else throw bad(part.name, 'The form has more than one file. Send each file in its own call.');
    }
  });
}

function demandFile({ name }: ComingPart, field: string): void {
  if (name !== field) throw bad(name, `${name} is not a file of this call: send it as ${field}.`);
}

async function readText(
  { name, bytes }: ComingPart,
  field: string,
  texts: Map<string, string>,
): Promise<void> {
  if (name === field)
    throw bad(
      field,
      `${field} came as a text. Send it as a file with a name: curl -F ${field}=@PATH.`,
    );
  if (!/^[\w.[\]-]{1,64}$/.test(name)) throw bad(null, 'A field of the form has an odd name.');
  if (texts.has(name)) throw bad(name, `${name} must be sent once.`);
  const used = [...texts.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const text = await readShort(bytes, textMaxBytes - used, tooLong);
  if (!isUtf8(text) || text.includes(0))
    throw bad(name, `${name} must be a text in UTF-8, without NUL.`);
  texts.set(name, text.toString('utf8'));
}

const metadataMaxBytes = 4096;

/** The object in the form's field for metadata; null if there is none. Throws `bad_request`. */
export function metadataOf({ texts }: FormFile, { metadata: field }: UploadForm): Json | null {
  const text = field === undefined ? undefined : texts.get(field);
  if (text === undefined) return null;
  const value = jsonIn(text);
  if (isObject(value) && Buffer.byteLength(JSON.stringify(value)) <= metadataMaxBytes) return value;
  throw bad(field!, `${field} must be a JSON object of at most ${metadataMaxBytes} bytes.`);
}

/** Null if the text is not JSON. */
function jsonIn(text: string): unknown {
  try {
    return parseJson(Buffer.from(text), { depth: 64, values: metadataMaxBytes });
  } catch (error) {
    if (error instanceof JsonError) return null;
    throw error;
  }
}

function tooLong(): ApiError {
  return new ApiError('payload_too_large', {
    message: `The texts of the form are larger than ${textMaxBytes} bytes, the most this call accepts.`,
    details: { max_bytes: textMaxBytes },
  });
}

function bad(param: string | null, message: string): ApiError {
  return new ApiError('bad_request', {
    message,
    ...(param !== null && { param: param.slice(0, 64) }),
  });
}

/** Reads a part of the form; a form that is broken is the caller's fault. */
async function asForm<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw formError(error);
  }
}
