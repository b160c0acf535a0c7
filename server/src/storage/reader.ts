import type { FileHandle } from 'node:fs/promises';

/** Reads bytes at a position; fewer at the end of the file. */
export type ReadAt = (position: number, count: number) => Promise<Buffer>;

/**
 * More units than any real file has. A file with more, made to keep us busy, is left to later
 * checks.
 */
export const maxUnits = 2_000_000;
/** Limit for the length that a header claims: longer than any real file. */
export const secondsMax = 30 * 24 * 60 * 60;
const windowBytes = 64 * 1024;

/** Reads through a window, because units may be few bytes long. */
export function reader(handle: FileHandle, signal: AbortSignal): ReadAt {
  let start = 0;
  let window = Buffer.alloc(0);
  return async (position, count) => {
    if (position < start || position + count > start + window.length) {
      signal.throwIfAborted();
      const buffer = Buffer.alloc(Math.max(count, windowBytes));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
      start = position;
      window = buffer.subarray(0, bytesRead);
    }
    return window.subarray(position - start, position - start + count);
  };
}

export function hasNameAt(head: Buffer, at: number, name: string): boolean {
  return head.toString('latin1', at, at + name.length) === name;
}
