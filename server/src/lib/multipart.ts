/** Forms as browsers and HTTP clients send them: multipart/form-data (RFC 7578). */

export interface FormPart {
  name: string;
  /** Null for a plain field. */
  file_name: string | null;
  content_type: string | null;
  /** A view of the body; nothing is copied. */
  bytes: Buffer;
}

/** The body is not a valid form. The message is meant for the sender. */
export class MultipartError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MultipartError';
  }
}

export const partsMax = 100;
export const headMaxBytes = 8 * 1024;

/** The boundary in a `Content-Type`; null if the body is not a form. */
export function formBoundary(contentType: string): string | null {
  if (!/^multipart\/form-data\s*;/i.test(contentType)) return null;
  const [, quoted, plain] =
    /;\s*boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))\s*(?:;|$)/i.exec(contentType) ?? [];
  return quoted ?? plain ?? null;
}

/**
 * The parts of a form, in order.
 * @throws MultipartError
 */
export function parseForm(body: Buffer, boundary: string): FormPart[] {
  const mark = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const parts: FormPart[] = [];
  const startsAtOnce = body.indexOf(mark.subarray(2)) === 0;
  const first = startsAtOnce ? -2 : body.indexOf(mark);
  if (first === -1) throw brokenForm();
  let at = first + mark.length;
  while (body.toString('latin1', at, at + 2) !== '--') {
    const begin = body.indexOf('\r\n', at);
    // Only blanks may follow a boundary on its line.
    if (begin === -1 || body.toString('latin1', at, begin).trim() !== '') throw brokenForm();
    const headEnd = body.indexOf('\r\n\r\n', begin);
    if (headEnd === -1 || headEnd - begin > headMaxBytes) throw brokenForm();
    const end = body.indexOf(mark, headEnd + 4);
    if (end === -1) throw brokenForm();
    if (parts.length === partsMax) throw brokenForm(`The form has more than ${partsMax} parts.`);
    const head = body.toString('utf8', begin + 2, headEnd);
    parts.push({ ...readPartHead(head), bytes: body.subarray(headEnd + 4, end) });
    at = end + mark.length;
  }
  return parts;
}

/** Name, file name and type of a part, from its headers. Throws `MultipartError`. */
export function readPartHead(head: string): Omit<FormPart, 'bytes'> {
  let disposition = '';
  let content_type: string | null = null;
  for (const line of head.split('\r\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    if (name === 'content-disposition') disposition = value;
    if (name === 'content-type') content_type = value;
  }
  const name = parameter(disposition, 'name');
  if (!/^form-data\s*;/i.test(disposition) || name === null || name === '')
    throw new MultipartError('A part of the form has no name.');
  const file_name = extendedNameIn(disposition) ?? parameter(disposition, 'filename');
  return { name, file_name, content_type };
}

/** `filename*=UTF-8''…`: percent-encoded, and meant in place of `filename` if it can be read. */
function extendedNameIn(disposition: string): string | null {
  const [, text] = /;\s*filename\*\s*=\s*utf-8'[^';]*'([^\s;]*)/i.exec(disposition) ?? [];
  try {
    return text === undefined ? null : decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** A quoted or plain parameter. Browsers write a quotation mark inside a value as %22. */
function parameter(disposition: string, name: string): string | null {
  const form = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s";]+))`, 'i');
  const [, quoted, plain] = form.exec(disposition) ?? [];
  return quoted?.replaceAll('%22', '"').replaceAll(/\\(.)/g, '$1') ?? plain ?? null;
}

const incomplete =
  'The body is not a complete form: its parts must be between the boundary of the Content-Type.';

export function brokenForm(message = incomplete): MultipartError {
  return new MultipartError(message);
}
