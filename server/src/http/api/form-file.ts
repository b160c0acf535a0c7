import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../core/errors.ts';
import { formParts, shortBytes, type ComingPart } from '../../lib/form-stream.ts';
import type { Bytes } from '../../lib/streams.ts';
import { formError } from '../body.ts';

/** A form with one file, which is read while it arrives. */

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
 * Reads the form up to its file, which the field `field` has.
 * @throws ApiError `bad_request` or `payload_too_large`
 */
export async function fileInForm(body: Bytes, boundary: string, field: string): Promise<FormFile> {
  const texts = new Map<string, string>();
  const parts = formParts(body, boundary);
  return asForm(async () => {
    for (let next; !(next = await parts.next()).done;) {
      const part = next.value;
      if (part.file_name === null) await readText(part, field, texts);
      else {
        demandFile(part, field);
        const { file_name: filename, content_type } = part;
        return { filename, content_type, bytes: fileAndRest(part, parts, field, texts), texts };
      }
    }
    throw bad(field, `The form has no file in the field ${field}.`);
  });
}

async function* fileAndRest(
  file: ComingPart,
  parts: AsyncGenerator<ComingPart>,
  field: string,
  texts: Map<string, string>,
): Bytes {
  const inner = file.bytes[Symbol.asyncIterator]();
  for (let read; !(read = await asForm(() => inner.next())).done;) yield read.value;
  await asForm(async () => {
    for await (const part of parts) {
      if (part.file_name === null) await readText(part, field, texts);
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
  const text = await shortBytes(bytes, textMaxBytes - used, tooLong);
  if (!isUtf8(text) || text.includes(0))
    throw bad(name, `${name} must be a text in UTF-8, without NUL.`);
  texts.set(name, text.toString('utf8'));
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
