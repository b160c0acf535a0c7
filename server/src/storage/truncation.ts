import { open, type FileHandle } from 'node:fs/promises';

/**
 * Whether a file is shorter than its own headers say, as after a broken transfer. Only lengths are
 * read, nothing is decoded. Files of formats that state no lengths count as complete.
 */
export async function isTruncated(
  path: string,
  contentType: string,
  signal: AbortSignal,
): Promise<boolean> {
  const measureUnit = walked[contentType];
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    if (measureUnit) return await walkEndsEarly(handle, size, measureUnit, signal);
    if (contentType === 'image/webp') return riffLength(await read(handle, 0, 12)) > size;
    if (matroska.has(contentType)) return matroskaLength(await read(handle, 0, 4096)) > size;
    return false;
  } finally {
    await handle.close();
  }
}

/**
 * The length, including the head, of the unit that begins with `head`; null if no more units
 * follow.
 */
type MeasureUnit = (head: Buffer, left: number) => number | null;

const walked: Record<string, MeasureUnit> = {
  'image/png': pngChunk,
  'image/avif': isoBox,
  'image/heic': isoBox,
  'video/mp4': isoBox,
  'video/quicktime': isoBox,
  'audio/mp4': isoBox,
};
const matroska = new Set(['video/webm', 'video/x-matroska']);
const pngSignatureBytes = 8;
/**
 * More units than any real file has. A file with more, made to keep us busy, is left to later
 * checks.
 */
const maxUnits = 50_000;

async function walkEndsEarly(
  handle: FileHandle,
  size: number,
  measureUnit: MeasureUnit,
  signal: AbortSignal,
): Promise<boolean> {
  let position = measureUnit === pngChunk ? pngSignatureBytes : 0;
  for (let unit = 0; unit < maxUnits; unit += 1) {
    signal.throwIfAborted();
    const head = await read(handle, position, 16);
    // A PNG must end with its IEND chunk; boxes end with the file, apart from a few bytes that
    // players skip.
    if (head.length < 8) return measureUnit === pngChunk;
    const length = measureUnit(head, size - position);
    if (length === null) return false;
    position += length;
    if (position > size) return true;
  }
  return false;
}

function pngChunk(head: Buffer): number | null {
  if (head.toString('latin1', 4, 8) === 'IEND') return null;
  return head.readUInt32BE(0) + 12;
}

function isoBox(head: Buffer, left: number): number | null {
  const length = head.readUInt32BE(0);
  if (length === 0) return left;
  if (length === 1) return head.length < 16 ? left + 1 : Number(head.readBigUInt64BE(8));
  // No box is shorter than its head, so these are trailing bytes, which players ignore too.
  return length < 8 ? null : length;
}

function riffLength(head: Buffer): number {
  return head.length < 12 ? Infinity : head.readUInt32LE(4) + 8;
}

/** Where the segment ends; 0 if that is not stated, as in a streamed recording. */
function matroskaLength(head: Buffer): number {
  const header = element(head, 0);
  if (!header || header.length === null) return Infinity;
  const segment = element(head, header.start + header.length);
  if (!segment) return Infinity;
  return segment.length === null ? 0 : segment.start + segment.length;
}

/** One EBML element: the start of its content, and its length, or null if it is open-ended. */
function element(bytes: Buffer, at: number): { start: number; length: number | null } | null {
  const idBytes = Math.clz32(bytes[at] ?? 0) - 23;
  const first = bytes[at + idBytes] ?? 0;
  const lengthBytes = Math.clz32(first) - 23;
  const start = at + idBytes + lengthBytes;
  if (idBytes > 4 || lengthBytes > 8 || start > bytes.length) return null;
  let length = BigInt(first) & ((1n << BigInt(8 - lengthBytes)) - 1n);
  for (let i = at + idBytes + 1; i < start; i += 1) length = (length << 8n) | BigInt(bytes[i] ?? 0);
  const isOpen = length === (1n << BigInt(7 * lengthBytes)) - 1n;
  return { start, length: isOpen ? null : Number(length) };
}

async function read(handle: FileHandle, position: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  const { bytesRead } = await handle.read(buffer, 0, bytes, position);
  return buffer.subarray(0, bytesRead);
}
