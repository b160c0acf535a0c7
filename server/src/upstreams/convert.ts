import sharp from 'sharp';
import { asFirstPage } from '../core/media/first-page.ts';
import { asStillAvif } from '../core/media/still-avif.ts';

/** Converts callers' pictures for upstreams that do not take their type. */

/** Bounds the decoder's memory. */
export const pixelsMax = 50_000_000;
const convertSeconds = 20;

/**
 * Shown upright; only the first picture of several. Throws if the picture is damaged. Needs a place
 * among those for decoding.
 */
export async function converted(bytes: Buffer, type: 'image/png' | 'image/jpeg'): Promise<Buffer> {
  const still = asFirstPage(asStillAvif(bytes));
  const picture = sharp(still, { limitInputPixels: pixelsMax, failOn: 'error' })
    .timeout({ seconds: convertSeconds })
    .autoOrient();
  return type === 'image/png'
    ? picture.png().toBuffer()
    : picture.flatten({ background: '#fff' }).jpeg({ quality: 95 }).toBuffer();
}
