import { maxUnits, hasNameAt, type ReadAt } from './reader.ts';

/**
 * Whether a file is shorter than its own headers say, as after a broken transfer. Containers are
 * walked, nothing is decoded. Formats that state no lengths count as complete.
 */
export async function isCutShort(
  read: ReadAt,
  size: number,
  contentType: string,
): Promise<boolean> {
  return (await walks[contentType]?.(read, size)) ?? false;
}

type Walk = (read: ReadAt, size: number) => Promise<boolean>;

const walks: Record<string, Walk> = {
  'image/png': (read, size) =>
    doUnitsEndEarly(read, size, { start: 8, unit: pngChunk, ends: true }),
  'image/jpeg': doesJpegEndEarly,
  'image/avif': doBoxesEndEarly,
  'image/heic': doesHeicEndEarly,
  'image/webp': doesWebpEndEarly,
  'image/gif': doesGifEndEarly,
  'image/bmp': doesBitmapEndEarly,
  'image/svg+xml': doesSvgEndEarly,
  'video/mp4': doBoxesEndEarly,
  'video/quicktime': doBoxesEndEarly,
  'audio/mp4': doBoxesEndEarly,
  'video/webm': doElementsEndEarly,
  'video/x-matroska': doElementsEndEarly,
  'audio/webm': doElementsEndEarly,
  'audio/x-matroska': doElementsEndEarly,
  'audio/aac': async (read, size) =>
    doUnitsEndEarly(read, size, { start: await readTagLength(read), unit: aacFrame }),
  'audio/mpeg': doesMp3EndEarly,
  'application/pdf': doesPdfEndEarly,
};

/**
 * The length of the unit that begins with `head`, which has up to 320 bytes; null if no more units
 * follow.
 */
type Unit = (head: Buffer, left: number) => number | null;

/** `ends`: the last unit is marked, so a file without it is cut short. */
async function doUnitsEndEarly(
  read: ReadAt,
  size: number,
  { start, unit, ends = false }: { start: number; unit: Unit; ends?: boolean },
): Promise<boolean> {
  let position = start;
  for (let count = 0; count < maxUnits; count += 1) {
    const head = await read(position, 320);
    // Players skip a few bytes after the last unit.
    if (head.length < 8) return ends;
    const length = unit(head, size - position);
    const mayBeHollow = !ends && position > start;
    if (length === null) return mayBeHollow && isHollow(read, position, size, blockBytes);
    position += length;
    if (position > size) return true;
  }
  return false;
}

function pngChunk(head: Buffer): number | null {
  return hasNameAt(head, 4, 'IEND') ? null : head.readUInt32BE(0) + 12;
}

function doBoxesEndEarly(read: ReadAt, size: number): Promise<boolean> {
  return doUnitsEndEarly(read, size, { start: 0, unit: isoBox });
}

/** Boxes that players need. */
const isoData = /^(?:ftyp|moov|moof|mdat|meta)$/;

function isoBox(head: Buffer, left: number): number | null {
  const name = head.toString('latin1', 4, 8);
  let length = head.readUInt32BE(0);
  if (length === 0) return left;
  if (length === 1) length = head.length < 16 ? left + 1 : Number(head.readBigUInt64BE(8));
  // Otherwise these are trailing bytes, which players ignore too.
  return length >= 8 && (length <= left || isoData.test(name)) ? length : null;
}

/** No decoder here reads the picture, so zeros that were never replaced are looked for. */
async function doesHeicEndEarly(read: ReadAt, size: number): Promise<boolean> {
  let end = size;
  const unit: Unit = (head, left) => {
    const length = isoBox(head, left);
    if (length !== null && hasNameAt(head, 4, 'mdat')) end = size - left + length;
    return length;
  };
  return (await doUnitsEndEarly(read, size, { start: 0, unit })) || isHollowAtEnd(read, end, size);
}

/** Zeros from here on, more than any padding has: a part of the file that never came. */
async function isHollow(read: ReadAt, from: number, size: number, least: number): Promise<boolean> {
  const end = from + Math.max(least, Math.ceil(size / 8));
  if (end > size) return false;
  for (let at = from; at < end; at += scanBytes) {
    const bytes = await read(at, Math.min(scanBytes, end - at));
    if (bytes.some((byte) => byte !== 0)) return false;
  }
  return true;
}

/** Programs fill the last block of a file with zeros. */
const blockBytes = 4096;

/** The same, before the end of packed data, which has no long rows of zeros itself. */
function isHollowAtEnd(read: ReadAt, end: number, size: number): Promise<boolean> {
  const bytes = Math.max(320, Math.ceil(size / 8));
  return isHollow(read, Math.max(0, end - bytes), size, bytes);
}

