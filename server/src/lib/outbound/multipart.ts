import { randomUUID } from 'node:crypto';

/** One part of a form (RFC 7578). With a `file_name` it is a file. */
export interface SentPart {
  name: string;
  file_name?: string;
  content_type?: string;
  content: string | Uint8Array | { size: number; chunks: AsyncIterable<Uint8Array> };
}

export interface FormBody {
  headers: { 'content-type': string; 'content-length': string };
  body: AsyncIterable<Uint8Array>;
}

/**
 * The form as a body whose length is known before its streams are read. The body can be read once.
 */
export function formBody(parts: readonly SentPart[]): FormBody {
  const boundary = `form-${randomUUID()}`;
  const heads = parts.map((part, i) => Buffer.from(headOf(part, boundary, i > 0)));
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  const size = parts.reduce(
    (sum, { content }, i) => sum + heads[i]!.length + sizeOf(content),
    tail.length,
  );
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(size),
    },
    body: writeParts(parts, heads, tail),
  };
}

async function* writeParts(
  parts: readonly SentPart[],
  heads: Buffer[],
  tail: Buffer,
): AsyncGenerator<Uint8Array> {
  for (const [i, { content }] of parts.entries()) {
    yield heads[i]!;
    if (typeof content === 'string') yield Buffer.from(content);
    else if (content instanceof Uint8Array) yield content;
    else yield* content.chunks;
  }
  yield tail;
}

function headOf({ name, file_name, content_type }: SentPart, boundary: string, next: boolean) {
  const file = file_name === undefined ? '' : `; filename="${escapeName(file_name)}"`;
  const type = content_type === undefined ? '' : `content-type: ${oneLine(content_type)}\r\n`;
  const start = `${next ? '\r\n' : ''}--${boundary}\r\n`;
  const disposition = `content-disposition: form-data; name="${escapeName(name)}"${file}\r\n`;
  return `${start}${disposition}${type}\r\n`;
}

/** Escapes a quoted name as browsers do. */
function escapeName(text: string): string {
  return text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}

function oneLine(text: string): string {
  return text.replaceAll(/[\r\n]/g, '');
}

function sizeOf(content: SentPart['content']): number {
  if (typeof content === 'string') return Buffer.byteLength(content);
  return content instanceof Uint8Array ? content.length : content.size;
}
