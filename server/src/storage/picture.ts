import { readFile } from 'node:fs/promises';
import sharp, { type Sharp } from 'sharp';
import { asStillAvif, isMovingAvif } from '../core/media/still-avif.ts';

/** Sizes and soundness of pictures. */

/**
 * Sizes are whole pixels as displayed, after rotation. Measures that the file's type lacks are
 * absent.
 */
export interface Measures {
  width?: number;
  height?: number;
  /** A film's is that of its pictures. */
  duration_seconds?: number;
}

/** The file is cut short, is damaged, or took too long to read. */
export class FileDamaged extends Error {
  constructor(reason: string, options?: { cause?: unknown }) {
    super(`damaged: ${reason}`, options);
    this.name = 'FileDamaged';
  }
}

// Off, because it knows a file by its path alone.
sharp.cache(false);

/** 32,768 × 32,768: no tool used here accepts a larger image. */
export const maxPixels = 2 ** 30;
/** A picture whose decoder would need more memory is not decoded. */
const heldMaxBytes = 512 * 1024 * 1024;
/** A longer animation has only its first picture decoded. */
const framesMaxPixels = 500_000_000;
const decodeSeconds = 30;

/** `head`: the file's first 256 KB, or all of it. Throws `FileDamaged` if there is no picture. */
export async function readPictureSize(
  path: string,
  content_type: string,
  head: Buffer,
): Promise<Measures> {
  if (content_type === 'image/svg+xml') return svgSize(head);
  if (content_type === 'image/heic') return heicSize(head);
  if (content_type === 'image/bmp') return bitmapSize(head);
  const { width, height } = (await openPicture(await readSource(path, head)).metadata()).autoOrient;
  return { width, height };
}

async function readSource(path: string, head: Buffer): Promise<string | Buffer> {
  return isMovingAvif(head) ? asStillAvif(await readFile(path)) : path;
}

function openPicture(source: string | Buffer, animated = false): Sharp {
  const limitInputPixels = animated ? false : maxPixels;
  return sharp(source, { limitInputPixels, animated, failOn: 'error', sequentialRead: true });
}

/**
 * Decodes a picture, whose first bytes are `head`, to its end and throws if that shows damage.
 * Pictures that cannot be decoded here, or that need too much memory or time, count as sound.
 */
export async function assertDecodes(
  path: string,
  content_type: string,
  head: Buffer,
): Promise<void> {
  if (/^image\/(?:heic|bmp|svg)/.test(content_type)) return;
  const source = await readSource(path, head);
  const {
    format,
    width,
    height,
    channels,
    depth,
    isProgressive,
    pages = 1,
  } = await openPicture(source).metadata();
  const isStreamed = (format === 'jpeg' || format === 'png') && !isProgressive;
  // A progressive JPEG is held as 16-bit coefficients.
  const sampleBytes = depth === 'uchar' && format !== 'jpeg' ? 1 : 2;
  const held = width * height * Math.max(channels, 4) * sampleBytes;
  if (!isStreamed && held > heldMaxBytes) return;
  const animated = pages > 1 && format !== 'tiff' && pages * width * height <= framesMaxPixels;
  try {
    await openPicture(source, animated)
      .timeout({ seconds: decodeSeconds })
      .resize(16, 16, { fit: 'fill' })
      .raw()
      .toBuffer();
  } catch (error) {
    if (!/^timeout\b/.test(String((error as Error).message))) throw error;
  }
}

/** Reads only the root element; an SVG is never parsed. Empty if no size is stated in pixels. */
function svgSize(head: Buffer): Measures {
  const root = /<(?:[\w.-]+:)?svg\b[^<>]*>/i.exec(head.toString('utf8'))?.[0];
  if (!root) throw new FileDamaged('it has no svg element');
  const pixels = (name: string): number =>
    Number(new RegExp(`\\s${name}\\s*=\\s*["']\\s*([\\d.]+)(?:px)?\\s*["']`).exec(root)?.[1]);
  const box =
    /\sviewBox\s*=\s*["']([^"']*)["']/
      .exec(root)?.[1]
      ?.trim()
      .split(/[\s,]+/) ?? [];
  const width = pixels('width') || Number(box[2]);
  const height = pixels('height') || Number(box[3]);
  return width > 0 && height > 0 ? { width, height } : {};
}

/**
 * Reads a HEIC image's size here, because sharp is built without HEVC. Tiles and thumbnails have
 * sizes (`ispe`) too: the largest one is the image's. A rotation applies to all of them.
 */
function heicSize(head: Buffer): Measures {
  let width = 0;
  let height = 0;
  for (let at = head.indexOf('ispe'); at !== -1; at = head.indexOf('ispe', at + 4)) {
    if (at + 16 > head.length || at < 4 || head.readUInt32BE(at - 4) !== 20) continue;
    const [w, h] = [head.readUInt32BE(at + 8), head.readUInt32BE(at + 12)];
    if (w * h > width * height) [width, height] = [w, h];
  }
  if (width * height === 0) [width, height] = frameSize(head);
  if (width * height === 0) throw new FileDamaged('no image in it');
  if (width * height > maxPixels) throw new FileDamaged('too many pixels');
  const turned = head.indexOf('irot');
  const onItsSide = turned !== -1 && ((head[turned + 4] ?? 0) & 1) === 1;
  return onItsSide ? { width: height, height: width } : { width, height };
}

/** The size of a HEIC without a still picture: that of the frames of its track. */
function frameSize(head: Buffer): [width: number, height: number] {
  const at = Math.max(head.indexOf('hvc1'), head.indexOf('hev1'));
  if (at === -1 || at + 32 > head.length) return [0, 0];
  return [head.readUInt16BE(at + 28), head.readUInt16BE(at + 30)];
}

/** Reads the size of a BMP, which sharp does not know. A negative height means top to bottom. */
function bitmapSize(head: Buffer): Measures {
  if (head.length < 26) throw new FileDamaged('no header');
  const isOld = head.readUInt32LE(14) === 12;
  const width = isOld ? head.readUInt16LE(18) : head.readInt32LE(18);
  const height = Math.abs(isOld ? head.readUInt16LE(20) : head.readInt32LE(22));
  if (!(width > 0 && height > 0)) throw new FileDamaged(`an image of ${width} × ${height}`);
  if (width * height > maxPixels) throw new FileDamaged('too many pixels');
  return { width, height };
}
