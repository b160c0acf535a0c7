import sharp, { type Matrix3x3, type Sharp } from 'sharp';
import { labelsOf } from '../drawing/labels.ts';
import { drawLandscape } from '../drawing/landscape.ts';
import { paletteFor, rgbOf } from '../drawing/palette.ts';
import type { Order } from '../orders/order.ts';
import type { Size } from '../orders/size.ts';
import { hashText, randomFrom } from '../random.ts';
import { planesOf, type Planes } from './planes.ts';
import { imagePixelsMax } from './probe.ts';

/** Makes images: draws a prompt, or applies a simple operation to the caller's image. */

export function drawImage(order: Order, seed: number): Promise<Buffer> {
  const svg = Buffer.from(drawLandscape(order.prompt, seed, order.size));
  return encode(sharp(svg).removeAlpha(), order.format);
}

/** The caller's image, changed as a known word in the prompt says; without one, in two colours. */
export function editImage(path: string, order: Order, seed: number): Promise<Buffer> {
  const resized = open(path).resize({ ...order.size, fit: 'cover' });
  const opaque = order.format === 'jpeg' ? resized.flatten({ background: '#fff' }) : resized;
  const edited = applyWords(opaque, order.prompt, seed, order.size);
  return labelled(edited, order, 'edit', order.prompt);
}

/** Enlarges an image by Lanczos resampling. */
export function upscaleImage(path: string, order: Order): Promise<Buffer> {
  const resized = open(path).resize({ ...order.size, fit: 'fill', kernel: 'lanczos3' });
  return labelled(resized, order, 'upscale');
}

/** Changes the aspect ratio: crops to the most striking part, or adds a blurred background. */
export async function reframeImage(path: string, order: Order): Promise<Buffer> {
  const { size } = order;
  const cover = open(path).resize({
    ...size,
    fit: 'cover',
    position: order.pad ? 'centre' : 'attention',
  });
  if (!order.pad) return labelled(cover, order, 'reframe');
  const front = await open(path)
    .resize({ ...size, fit: 'inside' })
    .png()
    .toBuffer();
  const ground = cover
    .flatten()
    .blur(Math.max(1, Math.max(size.width, size.height) / 40))
    .modulate({ brightness: 0.75 })
    .composite([{ input: front, gravity: 'centre' }]);
  return labelled(sharp(await ground.png().toBuffer()).removeAlpha(), order, 'reframe');
}

/** Splits an image into layers by brightness; laid over one another, they restore the image. */
export async function splitLayers(path: string, order: Order): Promise<Buffer[]> {
  const { width, height } = order.size;
  const opaque = () =>
    open(path).resize({ width, height, fit: 'fill' }).flatten({ background: '#fff' });
  const pixels = await opaque().toColourspace('srgb').raw().toBuffer();
  const soft = await opaque()
    .blur(Math.max(0.5, width / 200))
    .toColourspace('b-w')
    .raw()
    .toBuffer();
  const edges = quantiles(soft, order.count);
  const layers: Buffer[] = [];
  for (let layer = 0; layer < order.count; layer++) {
    const rgba = Buffer.alloc(width * height * 4);
    for (let i = 0; i < width * height; i++) {
      if (soft[i]! < edges[layer]! || soft[i]! >= edges[layer + 1]!) continue;
      rgba.set(pixels.subarray(i * 3, i * 3 + 3), i * 4);
      rgba[i * 4 + 3] = 255;
    }
    const made = sharp(rgba, { raw: { width, height, channels: 4 } });
    const note = `layer ${layer + 1} of ${order.count}`;
    layers.push(await labelled(made, { ...order, format: 'png' }, note));
  }
  return layers;
}

/** An image cropped to fill a video frame of the given size. */
export async function imagePlanes(source: string | Buffer, size: Size): Promise<Planes> {
  const pixels = await open(source)
    .flatten({ background: '#000' })
    .resize({ width: size.width, height: size.height, fit: 'cover' })
    .toColourspace('srgb')
    .raw()
    .toBuffer();
  return planesOf(pixels, size.width, size.height);
}