function aacFrame(head: Buffer): number | null {
  if (head.readUInt16BE(0) >> 4 !== 0xfff) return null;
  const length = (head.readUInt32BE(2) >> 5) & 0x1fff;
  return length < 7 ? null : length;
}

/** Length of the ID3 tag before a sound; 0 if there is none. */
async function readTagLength(read: ReadAt): Promise<number> {
  const head = await read(0, 10);
  if (!hasNameAt(head, 0, 'ID3') || head.length < 10) return 0;
  return head.subarray(6).reduce((sum, byte) => (sum << 7) | (byte & 0x7f), 0) + 10;
}

/** Kilobits per second, by the index in a frame's header: MPEG 1 layer 3 and 2, and later MPEG. */
const rates3 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const rates2 = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384];
const laterRates = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

function mp3Frame(head: Buffer): number | null {
  const bits = head.readUInt32BE(0);
  const [version, layer] = [(bits >> 19) & 3, 4 - ((bits >> 17) & 3)];
  const isFirst = version === 3;
  const kbits = (isFirst ? (layer === 3 ? rates3 : rates2) : laterRates)[(bits >> 12) & 15] ?? 0;
  const hertz =
    ([44_100, 48_000, 32_000][(bits >> 10) & 3] ?? 0) >> (isFirst ? 0 : version ? 1 : 2);
  const isFrame = bits >>> 21 === 0x7ff && version !== 1 && (layer === 2 || layer === 3);
  if (!isFrame || kbits * hertz === 0) return null;
  const bytes = layer === 3 && !isFirst ? 72_000 : 144_000;
  return Math.floor((bytes * kbits) / hertz) + ((bits >> 9) & 1);
}

/** The first frame of most MP3 files states how many frames and bytes there are. */
export async function readXing(
  read: ReadAt,
): Promise<{ start: number; hasFrames: boolean; bytes: number | null }> {
  const start = await readTagLength(read);
  const frame = await read(start, 200);
  const at = Math.max(frame.indexOf('Xing'), frame.indexOf('Info'));
  const flags = at === -1 || at + 16 > frame.length ? 0 : frame.readUInt32BE(at + 4);
  const hasFrames = (flags & 1) !== 0;
  const bytes = (flags & 2) === 0 ? null : frame.readUInt32BE(at + (hasFrames ? 12 : 8));
  return { start, hasFrames, bytes };
}

async function doesMp3EndEarly(read: ReadAt, size: number): Promise<boolean> {
  const { start, bytes } = await readXing(read);
  if (start > size) return true;
  if (bytes === null) return doUnitsEndEarly(read, size, { start, unit: mp3Frame });
  return start + bytes > size;
}

/**
 * Readers look for the mark of the end in the last kilobyte. A PDF made for the web has one near
 * its beginning, too, behind which more objects follow.
 */
async function doesPdfEndEarly(read: ReadAt, size: number): Promise<boolean> {
  const tail = (await read(Math.max(0, size - 1024), 1024)).toString('latin1');
  return !/%%EOF(?!.*\d obj\b)/s.test(tail);
}

/** Decoders read zeros as pixels, so a file whose rest was filled with them is known by its end. */
async function doesJpegEndEarly(read: ReadAt, size: number): Promise<boolean> {
  let at = 2;
  for (let count = 0; count < maxUnits && at < size; count += 1) {
    const head = await read(at, 4);
    const marker = head[1];
    if (head[0] !== 0xff || marker === endOfJpeg) return false;
    if (head.length < 4) return true;
    if (marker === 0xff) at += 1;
    else at += 2 + head.readUInt16BE(2);
    if (marker === startOfScan) at = await endOfScan(read, at, size);
  }
  return at >= size;
}

const startOfScan = 0xda;
const endOfJpeg = 0xd9;

/** Where the next marker is that is neither a restart nor a byte of the picture. */
async function endOfScan(read: ReadAt, start: number, size: number): Promise<number> {
  for (let at = start; at < size;) {
    const bytes = await read(at, scanBytes);
    for (
      let i = bytes.indexOf(0xff);
      i !== -1 && i + 1 < bytes.length;
      i = bytes.indexOf(0xff, i + 1)
    ) {
      const next = bytes[i + 1]!;
      if (next !== 0 && next !== 0xff && (next < 0xd0 || next > 0xd7)) return at + i;
    }
    // The last byte may be the first of a marker.
    at += Math.max(1, bytes.length - 1);
  }
  return size;
}

const scanBytes = 64 * 1024;

