import sharp from 'sharp';
import type { Sharp } from 'sharp';
import { drawLabels, layOver } from './label.ts';
import { palettes } from './palette.ts';
import { paintStill } from './paint.ts';
import { planesOf } from './planes.ts';
import type { Planes } from './planes.ts';
import { INPUT_PIXELS } from './probe.ts';
import { hashText } from './random.ts';
import { sceneOf } from './scene.ts';
import type { Order } from './order.ts';
import type { Size } from './size.ts';

/** Pictures: painted from a prompt, or the caller's own with a plain operation done to it. */

/** Paints the picture of a prompt and a seed. */
export async function paintPicture(order: Order, seed: number): Promise<Buffer> {
  const { width, height } = order.size;
  const pixels = paintStill(sceneOf(order.prompt, seed), width, height);
  for (const overlay of drawLabels(width, height, '', order.prompt))
    layOver(pixels, width, overlay);
  return encode(sharp(pixels, { raw: { width, height, channels: 3 } }), order.format);
}

/** The caller's picture in other colours, or as the prompt's words say, labelled. */
export async function editPicture(path: string, order: Order, seed: number): Promise<Buffer> {
  const resized = open(path).resize({ ...order.size, fit: 'cover' });
  const ground = order.format === 'jpeg' ? resized.flatten({ background: '#fff' }) : resized;
  const edited = applyWords(ground, order.prompt, seed, order.size);
  return labelled(edited, order, 'edit', order.prompt);
}

/** A larger picture by Lanczos resampling. */
export async function upscalePicture(path: string, order: Order): Promise<Buffer> {
  const resized = open(path).resize({ ...order.size, fit: 'fill', kernel: 'lanczos3' });
  return labelled(resized, order, 'upscale', '');
}

/** Another aspect ratio: cropped to where most is to be seen, or set on a blurred ground. */
export async function reframePicture(path: string, order: Order): Promise<Buffer> {
  if (!order.pad) {
    return labelled(
      open(path).resize({ ...order.size, fit: 'cover', position: 'attention' }),
      order,
      'reframe',
      '',
    );
  }
  const sigma = Math.max(1, Math.max(order.size.width, order.size.height) / 40);
  const front = await open(path)
    .resize({ ...order.size, fit: 'inside' })
    .png()
    .toBuffer();
  const ground = open(path)
    .flatten()
    .resize({ ...order.size, fit: 'cover' })
    .blur(sigma)
    .modulate({ brightness: 0.75 });
  const whole = await ground
    .composite([{ input: front, gravity: 'centre' }])
    .png()
    .toBuffer();
  return labelled(sharp(whole).removeAlpha(), order, 'reframe', '');
}

/**
 * The picture taken apart by brightness: laid over one another, the layers give the picture back.
 */
export async function splitLayers(path: string, order: Order): Promise<Buffer[]> {
  const { width, height } = order.size;
  const sized = () => open(path).resize({ width, height, fit: 'fill' });
  const pixels = await sized()
    .flatten({ background: '#fff' })
    .toColourspace('srgb')
    .raw()
    .toBuffer();
  const soft = await sized()
    .flatten({ background: '#fff' })
    .blur(Math.max(0.5, width / 200))
    .toColourspace('b-w')
    .raw()
    .toBuffer();
  const edges = quantiles(soft, order.count);
  const layers: Buffer[] = [];
  for (let layer = 0; layer < order.count; layer++) {
    const rgba = Buffer.alloc(width * height * 4);
    for (let i = 0; i < width * height; i++) {
      const light = soft[i]!;
      if (light < edges[layer]! || light >= edges[layer + 1]!) continue;
      rgba.set(pixels.subarray(i * 3, i * 3 + 3), i * 4);
      rgba[i * 4 + 3] = 255;
    }
    const made = sharp(rgba, { raw: { width, height, channels: 4 } });
    layers.push(
      await labelled(made, { ...order, format: 'png' }, `layer ${layer + 1} of ${order.count}`, ''),
    );
  }
  return layers;
}

/** The caller's picture, filling a frame of the given size, for a film. */
export async function picturePlanes(path: string, size: Size): Promise<Planes> {
  const pixels = await open(path)
    .flatten({ background: '#000' })
    .resize({ ...size, fit: 'cover' })
    .toColourspace('srgb')
    .raw()
    .toBuffer();
  return planesOf(pixels, size.width, size.height);
}

