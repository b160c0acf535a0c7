import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { abortable, pieces, type Bytes } from '../lib/streams.ts';
import { StorageFull, TooLarge, type StoredObject } from './storage.ts';

/**
 * Reads a body for a store: obeys the signal, enforces the size limit, counts and hashes the bytes.
 */
export interface Intake {
  /** The body in pieces of `pieceBytes`; throws `TooLarge` or the signal's reason. */
  stream: Bytes;
  /** Valid once the stream has been read to its end. */
  result(): StoredObject;
}

export interface PutOptions {
  maxBytes?: number;
  signal?: AbortSignal;
}

export function intake(body: Bytes, pieceBytes: number, options: PutOptions): Intake {
  const { maxBytes = Infinity, signal } = options;
  const hash = createHash('sha256');
  let size = 0;
  async function* countBytes(source: Bytes): Bytes {
    for await (const chunk of source) {
      size += chunk.length;
      if (size > maxBytes) throw new TooLarge(maxBytes);
      hash.update(chunk);
      yield chunk;
    }
  }
  const source = signal ? abortable(body, signal) : body;
  return {
    stream: pieces(countBytes(source), pieceBytes),
    result: () => ({ size, sha256: hash.digest('hex') }),
  };
}

/** Bytes of one write: few enough to buffer for many files, enough to be worth a system call. */
const writeBytes = 256 * 1024;

/** Streams a body into an open file. The file is neither synced nor closed. */
export async function writeBody(
  handle: FileHandle,
  body: Bytes,
  options: PutOptions = {},
): Promise<StoredObject> {
  const { stream, result: stored } = intake(body, writeBytes, options);
  for await (const piece of stream) await writeAll(handle, piece);
  return stored();
}

/**
 * Repeats the write until all is written: one write may take only a part, as on a nearly full disk.
 */
async function writeAll(handle: FileHandle, piece: Uint8Array): Promise<void> {
  let done = 0;
  while (done < piece.length) {
    const { bytesWritten } = await handle.write(piece, done, piece.length - done);
    done += bytesWritten;
  }
}

/**
 * Maps a full disk or quota to an error that callers can handle; returns other errors unchanged.
 */
export function asStorageError(error: unknown): unknown {
  const full = ['ENOSPC', 'EDQUOT'].some((code) => hasCode(error, code));
  return full ? new StorageFull({ cause: error }) : error;
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