async function doesGifEndEarly(read: ReadAt, size: number): Promise<boolean> {
  const table = (flags = 0) => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0);
  let at = 13 + table((await read(10, 1))[0]);
  for (let count = 0; count < maxUnits; count += 1) {
    const head = await read(at, 10);
    const [kind] = head;
    // A file whose last picture is whole may lack the mark of its end.
    if (kind !== 0x21 && kind !== 0x2c) return isHollow(read, at, size, blockBytes);
    at += kind === 0x21 ? 2 : 11 + table(head[9]);
    for (let length: number | undefined = 1; length !== 0; count += 1) {
      [length] = await read(at, 1);
      if (length === undefined) return true;
      at += 1 + length;
    }
  }
  return false;
}

async function doesBitmapEndEarly(read: ReadAt, size: number): Promise<boolean> {
  const head = await read(0, 54);
  if (head.length < 26) return true;
  const start = head.readUInt32LE(10);
  const isOld = head.readUInt32LE(14) === 12;
  if (!isOld && head.length < 54) return start >= size;
  const [width, height, bits] = isOld
    ? [head.readUInt16LE(18), head.readUInt16LE(20), head.readUInt16LE(24)]
    : [head.readInt32LE(18), head.readInt32LE(22), head.readUInt16LE(28)];
  const isPacked = !isOld && ![0, 3, 6].includes(head.readUInt32LE(30));
  const rowBytes = Math.ceil((width * bits) / 32) * 4;
  // 0: not stated.
  const packed = isPacked ? head.readUInt32LE(34) : 0;
  const end = start + (isPacked ? packed : rowBytes * Math.abs(height));
  // Zeros in an unpacked picture are black.
  return end > size || (packed > 0 && isHollowAtEnd(read, end, size));
}

/** The first length of a WebP is that of the whole file. */
async function doesWebpEndEarly(read: ReadAt, size: number): Promise<boolean> {
  const head = await read(0, 12);
  if (head.length < 12) return true;
  const end = head.readUInt32LE(4) + 8;
  if (end > size) return true;
  // A flat picture may have many zeros itself, but the head of a part is never zero.
  for (let at = 12, count = 0; at + 8 <= end && count < maxUnits; count += 1) {
    const part = await read(at, 8);
    if (part.every((byte) => byte === 0)) return true;
    at += 8 + part.readUInt32LE(4) + (part.readUInt32LE(4) % 2);
  }
  return false;
}

/** Only comments and white space may follow the end of a drawing. */
async function doesSvgEndEarly(read: ReadAt, size: number): Promise<boolean> {
  const tailBytes = 16 * 1024;
  let tail = (await read(Math.max(0, size - tailBytes), tailBytes)).toString('utf8').trimEnd();
  while (tail.endsWith('-->')) tail = tail.slice(0, tail.lastIndexOf('<!--')).trimEnd();
  return !/<(?:\/(?:[\w.-]+:)?svg\s*|(?:[\w.-]+:)?svg\b[^<>]*\/)>$/i.test(tail);
}

const segmentId = 0x18538067;
const clusterId = 0x1f43b675;

/** Walks a Matroska file down to its blocks. Recordings have parts of unknown length. */
async function doElementsEndEarly(read: ReadAt, size: number): Promise<boolean> {
  let position = 0;
  let end = size;
  for (let count = 0; count < maxUnits && position < end; count += 1) {
    const found = element(await read(position, 16));
    // Nothing else may be there, but a part that never came may have been filled with zeros.
    if (!found) return true;
    const { id, start, length } = found;
    const isOpened = id === segmentId || id === clusterId;
    if (!isOpened && length === null) return false;
    if (id === segmentId && length !== null) end = position + start + length;
    position += start + (isOpened ? 0 : length!);
    if (Math.max(position, end) > size) return true;
  }
  return false;
}

/** One EBML element: where its content starts, and its length, or null if that is unknown. */
function element(head: Buffer): { id: number; start: number; length: number | null } | null {
  const idBytes = Math.clz32(head[0] ?? 0) - 23;
  const first = head[idBytes] ?? 0;
  const lengthBytes = Math.clz32(first) - 23;
  const start = idBytes + lengthBytes;
  if (idBytes > 4 || lengthBytes > 8 || start > head.length) return null;
  let length = BigInt(first) & ((1n << BigInt(8 - lengthBytes)) - 1n);
  for (let i = idBytes + 1; i < start; i += 1) length = (length << 8n) | BigInt(head[i] ?? 0);
  const isOpen = length === (1n << BigInt(7 * lengthBytes)) - 1n;
  return { id: head.readUIntBE(0, idBytes), start, length: isOpen ? null : Number(length) };
}
