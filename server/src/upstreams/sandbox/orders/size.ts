import { resolutions, type Resolution } from '../../../core/catalog/catalog.ts';
import { pixelsOf, sizeOf as namedSize, type Size } from '../../../core/price/size.ts';
import { objectOf } from '../../../lib/json.ts';
import { SandboxRefusal } from '../refusal.ts';

/**
 * The size in pixels that an input asks for, taken from the first of these: `width` and `height`;
 * `image_size` (an object or one of fal's names); `resolution` with `aspect_ratio`. `0.5k` to `4k`
 * means the long side (512 to 4096), `480p` to `1080p` the short side.
 */

export type { Size };

export interface SizeRules {
  resolution: Resolution;
  /** Width over height if the input states none. */
  aspect: number;
  pixels: number;
  /** Make both sides even, as H.264 requires. */
  even: boolean;
}

export const sideMax = 4096;
const sideMin = 64;
const aspectMax = 8;

/** Throws `SandboxRefusal` if the input's size is invalid or outside the limits. */
export function sizeOf(input: Record<string, unknown>, rules: SizeRules): Size {
  const asked = askedSize(input, rules);
  const unit = rules.even ? 2 : 1;
  const width = Math.round(asked.width / unit) * unit;
  const height = Math.round(asked.height / unit) * unit;
  const name = `${width} x ${height}`;
  if (Math.min(width, height) < sideMin || Math.max(width, height) > sideMax)
    throw new SandboxRefusal(
      `Each side must have ${sideMin} to ${sideMax} pixels; you asked for ${name}.`,
    );
  if (width * height > rules.pixels)
    throw new SandboxRefusal(`At most ${rules.pixels} pixels can be made; you asked for ${name}.`);
  return { width, height };
}

export function asksSize(input: Record<string, unknown>): boolean {
  return ['width', 'height', 'image_size', 'resolution'].some((field) => isGiven(input[field]));
}

/** Width over height from `aspect_ratio`; `other` if it is absent or `auto`. */
export function aspectOf(input: Record<string, unknown>, other: number): number {
  const value = input.aspect_ratio;
  if (!isGiven(value) || value === 'auto') return other;
  const match = /^(\d{1,5}(?:\.\d+)?)\s*[:x/]\s*(\d{1,5}(?:\.\d+)?)$/.exec(String(value));
  const aspect = match ? Number(match[1]) / Number(match[2]) : Number.NaN;
  if (!(aspect >= 1 / aspectMax && aspect <= aspectMax)) {
    throw new SandboxRefusal(
      `aspect_ratio must look like 16:9, from 1:${aspectMax} to ${aspectMax}:1.`,
    );
  }
  return aspect;
}

/** The largest size with this aspect ratio within a square of side `long`. */
function fitted(long: number, aspect: number): Size {
  return { width: long * Math.min(1, aspect), height: long / Math.max(1, aspect) };
}

function askedSize(input: Record<string, unknown>, rules: SizeRules): Size {
  const { width, height, image_size: named } = input;
  if (isGiven(width) || isGiven(height))
    return { width: side(width, 'width'), height: side(height, 'height') };
  if (typeof named === 'string') {
    const size = namedSize(named);
    if (size) return size;
    throw new SandboxRefusal('image_size must be {width, height}, "WxH" or a name such as square.');
  }
  if (isGiven(named)) {
    const { width, height } = objectOf(named);
    return { width: side(width, 'image_size.width'), height: side(height, 'image_size.height') };
  }
  const resolution = resolutions.find((name) => name === (input.resolution ?? rules.resolution));
  if (!resolution) throw new SandboxRefusal(`resolution must be one of ${resolutions.join(', ')}.`);
  const aspect = aspectOf(input, rules.aspect);
  const screen = pixelsOf(resolution);
  if (screen.width === screen.height) return fitted(screen.width, aspect);
  return fitted(screen.height * Math.max(aspect, 1 / aspect), aspect);
}

function side(value: unknown, field: string): number {
  const pixels = typeof value === 'string' ? Number(value) : value;
  if (typeof pixels !== 'number' || !Number.isFinite(pixels) || pixels <= 0) {
    throw new SandboxRefusal(`${field} must be a number of pixels.`);
  }
  return pixels;
}

/** Whether a value is given; null and an empty text count as absent. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}
