import { brokenForm, headMaxBytes, partsMax, readPartHead, type FormPart } from './multipart.ts';
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
  await readText(reader.readUpTo(mark));
  for (let count = 0; (await reader.peek(2)) !== '--'; count++) {
    if (count === partsMax) throw brokenForm(`The form has more than ${partsMax} parts.`);
    const [rest, ...head] = (await readText(reader.readUpTo(headEnd))).split('\r\n');
    // Only blanks may follow a boundary on its line.
    if (rest!.trim() !== '') throw brokenForm();
    const bytes = reader.readUpTo(mark);
    yield { ...readPartHead(head.join('\r\n')), bytes };
    for await (const _ of bytes);
  }
  await readText(reader.readToEnd());
}

const headEnd = Buffer.from('\r\n\r\n');

/** A short text of the form: a part's head, or what stands before or after all parts. */
async function readText(bytes: Bytes): Promise<string> {
  return (await readShort(bytes, headMaxBytes, brokenForm)).toString('utf8');
}

/** All bytes. Throws the error of `tooLong` if there are more than `max`. */
export async function readShort(bytes: Bytes, max: number, tooLong: () => Error): Promise<Buffer> {
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
  #buffer: Buffer;

  constructor(source: Bytes, begin: Buffer) {
    this.#source = source[Symbol.asyncIterator]();
    this.#buffer = begin;
  }

  /** Yields the bytes before the mark, and takes the mark away. */
  async *readUpTo(mark: Buffer): Bytes {
    for (;;) {
      const at = this.#buffer.indexOf(mark);
      // The last bytes may be the beginning of the mark.
      yield* this.#take(at === -1 ? this.#buffer.length - mark.length + 1 : at);
      if (at !== -1) return void (this.#buffer = this.#buffer.subarray(mark.length));
      if (!(await this.#readMore())) throw brokenForm();
    }
  }

  async *readToEnd(): Bytes {
    do yield* this.#take(this.#buffer.length);
    while (await this.#readMore());
  }

  /** The next bytes, which stay unread. */
  async peek(count: number): Promise<string> {
    while (this.#buffer.length < count) if (!(await this.#readMore())) throw brokenForm();
    return this.#buffer.toString('latin1', 0, count);
  }

  *#take(count: number): Iterable<Uint8Array> {
    if (count <= 0) return;
    const taken = this.#buffer.subarray(0, count);
    this.#buffer = this.#buffer.subarray(count);
    yield taken;
  }

  async #readMore(): Promise<boolean> {
    const { done, value } = await this.#source.next();
    if (done) return false;
    this.#buffer = Buffer.concat([this.#buffer, value]);
    return true;
  }
}
