import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createTarDecoder, createTarPacker } from 'modern-tar';

/**
 * A tar file followed by the SHA-256 of all its bytes, in a place that tar programs ignore. The
 * file is written from front to back and never held in memory as a whole. A file that was cut or
 * altered is recognised before any of its contents are used.
 */

/** The file is incomplete or was altered. The message continues a sentence about the file. */
export class DamagedArchive extends Error {}

export interface Seal {
  /** Size of the whole file. */
  bytes: number;
  /** Hex, of all bytes before the seal. */
  sha256: string;
}

export interface TarWriter {
  /** Throws errors of the body or the file; after that nothing can be added. */
  add(name: string, size: number, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** Adds the seal and ends the file. */
  seal(): Promise<Seal>;
}

export interface TarEntry {
  name: string;
  size: number;
  /** Must be read to its end before the next entry. */
  body: AsyncIterable<Uint8Array>;
}

const sealBytes = 32;
const readBytes = 1024 * 1024;
const nameBytes = 100;

/** Writes into an open, empty file. The caller syncs and closes it. */
export function tarWriter(file: FileHandle): TarWriter {
  const hash = createHash('sha256');
  let size = 0;
  const { readable, controller } = createTarPacker();
  const write = async (bytes: Uint8Array) => {
    hash.update(bytes);
    size += bytes.length;
    await file.writeFile(bytes);
  };
  const written = readable.pipeTo(new WritableStream({ write }));
  // The error is also thrown by the next `add`.
  written.catch(() => {});
  return {
    add: (name, size, body) =>
      ReadableStream.from(body).pipeTo(controller.add({ name, size, mode: 0o600 })),
    async seal() {
      controller.finalize();
      await written;
      const digest = hash.digest();
      await file.writeFile(digest);
      return { bytes: size + sealBytes, sha256: digest.toString('hex') };
    },
  };
}

/** Reads the whole file and checks its seal. Throws `DamagedArchive`. */
export async function proveSeal(file: FileHandle): Promise<void> {
  const end = (await file.stat()).size - sealBytes;
  if (end > 0) {
    const hash = createHash('sha256');
    for await (const bytes of bytesOf(file, end)) hash.update(bytes);
    const { buffer } = await file.read(Buffer.alloc(sealBytes), 0, sealBytes, end);
    if (hash.digest().equals(buffer)) return;
  }
  throw new DamagedArchive('it is incomplete or was altered');
}

/** The name of the first entry, without a check of the seal; any text if this is not a tar file. */
export async function readFirstName(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(nameBytes), 0, nameBytes, 0);
  return buffer.toString('latin1', 0, bytesRead).replace(/\0[^]*$/, '');
}

/** The entries in order, without a check of the seal. */
export async function* readEntries(file: FileHandle): AsyncGenerator<TarEntry, undefined> {
  const end = (await file.stat()).size - sealBytes;
  // Without an encoding, a file is read as bytes.
  const bytes = Readable.toWeb(bytesOf(file, end)) as ReadableStream<Uint8Array>;
  for await (const { header, body } of bytes.pipeThrough(createTarDecoder()))
    yield { name: header.name, size: header.size, body };
}

function bytesOf(file: FileHandle, end: number): Readable {
  const part = { start: 0, end: end - 1, autoClose: false, highWaterMark: readBytes };
  return file.createReadStream(part);
}
