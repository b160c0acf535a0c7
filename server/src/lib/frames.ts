import { createHash, type Hash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';

/**
 * A sealed file: a first line that says what it is, then frames, then the SHA-256 of all of that. A
 * frame is one letter, four bytes of length (big-endian) and that many bytes. The file is written
 * from front to back and never held in memory; one that was cut or altered is recognised before any
 * of it is used.
 */
export interface Frame {
  /** One ASCII letter. */
  type: string;
  payload: Buffer;
}

/**
 * The file is not the one that was sealed, or not of this kind at all. The message is for people.
 */
export class Damaged extends Error {}

export interface Seal {
  /** Of the whole file. */
  bytes: number;
  /** Hex, of everything before it. */
  sha256: string;
}

const headBytes = 5;
const sealBytes = 32;
const readBytes = 1024 * 1024;
/** No frame is larger, so that no damaged length makes a reader ask for all memory. */
export const frameMaxBytes = 256 * 1024 * 1024;

/** Writes into an open, empty file. The caller syncs and closes it. */
export class FrameWriter {
  readonly #file: FileHandle;
  readonly #hash: Hash = createHash('sha256');
  #bytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** The first line, without its end. To be called first, once. */
  async begin(line: string): Promise<void> {
    await this.#write(Buffer.from(`${line}\n`));
  }

  async write(type: string, payload: Uint8Array): Promise<void> {
    if (payload.length > frameMaxBytes) {
      throw new RangeError(`a frame of ${payload.length} bytes is more than ${frameMaxBytes}`);
    }
    const head = Buffer.alloc(headBytes);
    head.write(type, 0, 1, 'latin1');
    head.writeUInt32BE(payload.length, 1);
    await this.#write(head);
    await this.#write(payload);
  }

  async seal(): Promise<Seal> {
    const digest = this.#hash.digest();
    await this.#file.writeFile(digest);
    return { bytes: this.#bytes + sealBytes, sha256: digest.toString('hex') };
  }

  async #write(bytes: Uint8Array): Promise<void> {
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
    // Of a file handle, this continues where the last write ended, and repeats writes that took
    // only a part.
    await this.#file.writeFile(bytes);
  }
}

/** Reads the whole file and proves its seal. Throws `Damaged`. */
export async function proveSeal(file: FileHandle): Promise<Seal> {
  const { size } = await file.stat();
  const hash = createHash('sha256');
  const end = size - sealBytes;
  for (let at = 0; at < end;) {
    const part = await readAt(file, at, Math.min(readBytes, end - at));
    hash.update(part);
    at += part.length;
  }
  const wanted = end > 0 ? await readAt(file, end, sealBytes) : Buffer.alloc(0);
  const digest = hash.digest();
  if (!digest.equals(wanted)) throw new Damaged('it was cut short or altered');
  return { bytes: size, sha256: digest.toString('hex') };
}

/** The first line of the file, at most `maxBytes` of it; null where no line ends there. */
export async function firstLine(file: FileHandle, maxBytes = 100): Promise<string | null> {
  const { size } = await file.stat();
  const text = (await readAt(file, 0, Math.min(size, maxBytes))).toString('latin1');
  const end = text.indexOf('\n');
  return end === -1 ? null : text.slice(0, end);
}

/** The frames behind the first line, in order. Does not prove the seal. Throws `Damaged`. */
export async function* readFrames(file: FileHandle): AsyncGenerator<Frame, undefined> {
  const end = (await file.stat()).size - sealBytes;
  const line = await firstLine(file);
  let at = line === null ? end : line.length + 1;
  while (at < end) {
    const head = await readAt(file, at, headBytes);
    const length = head.readUInt32BE(1);
    at += headBytes + length;
    if (length > frameMaxBytes || at > end) throw new Damaged('a part of it has no sound length');
    const payload = await readAt(file, at - length, length);
    yield { type: head.toString('latin1', 0, 1), payload };
  }
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, position + filled);
    if (bytesRead === 0) throw new Damaged('it ends too early');
    filled += bytesRead;
  }
  return buffer;
}
