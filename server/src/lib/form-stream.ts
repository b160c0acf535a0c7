import { broken, headMaxBytes, partsMax, readHead, type FormPart } from './multipart.ts';
import type { Bytes } from './streams.ts';

/** A part of a form that is still on its way. */
export interface ComingPart extends Omit<FormPart, 'bytes'> {
  /** Can be read until the next part is asked for; what is not read by then is dropped. */
  bytes: Bytes;
}

/**
 * The parts of a form, in order, while the form arrives: its files may be larger than memory. Ends
 * once the whole body was read.
 * @throws MultipartError
 */
export async function* formParts(body: Bytes, boundary: string): AsyncGenerator<ComingPart> {
  const mark = Buffer.from(`\r\n--${boundary}`, 'latin1');
  // A body may begin with its first boundary, which then has no line break before it.
  const reader = new Reader(body, Buffer.from('\r\n'));
  await textOf(reader.upTo(mark));
  for (let count = 0; (await reader.ahead(2)) !== '--'; count++) {
    if (count === partsMax) throw broken(`The form has more than ${partsMax} parts.`);
    const [rest, ...head] = (await textOf(reader.upTo(headEnd))).split('\r\n');
    // Only blanks may follow a boundary on its line.
    if (rest!.trim() !== '') throw broken();
    const bytes = reader.upTo(mark);
    yield { ...readHead(head.join('\r\n')), bytes };
    for await (const _ of bytes);
  }
  await textOf(reader.toEnd());
}

const headEnd = Buffer.from('\r\n\r\n');

/** A short text of the form: a part's head, or what stands before or after all parts. */
async function textOf(bytes: Bytes): Promise<string> {
  return (await shortBytes(bytes, headMaxBytes, broken)).toString('utf8');
}

/** All bytes. Throws the error of `tooLong` if there are more than `max`. */
export async function shortBytes(bytes: Bytes, max: number, tooLong: () => Error): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > max) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Reads a stream of bytes up to given marks. */
class Reader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer;

  constructor(source: Bytes, begin: Buffer) {
    this.#source = source[Symbol.asyncIterator]();
    this.#held = begin;
  }

  /** Yields the bytes before the mark, and takes the mark away. */
  async *upTo(mark: Buffer): Bytes {
    for (;;) {
      const at = this.#held.indexOf(mark);
      // The last bytes may be the beginning of the mark.
      yield* this.#take(at === -1 ? this.#held.length - mark.length + 1 : at);
      if (at !== -1) return void (this.#held = this.#held.subarray(mark.length));
      if (!(await this.#more())) throw broken();
    }
  }

  async *toEnd(): Bytes {
    do yield* this.#take(this.#held.length);
    while (await this.#more());
  }

  /** The next bytes, which stay unread. */
  async ahead(count: number): Promise<string> {
    while (this.#held.length < count) if (!(await this.#more())) throw broken();
    return this.#held.toString('latin1', 0, count);
  }

  *#take(count: number): Iterable<Uint8Array> {
    if (count <= 0) return;
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    yield taken;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#source.next();
    if (done) return false;
    this.#held = Buffer.concat([this.#held, value]);
    return true;
  }
}
