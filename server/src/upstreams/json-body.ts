import { once, pieces } from '../lib/streams.ts';
import type { RequestCall } from '../lib/outbound/fetch.ts';
import type { InputFile } from './upstream.ts';
import { HandOverFailed } from './inputs.ts';

/**
 * A JSON body whose files are read and encoded while it is sent, so that no file becomes one text
 * in memory. In the JSON a short mark stands for each file.
 */

/** A multiple of 3 bytes, so that each piece of base64 goes on where the last one ended. */
const readBytes = 48 * 1024;
const textChars = 64 * 1024;
/** Shorter texts are part of the JSON. */
const longChars = 16 * 1024;

interface Source {
  /** Bytes in the body. */
  size: number;
  /** May be called more than once. */
  chunks(): AsyncIterable<Uint8Array>;
}

export interface SentBody {
  headers: Record<string, string>;
  body: NonNullable<RequestCall['body']>;
}

export class JsonBody {
  /** Nobody can guess it. It consists of characters of base64, so that it passes as base64. */
  readonly #mark = `file${crypto.randomUUID().replaceAll('-', '')}n`;
  readonly #sources: Source[] = [];

  /** A mark for the file's bytes as base64. */
  base64({ size, open }: Pick<InputFile, 'size' | 'open'>): string {
    return this.#add({
      size: base64Length(size),
      chunks: () => encoded(open, size),
    });
  }

  /**
   * A mark for the base64 of a caller's text, behind the text's own `data:` prefix. A text that is
   * short, or that JSON would have to escape, stays as it is.
   */
  text(text: string): string {
    if (text.length < longChars) return text;
    const prefix = /^data:[^,]{0,200},/i.exec(text)?.[0] ?? '';
    const rest = text.slice(prefix.length);
    if (!isPlain(rest)) return text;
    return prefix + this.#add({ size: rest.length, chunks: () => slices(rest) });
  }

  #add(source: Source): string {
    return `${this.#mark}${this.#sources.push(source) - 1}x`;
  }

  /** The value as JSON, with all that its marks stand for. Its length is known in advance. */
  write(value: unknown): SentBody {
    const headers = { 'content-type': 'application/json' };
    const json = JSON.stringify(value);
    if (this.#sources.length === 0) return { headers, body: json };
    // Every second part is the number of a source.
    const parts = json
      .split(new RegExp(`${this.#mark}(\\d+)x`))
      .map((part, i) => (i % 2 === 0 ? Buffer.from(part) : this.#sources[Number(part)]!));
    const length = parts.reduce((sum, part) => sum + sizeOf(part), 0);
    return { headers: { ...headers, 'content-length': String(length) }, body: written(parts) };
  }
}

/** The number of characters that this many bytes have as base64. */
export function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

function sizeOf(part: Buffer | Source): number {
  return part instanceof Uint8Array ? part.length : part.size;
}

async function* written(parts: readonly (Buffer | Source)[]): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield* part instanceof Uint8Array ? once(part) : part.chunks();
}

/** Throws `HandOverFailed` if the file cannot be read, or has another size than expected. */
async function* encoded(open: InputFile['open'], size: number): AsyncGenerator<Uint8Array> {
  let left = size;
  try {
    for await (const piece of pieces(await open(), readBytes)) {
      left -= piece.length;
      if (left < 0) break;
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
      yield Buffer.from(bytes.toString('base64'), 'latin1');
    }
  } catch (error) {
    throw new HandOverFailed({ message: `a file could not be read: ${String(error)}` });
  }
  if (left !== 0) throw new HandOverFailed({ message: 'a file has changed its size' });
}

async function* slices(text: string): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += textChars)
    yield Buffer.from(text.slice(at, at + textChars), 'latin1');
}

/** Whether the text is ASCII that JSON writes as it is. */
function isPlain(text: string): boolean {
  return !/[^\x20\x21\x23-\x5b\x5d-\x7e]/.test(text);
}

/**
 * Why a file of a body could not be read, if that ended its call; otherwise null. The upstream got
 * less than the body's stated length, so it has begun nothing.
 */
export function unreadIn(error: unknown): HandOverFailed | null {
  for (let each = error; each instanceof Error; each = each.cause)
    if (each instanceof HandOverFailed) return each;
  return null;
}
