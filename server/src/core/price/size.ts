/** Image sizes in pixels: what the size names of an input mean. Pure tables. */

import type { Resolution } from '../catalog/catalog.ts';

export interface Size {
  width: number;
  height: number;
}

/** The names for `image_size` that fal's image models introduced. */
const namedSizes: ReadonlyMap<string, Size> = new Map([
  ['square_hd', { width: 1024, height: 1024 }],
  ['square', { width: 512, height: 512 }],
  ['portrait_4_3', { width: 768, height: 1024 }],
  ['portrait_16_9', { width: 576, height: 1024 }],
  ['landscape_4_3', { width: 1024, height: 768 }],
  ['landscape_16_9', { width: 1024, height: 576 }],
]);

export const imageSizeNames: readonly string[] = [...namedSizes.keys()];

/**
 * "square_hd" or "1024x768" → its size; undefined for any other text. Zeros are returned as they
 * are; the caller checks them.
 */
export function sizeOf(text: string): Size | undefined {
  const named = namedSizes.get(text);
  if (named) return named;
  const match = /^(\d{1,6})x(\d{1,6})$/.exec(text);
  return match ? { width: Number(match[1]), height: Number(match[2]) } : undefined;
}

const squares: Partial<Record<Resolution, number>> = {
  '0.5k': 512,
  '1k': 1024,
  '1.5k': 1536,
  '2k': 2048,
  '4k': 4096,
};

const screens: Partial<Record<Resolution, Size>> = {
  '480p': { width: 854, height: 480 },
  '540p': { width: 960, height: 540 },
  '720p': { width: 1280, height: 720 },
  '768p': { width: 1366, height: 768 },
  '1080p': { width: 1920, height: 1080 },
};

/**
 * The largest image that a resolution name can mean. The price is reserved for it, so it errs
 * upwards.
 *
 * A `k` name is a square with that side, whatever the ratio: some models keep the longer side (1k
 * at 16:9 is 1024x576), others keep the area (1k at 16:9 is about 1360x768), and the square is an
 * upper bound for both. A `p` name is the shorter side of a 16:9 image; a wider ratio ("21:9")
 * makes the longer side longer. A ratio that is not "W:H" ("auto") is ignored.
 */
export function pixelsOf(resolution: Resolution, aspect_ratio?: string): Size {
  const side = squares[resolution];
  if (side !== undefined) return { width: side, height: side };
  const screen = screens[resolution]!;
  const ratio = aspect_ratio === undefined ? 0 : stretchOf(aspect_ratio);
  return {
    width: Math.max(screen.width, Math.ceil(screen.height * ratio)),
    height: screen.height,
  };
}

/** "21:9" and "9:21" → 2.33…, the longer over the shorter side; 0 if the text is not a ratio. */
function stretchOf(aspect_ratio: string): number {
  const match = /^(\d{1,5}(?:\.\d{1,5})?):(\d{1,5}(?:\.\d{1,5})?)$/.exec(aspect_ratio);
  if (!match) return 0;
  const [a, b] = [Number(match[1]), Number(match[2])];
  return a > 0 && b > 0 ? Math.max(a / b, b / a) : 0;
}
