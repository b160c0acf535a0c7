/** Computes how many megapixels an input asks for. */

import type { Resolution } from '../catalog/catalog.ts';
import { checkSize, limitOf, unpriceable, type PricingRow } from './priced-fields.ts';
import { pixelsOf, type Size } from './size.ts';

/** The pixels of one output at a resolution, or of the requested size if there is one. */
export type PixelsOf = (resolution: Resolution) => number;

export function pixelsFor(size: Size | undefined, aspect_ratio: string | undefined): PixelsOf {
  return (resolution) => {
    const { width, height } = size ?? pixelsOf(resolution, aspect_ratio);
    return width * height;
  };
}

/**
 * Pixels of one output. If only a resolution gives the size, the assumed megapixels are noted in
 * `assumptions`.
 */
export function areaOf(
  pixels: PixelsOf,
  size: Size | undefined,
  resolution: Resolution | undefined,
  assumptions: Record<string, unknown>,
): number {
  if (size) return size.width * size.height;
  if (resolution === undefined) {
    throw unpriceable('image_size', 'must be given: this model is priced per megapixel');
  }
  const area = pixels(resolution);
  checkSize({ width: area, height: 1 }, 'aspect_ratio');
  assumptions.megapixels = area / 1e6;
  return area;
}

/** Megapixels of all outputs together. Throws if they exceed the row's max in megapixels. */
export function megapixels(
  model: PricingRow,
  area: number,
  count: number,
  size: Size | undefined,
): number {
  const total = (area * count) / 1e6;
  const maximum = limitOf(model, 'megapixels', Infinity);
  if (total <= maximum) return total;
  const rule = `asks for ${total} megapixels in all; at most ${maximum} are allowed`;
  throw unpriceable(size ? 'image_size' : 'resolution', rule, { maximum, megapixels: total });
}