function open(path: string): Sharp {
  return sharp(path, { limitInputPixels: INPUT_PIXELS, failOn: 'error' }).autoOrient();
}

async function labelled(picture: Sharp, order: Order, note: string, text: string): Promise<Buffer> {
  const { width, height } = order.size;
  const pieces = drawLabels(width, height, note, text).map((overlay) => ({
    input: Buffer.from(overlay.rgba.buffer),
    raw: { width: overlay.width, height: overlay.height, channels: 4 as const },
    left: overlay.left,
    top: overlay.top,
  }));
  // Colour operations run after composition within one pipeline, so the labels get a pipeline of
  // their own.
  const { data, info } = await picture
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true });
  const raw = { width: info.width, height: info.height, channels: info.channels };
  const done = sharp(data, { raw }).composite(pieces);
  // The labels are see-through, the picture under them need not be.
  return encode(raw.channels === 3 ? done.removeAlpha() : done, order.format);
}

function encode(picture: Sharp, format: Order['format']): Promise<Buffer> {
  if (format === 'jpeg')
    return picture.flatten({ background: '#fff' }).jpeg({ quality: 88 }).toBuffer();
  if (format === 'webp') return picture.webp({ quality: 86, effort: 3 }).toBuffer();
  return picture.png({ compressionLevel: 6 }).toBuffer();
}

/** Words in a prompt and what they do; the first that is found counts. */
const words: [RegExp, (picture: Sharp, size: Size) => Sharp][] = [
  [/black.?and.?white|monochrome|gr[ae]y|ч[её]рно-бел/i, (picture) => picture.greyscale()],
  [
    /\b(sepia|vintage|retro|old photo)|сепия|ретро/i,
    (picture) =>
      picture.recomb([
        [0.393, 0.769, 0.189],
        [0.349, 0.686, 0.168],
        [0.272, 0.534, 0.131],
      ]),
  ],
  [/\bblur|размы/i, (picture, size) => picture.blur(Math.max(1, size.width / 120))],
  [/\b(invert|negative)|негатив/i, (picture) => picture.negate({ alpha: false })],
  [/\b(mirror|flip)|отраз|зеркал/i, (picture) => picture.flop()],
  [/\b(bright|lighter)|светл/i, (picture) => picture.modulate({ brightness: 1.35 })],
  [
    /\b(dark|night)|темн|ноч/i,
    (picture) => picture.modulate({ brightness: 0.55, saturation: 0.8 }),
  ],
  [/\b(vivid|colou?rful|saturat)|ярк/i, (picture) => picture.modulate({ saturation: 1.9 })],
  [/\bsharp|резк/i, (picture) => picture.sharpen({ sigma: 2 })],
];

function applyWords(picture: Sharp, prompt: string, seed: number, size: Size): Sharp {
  const known = words.find(([word]) => word.test(prompt));
  if (known) return known[1](picture, size);
  const names = Object.keys(palettes);
  const { near, light } = palettes[names[hashText(`${seed}:${prompt}`) % names.length]!]!;
  // Two colours: shadows in the palette's darkest, lights in its brightest.
  const slopes = light.map((part, c) => (part - near[c]!) / 255);
  const grey = [0.2126, 0.7152, 0.0722];
  const toTwo = slopes.map((slope) => grey.map((share) => share * slope)) as [
    number[],
    number[],
    number[],
  ];
  return picture
    .removeAlpha()
    .recomb(toTwo as never)
    .linear([1, 1, 1], [...near]);
}

/** Brightness values that part the pixels into equal shares; the last is above all. */
function quantiles(values: Uint8Array, count: number): number[] {
  const histogram = Array.from({ length: 256 }, () => 0);
  for (const value of values) histogram[value] = histogram[value]! + 1;
  const edges = [0];
  let seen = 0;
  for (let value = 0; value < 256; value++) {
    while (edges.length < count && seen >= (values.length * edges.length) / count)
      edges.push(value);
    seen += histogram[value]!;
  }
  while (edges.length < count) edges.push(256);
  return [...edges, 256];
}