function open(source: string | Buffer): Sharp {
  return sharp(source, { limitInputPixels: imagePixelsMax, failOn: 'error' }).autoOrient();
}

async function labelled(image: Sharp, order: Order, note: string, text = ''): Promise<Buffer> {
  // Within one pipeline, colour operations run after composition, so labels get a separate
  // pipeline.
  const { data, info } = await image
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const labels = labelsOf(order.size, note, text);
  const done = sharp(data, { raw: { width, height, channels } }).composite(
    labels.map(({ svg, left, top }) => ({ input: Buffer.from(svg), left, top })),
  );
  // Labels add an alpha channel, which is removed if the image had none.
  return encode(channels === 3 ? done.removeAlpha() : done, order.format);
}

function encode(image: Sharp, format: Order['format']): Promise<Buffer> {
  if (format === 'jpeg')
    return image.flatten({ background: '#fff' }).jpeg({ quality: 88 }).toBuffer();
  if (format === 'webp') return image.webp({ quality: 86, effort: 3 }).toBuffer();
  return image.png({ compressionLevel: 6 }).toBuffer();
}

const sepia: Matrix3x3 = [
  [0.393, 0.769, 0.189],
  [0.349, 0.686, 0.168],
  [0.272, 0.534, 0.131],
];

/** Words in a prompt and their operations. The first match is used. */
const words: [RegExp, (image: Sharp, size: Size) => Sharp][] = [
  [/black.?and.?white|monochrome|gr[ae]y|ч[её]рно-бел/i, (image) => image.greyscale()],
  [/\b(sepia|vintage|retro|old photo)|сепия|ретро/i, (image) => image.recomb(sepia)],
  [/\bblur|размы/i, (image, size) => image.blur(Math.max(1, size.width / 120))],
  [/\b(invert|negative)|негатив/i, (image) => image.negate({ alpha: false })],
  [/\b(mirror|flip)|отраз|зеркал/i, (image) => image.flop()],
  [/\b(bright|lighter)|светл/i, (image) => image.modulate({ brightness: 1.35 })],
  [/\b(dark|night)|темн|ноч/i, (image) => image.modulate({ brightness: 0.55, saturation: 0.8 })],
  [/\b(vivid|colou?rful|saturat)|ярк/i, (image) => image.modulate({ saturation: 1.9 })],
  [/\bsharp|резк/i, (image) => image.sharpen({ sigma: 2 })],
];

function applyWords(image: Sharp, prompt: string, seed: number, size: Size): Sharp {
  const known = words.find(([word]) => word.test(prompt));
  if (known) return known[1](image, size);
  const palette = paletteFor(prompt, randomFrom(hashText(`${seed}:${prompt}`)));
  const [near, light] = [rgbOf(palette.near), rgbOf(palette.light)];
  // Two colours: shadows get the palette's darkest colour, lights its brightest.
  const grey = (c: 0 | 1 | 2): Matrix3x3[0] => {
    const span = light[c] - near[c];
    return [(0.2126 * span) / 255, (0.7152 * span) / 255, (0.0722 * span) / 255];
  };
  return image
    .removeAlpha()
    .recomb([grey(0), grey(1), grey(2)])
    .linear([1, 1, 1], near);
}

/**
 * Brightness values that divide the pixels into equal shares; the last value is above all pixels.
 */
function quantiles(values: Uint8Array, count: number): number[] {
  const histogram = Array.from({ length: 256 }, () => 0);
  for (const value of values) histogram[value]!++;
  const edges = [0];
  let seen = 0;
  for (const [value, found] of histogram.entries()) {
    while (edges.length < count && seen >= (values.length * edges.length) / count)
      edges.push(value);
    seen += found;
  }
  return [...edges, ...Array.from({ length: count + 1 - edges.length }, () => 256)];
}
