import { crc32, deflateSync } from 'node:zlib';
import { media, type AcceptedJob, type MadeOutput } from './kit.ts';

/**
 * Makes files with the sizes and lengths that a biller asks for, from the three files of the kit,
 * and measures them.
 */

/**
 * The unit of the video's duration, which is in the headers of the movie, the track and the media.
 */
const timescale = 57_600;
const samples = 24;

/** A file with the measures of this output. */
export function madeFile({ kind, width = 64, height = 64, seconds = 1 }: MadeOutput): Buffer {
  if (kind === 'svg')
    return Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"/>`,
    );
  return kind === 'png' ? picture(width, height) : film(seconds);
}

/** A black PNG with one bit for each pixel. */
export function picture(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header[8] = 1;
  const pixels = Buffer.alloc((1 + Math.ceil(width / 8)) * height);
  return Buffer.concat([
    media.png.subarray(0, 8),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(pixels, { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(name: string, data: Buffer): Buffer {
  const bytes = Buffer.alloc(12 + data.length);
  bytes.writeUInt32BE(data.length, 0);
  bytes.write(name, 4, 'latin1');
  data.copy(bytes, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, -4)), bytes.length - 4);
  return bytes;
}

/** The video of the kit, with each frame shown longer or shorter. */
export function film(seconds: number): Buffer {
  const bytes = Buffer.from(media.mp4);
  const each = Math.round((seconds * timescale) / samples);
  for (const [box, at] of [
    ['mvhd', 16],
    ['tkhd', 20],
    ['mdhd', 16],
  ] as const)
    bytes.writeUInt32BE(each * samples, bytes.indexOf(box) + 4 + at);
  bytes.writeUInt32BE(each, bytes.indexOf('stts') + 4 + 12);
  return bytes;
}

/** The size that a PNG states. */
export function sizeOf(png: Buffer): { width: number; height: number } {
  return { width: png.readUInt32BE(16), height: png.readUInt32BE(20) };
}

/** Silence: 8,000 bytes a second. */
export function sound(seconds: number): Buffer {
  const bytes = Buffer.alloc(44 + Math.round(seconds * 8_000), 128);
  bytes.write('RIFF', 0, 'latin1');
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write('WAVEfmt ', 8, 'latin1');
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(8_000, 24);
  bytes.writeUInt32LE(8_000, 28);
  bytes.writeUInt16LE(1, 32);
  bytes.writeUInt16LE(8, 34);
  bytes.write('data', 36, 'latin1');
  bytes.writeUInt32LE(bytes.length - 44, 40);
  return bytes;
}

/** The length of a video or audio file made here. */
export function secondsOf(file: Buffer): number {
  if (file.toString('latin1', 0, 4) === 'RIFF') return (file.length - 44) / 8_000;
  return file.readUInt32BE(file.indexOf('mvhd') + 4 + 16) / timescale;
}

/** The output at `/outputs/JOB-INDEX.KIND`. */
export function madeAt(path: string, journal: readonly AcceptedJob[]): MadeOutput | undefined {
  const [, id, index] = /^\/outputs\/(.+)-(\d+)\.\w+$/.exec(path) ?? [];
  return journal.find((job) => job.id === id)?.bill?.made[Number(index)];
}
