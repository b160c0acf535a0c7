import { isBase64 } from '../lib/base64.ts';
import { once, pieces } from '../lib/streams.ts';
import type { RequestCall } from '../lib/outbound/fetch.ts';
import type { InputFile } from './upstream.ts';
import { sentBytes, sized } from './inputs.ts';

/**
 * A JSON body whose files are read and encoded while it is sent, so that no file becomes one text
 * in memory. In the JSON a short mark stands for each file.
 */

/** A multiple of 3 bytes, so that each piece of base64 goes on where the last one ended. */
const readBytes = 48 * 1024;
const textChars = 64 * 1024;
/** With these digits the length of a mark is a multiple of 4, as that of base64. */
const numberDigits = 6;
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
  /**
   * Nobody can guess it. It consists of characters of base64, so that it passes as base64. Empty
   * while the body has no files, as most bodies have none.
   */
  #mark = '';
  readonly #sources: Source[] = [];

  /** A mark for the file's bytes as base64. */
  base64(file: Pick<InputFile, 'size' | 'open'>): string {
    return this.#add({ size: base64Length(file.size), chunks: () => encoded(file) });
  }

  /** The file as a `data:` address. Throws `InputRefused` if it is larger than `maxBytes`. */
  async address(file: InputFile, field: string, maxBytes: number): Promise<string> {
    return `data:${file.content_type};base64,${this.base64(await sized(file, field, maxBytes))}`;
  }

  /**
   * A mark for the file's text, inside a text of the JSON. The file is also read now, because the
   * length of its text in JSON must be known.
   */
  async textOf(file: Pick<InputFile, 'size' | 'open'>): Promise<string> {
    let size = 0;
    for await (const piece of escaped(file)) size += piece.length;
    return this.#add({ size, chunks: () => escaped(file) });
  }

  /**
   * A mark for the base64 of a caller's text, behind the text's own `data:` prefix. A text that is
   * short or no base64 stays as it is.
   */
  text(text: string): string {
    if (text.length < longChars) return text;
    const prefix = /^data:[^,]{0,200},/i.exec(text)?.[0] ?? '';
    const rest = text.slice(prefix.length);
    if (!isBase64(rest)) return text;
    return prefix + this.#add({ size: rest.length, chunks: () => slices(rest) });
  }

  #add(source: Source): string {
    this.#mark ||= `file${crypto.randomUUID().replaceAll('-', '')}n`;
    const number = String(this.#sources.push(source) - 1).padStart(numberDigits, '0');
    return `${this.#mark}${number}x`;
  }

  /** The value as JSON, with all that its marks stand for. Its length is known in advance. */
  write(value: unknown): SentBody {
    const headers = { 'content-type': 'application/json' };
    const json = JSON.stringify(value);
    // As bytes, because a long text would stay in the heap until the reply.
    if (this.#sources.length === 0) return { headers, body: Buffer.from(json) };
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

async function* encoded(file: Pick<InputFile, 'size' | 'open'>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces(sentBytes(file), readBytes)) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    yield Buffer.from(bytes.toString('base64'), 'latin1');
  }
}

async function* escaped(file: Pick<InputFile, 'size' | 'open'>): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const inJson = (text: string) => Buffer.from(JSON.stringify(text).slice(1, -1));
  for await (const piece of sentBytes(file)) yield inJson(decoder.decode(piece, { stream: true }));
  yield inJson(decoder.decode());
}

async function* slices(text: string): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += textChars)
    yield Buffer.from(text.slice(at, at + textChars), 'latin1');
}
