import { sizeOf as namedSize } from '../../core/price/size.ts';
import type { Size } from '../../core/price/size.ts';
import { Refusal } from './refusal.ts';

/**
 * Which size in pixels an input asks for. In this order: `width` and `height`; `image_size` (an
 * object or one of fal's names); `resolution` with `aspect_ratio`. `0.5k` to `4k` is the long
 * side (512, 1024, 1536, 2048, 4096); `480p` to `1080p` is the short side.
 */

export type { Size };

export interface SizeRules {
  resolution: string;
  /** Width over height where the input says nothing. */
  aspect: number;
  /** Most pixels. */
  pixels: number;
  /** Both sides are made even, as H.264 needs. */
  even: boolean;
}

export const SIDE_MIN = 64;
export const SIDE_MAX = 4096;
const ASPECT_MAX = 8;

const longSides: Record<string, number> = {
  '0.5k': 512,
  '1k': 1024,
  '1.5k': 1536,
  '2k': 2048,
  '4k': 4096,
};
const shortSides: Record<string, number> = {
  '480p': 480,
  '540p': 540,
  '720p': 720,
  '768p': 768,
  '1080p': 1080,
};

/** Throws `Refusal` for what is not a size, or is outside the limits. */
export function sizeOf(input: Record<string, unknown>, rules: SizeRules): Size {
  const size = askedSize(input, rules);
  const round = (side: number): number =>
    rules.even ? Math.round(side / 2) * 2 : Math.round(side);
  const made = { width: round(size.width), height: round(size.height) };
  if (
    Math.min(made.width, made.height) < SIDE_MIN ||
    Math.max(made.width, made.height) > SIDE_MAX
  ) {
    throw new Refusal(
      `Each side must have ${SIDE_MIN} to ${SIDE_MAX} pixels; asked: ${name(made)}.`,
    );
  }
  if (made.width * made.height > rules.pixels) {
    throw new Refusal(`At most ${rules.pixels} pixels can be made; asked: ${name(made)}.`);
  }
  return made;
}

/** Whether the input itself says anything about the size. */
export function asksSize(input: Record<string, unknown>): boolean {
  return ['width', 'height', 'image_size', 'resolution'].some((field) => isGiven(input[field]));
}

/** Width over height from `aspect_ratio`; `other` where it is absent or `auto`. */
export function aspectOf(input: Record<string, unknown>, other: number): number {
  const value = input.aspect_ratio;
  if (!isGiven(value) || value === 'auto') return other;
  const match = /^(\d{1,5}(?:\.\d+)?)\s*[:x/]\s*(\d{1,5}(?:\.\d+)?)$/.exec(String(value));
  const aspect = match ? Number(match[1]) / Number(match[2]) : Number.NaN;
  if (!(aspect >= 1 / ASPECT_MAX && aspect <= ASPECT_MAX)) {
    throw new Refusal(`aspect_ratio must look like 16:9, from 1:${ASPECT_MAX} to ${ASPECT_MAX}:1.`);
  }
  return aspect;
}

function askedSize(input: Record<string, unknown>, rules: SizeRules): Size {
  if (isGiven(input.width) || isGiven(input.height)) {
    return { width: side(input.width, 'width'), height: side(input.height, 'height') };
  }
  const named = input.image_size;
  if (typeof named === 'string') {
    const size = namedSize(named);
    if (!size)
      throw new Refusal(`image_size must be {width, height}, "WxH" or a name such as square.`);
    return size;
  }
  if (isGiven(named)) {
    const object = named as Record<string, unknown>;
    return {
      width: side(object.width, 'image_size.width'),
      height: side(object.height, 'image_size.height'),
    };
  }
  return resolved(String(input.resolution ?? rules.resolution), aspectOf(input, rules.aspect));
}

function resolved(resolution: string, aspect: number): Size {
  const long = longSides[resolution];
  if (long !== undefined) {
    return aspect >= 1
      ? { width: long, height: long / aspect }
      : { width: long * aspect, height: long };
  }
  const short = shortSides[resolution];
  if (short === undefined) {
    const all = [...Object.keys(longSides), ...Object.keys(shortSides)].join(', ');
    throw new Refusal(`resolution must be one of ${all}.`);
  }
  return aspect >= 1
    ? { width: short * aspect, height: short }
    : { width: short, height: short / aspect };
}

function side(value: unknown, field: string): number {
  const pixels = typeof value === 'string' ? Number(value) : value;
  if (typeof pixels !== 'number' || !Number.isFinite(pixels) || pixels <= 0) {
    throw new Refusal(`${field} must be a number of pixels.`);
  }
  return pixels;
}

/** Null and the empty text are as if left out. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

function name(size: Size): string {
  return `${size.width} x ${size.height}`;
}
