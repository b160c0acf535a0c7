import { maxUnits, hasNameAt, type ReadAt } from './reader.ts';
import { FileDamaged } from './picture.ts';

/**
 * Lengths of sounds whose containers say enough themselves, whatever codec is inside. Throws
 * `FileDamaged` if a file is shorter than it says.
 */

/** Programs that write into a pipe do not know the length, and state one near a maximum, or 0. */
const unknownLength = 2_000_000_000;

/** A header without pictures and other extras is not longer. */
const headerMaxBytes = 80;

/** Codecs whose samples all take the same number of bytes. */
const plainCodecs = new Set([1, 3, 6, 7, 0xfffe]);

/** Seconds of a WAV, also of one with lengths of 64 bits (RF64, BW64). */
export async function readWaveSeconds(read: ReadAt, size: number): Promise<number> {
  const header = { codec: 1, rate: 0, bytesPerSecond: 0, samples: 0, longLength: -1 };
  let position = 12;
  for (let count = 0; count < maxUnits; count += 1) {
    const head = await read(position, 32);
    const length = head.length < 8 ? 0 : head.readUInt32LE(4);
    position += 8;
    if (hasNameAt(head, 0, 'data')) {
      const isLong = length === 0xffffffff && header.longLength >= 0;
      const stated = isLong ? header.longLength : length;
      const left = size - position;
      // Some programs count the bytes of the header, too.
      const isOver = stated > left && stated - left <= Math.min(position, headerMaxBytes);
      return secondsOf(isOver ? left : stated, left, isLong, header);
    }
    if (head.length < 24) break;
    if (hasNameAt(head, 0, 'fmt ')) {
      header.codec = head.readUInt16LE(8);
      header.rate = head.readUInt32LE(12);
      // Some programs state a wrong number of bytes per second.
      const counted = plainCodecs.has(header.codec) ? header.rate * head.readUInt16LE(20) : 0;
      header.bytesPerSecond = counted || head.readUInt32LE(16);
    }
    if (hasNameAt(head, 0, 'ds64')) header.longLength = Number(head.readBigUInt64LE(16));
    if (hasNameAt(head, 0, 'fact')) header.samples = head.readUInt32LE(8);
    position += length;
    // Some programs leave out the byte after an odd length.
    if (length % 2 === 1 && !/[a-z]/i.test((await read(position, 1)).toString('latin1')))
      position += 1;
  }
  throw new FileDamaged('no sound in it');
}

function secondsOf(
  stated: number,
  left: number,
  isLong: boolean,
  header: { codec: number; rate: number; bytesPerSecond: number; samples: number },
): number {
  const { codec, rate, bytesPerSecond, samples } = header;
  const isStated = stated > 0 && (isLong || stated < unknownLength);
  if (isStated && stated > left) throw new FileDamaged('cut short');
  const isCounted = !plainCodecs.has(codec) && samples > 0 && isStated;
  const seconds = isCounted ? samples / rate : (isStated ? stated : left) / bytesPerSecond;
  if (seconds > 0 && seconds < Infinity) return seconds;
  throw new FileDamaged(`of ${seconds} s`);
}

/** Samples, as the pages of one stream of an Ogg file count them. */
interface Stream {
  rate: number;
  skipped: number;
  first: number;
  last: number;
}

/** A page has at most 255 packets, which are shorter than this altogether. */
const pageMaxSeconds = 60;

/** Seconds of an Ogg file, also of several files behind each other. */
export async function readOggSeconds(read: ReadAt, size: number): Promise<number> {
  let total = 0;
  let streams = new Map<number, Stream>();
  let areBegun = false;
  let isEnded = false;
  let position = 0;
  let last: Buffer = Buffer.alloc(27);
  for (let count = 0; count < maxUnits; count += 1) {
    const head = await read(position, 320);
    if (head.length < 8) break;
    if (!hasNameAt(head, 0, 'OggS')) {
      // Players skip bytes after the last page.
      if (isEnded) break;
      throw new FileDamaged('a page is missing');
    }
    const segments = head[26] ?? 0;
    const start = 27 + segments;
    const length = head.subarray(27, start).reduce((sum, each) => sum + each, start);
    if (head.length < start || position + length > size) throw new FileDamaged('cut short');
    const serial = head.readUInt32LE(14);
    const isFirst = (head[5]! & 2) !== 0;
    if (isFirst && areBegun) {
      total += longest(streams);
      streams = new Map();
    }
    areBegun = !isFirst;
    isEnded = (head[5]! & 4) !== 0;
    if (isFirst) {
      const codec = codecOf(await read(position + start, 64));
      if (codec) streams.set(serial, { ...codec, first: 0, last: 0 });
    } else note(streams.get(serial), head.readBigInt64LE(6));
    last = await read(position, length);
    position += length;
  }
  // The rest of a file that did not come may have been filled with zeros.
  if (!hasOwnSum(last)) throw new FileDamaged('a page with a wrong checksum');
  total += longest(streams);
  if (total > 0) return total;
  throw new FileDamaged('no sound in it');
}

/** CRC-32 with the polynomial 0x04c11db7, over the page with zeros in its place; 0: not stated. */
function hasOwnSum(page: Buffer): boolean {
  const stated = page.readUInt32LE(22);
  let sum = 0;
  for (const [i, byte] of page.entries()) {
    sum ^= (i >= 22 && i < 26 ? 0 : byte) << 24;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum << 1) ^ (sum < 0 ? 0x04c11db7 : 0);
  }
  return stated === 0 || sum >>> 0 === stated;
}

/** Notes the count at the end of a page; -1 if no packet ends there. */
function note(stream: Stream | undefined, count: bigint): void {
  if (!stream || count <= 0n) return;
  const samples = Number(count);
  // A recording that began in the middle of a broadcast.
  const isLate = stream.last === 0 && samples > pageMaxSeconds * stream.rate;
  if (isLate) stream.first = samples;
  stream.last = samples;
}

/** The samples per second that a stream's first packet states; null if it is no known sound. */
function codecOf(packet: Buffer): Pick<Stream, 'rate' | 'skipped'> | null {
  const streamOf = (rate: number, skipped = 0) => (rate > 0 ? { rate, skipped } : null);
  if (packet.length < 40) packet = Buffer.concat([packet], 40);
  if (hasNameAt(packet, 0, 'OpusHead')) return streamOf(48_000, packet.readUInt16LE(10));
  if (hasNameAt(packet, 0, '\x01vorbis')) return streamOf(packet.readUInt32LE(12));
  if (hasNameAt(packet, 0, 'Speex   ')) return streamOf(packet.readUInt32LE(36));
  if (hasNameAt(packet, 0, '\x7fFLAC')) return streamOf(packet.readUIntBE(27, 3) >> 4);
  return null;
}

function longest(streams: Map<number, Stream>): number {
  const seconds = [...streams.values()].map(
    ({ rate, skipped, first, last }) => (last - first - (first > 0 ? 0 : skipped)) / rate,
  );
  return Math.max(0, ...seconds);
}
