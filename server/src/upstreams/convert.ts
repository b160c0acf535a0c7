import sharp from 'sharp';
import { asStillAvif } from '../core/media/still-avif.ts';

/** Converts callers' pictures for upstreams that do not take their type. */

/** Bounds the decoder's memory. */
export const pixelsMax = 50_000_000;
const convertSeconds = 20;

/** Resolves when no picture is being converted. */
let turn: Promise<unknown> = Promise.resolve();

/** Shown upright; only the first picture of several. Throws if the picture is damaged. */
export async function converted(bytes: Buffer, type: 'image/png' | 'image/jpeg'): Promise<Buffer> {
  const work = turn.then(() => {
    const picture = sharp(asStillAvif(bytes), { limitInputPixels: pixelsMax, failOn: 'error' })
      .timeout({ seconds: convertSeconds })
      .autoOrient();
    return type === 'image/png'
      ? picture.png().toBuffer()
      : picture.flatten({ background: '#fff' }).jpeg({ quality: 95 }).toBuffer();
  });
  turn = work.catch(() => {});
  return work;
}
