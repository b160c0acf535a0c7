import sharp from 'sharp';
import type { Label } from '../drawing/labels.ts';

/**
 * A video frame in the encoder's form: one plane of brightness at full size and two of colour at
 * half size (YUV 4:2:0, BT.709, studio range), one byte per sample. Width and height are even.
 */
export interface Planes {
  width: number;
  height: number;
  y: Uint8Array;
  u: Uint8Array;
  v: Uint8Array;
  /** The three planes in one buffer. */
  whole: Uint8Array;
}

export function newPlanes(width: number, height: number): Planes {
  const area = width * height;
  const whole = new Uint8Array(area * 1.5);
  return {
    width,
    height,
    whole,
    y: whole.subarray(0, area),
    u: whole.subarray(area, area * 1.25),
    v: whole.subarray(area * 1.25),
  };
}

/** Converts packed RGB pixels to planes. */
export function planesOf(pixels: Uint8Array, width: number, height: number): Planes {
  const planes = newPlanes(width, height);
  for (let i = 0, at = 0; i < pixels.length; i += 3, at++) {
    planes.y[at] = 16.5 + 0.1826 * pixels[i]! + 0.6142 * pixels[i + 1]! + 0.062 * pixels[i + 2]!;
  }
  const row = width * 3;
  const mean = (i: number) =>
    (pixels[i]! + pixels[i + 3]! + pixels[i + row]! + pixels[i + row + 3]!) / 4;
  for (let y = 0, at = 0; y < height; y += 2) {
    for (let i = y * row; i < (y + 1) * row; i += 6, at++) {
      const [r, g, b] = [mean(i), mean(i + 1), mean(i + 2)];
      planes.u[at] = 128.5 - 0.1006 * r - 0.3386 * g + 0.4392 * b;
      planes.v[at] = 128.5 + 0.4392 * r - 0.3989 * g - 0.0403 * b;
    }
  }
  return planes;
}

/**
 * The part of an image that a frame shows: turned about the middle (in radians), magnified, and
 * moved (in shares of the size).
 */
export interface View {
  zoom: number;
  turn: number;
  moveX: number;
  moveY: number;
}

/**
 * Fills a frame from an image of any size with bilinear sampling; outside the image its edge pixels
 * are repeated.
 */
export function showView(from: Planes, to: Planes, view: View): void {
  sample(from.y, from.width, from.height, to.y, to.width, to.height, view);
  for (const plane of ['u', 'v'] as const) {
    const [width, height] = [from.width / 2, from.height / 2];
    sample(from[plane], width, height, to[plane], to.width / 2, to.height / 2, view);
  }
}

function sample(
  from: Uint8Array,
  width: number,
  height: number,
  to: Uint8Array,
  toWidth: number,
  toHeight: number,
  view: View,
): void {
  // Whole-number steps of 1/65536 pixel keep the inner loop free of floating point.
  const one = 65536;
  const scaleX = width / toWidth / view.zoom;
  const scaleY = height / toHeight / view.zoom;
  const cos = Math.cos(view.turn);
  const sin = Math.sin(view.turn);
  const stepX = Math.round(cos * scaleX * one);
  const stepY = Math.round(sin * scaleY * one);
  const dx = 0.5 - toWidth / 2;
  for (let y = 0, at = 0; y < toHeight; y++) {
    const dy = y + 0.5 - toHeight / 2;
    const x0 = width * (0.5 + view.moveX) + (cos * dx - sin * dy) * scaleX - 0.5;
    const y0 = height * (0.5 + view.moveY) + (sin * dx + cos * dy) * scaleY - 0.5;
    let px = Math.round(x0 * one);
    let py = Math.round(y0 * one);
    for (let x = 0; x < toWidth; x++, at++, px += stepX, py += stepY) {
      const ix = Math.max(0, Math.min(width - 1, px >> 16));
      const iy = Math.max(0, Math.min(height - 1, py >> 16));
      const fx = (px >> 8) & 255;
      const fy = (py >> 8) & 255;
      const i = iy * width + ix;
      const right = ix < width - 1 ? i + 1 : i;
      const down = iy < height - 1 ? width : 0;
      const top = from[i]! * (256 - fx) + from[right]! * fx;
      const low = from[i + down]! * (256 - fx) + from[right + down]! * fx;
      to[at] = (top * (256 - fy) + low * fy + 32768) >> 16;
    }
  }
}

/** Blends `share` of the frame `from` into `to`; a share of 0 changes nothing. */
export function crossFade(to: Planes, from: Planes, share: number): void {
  const weight = Math.round(share * 256);
  const [a, b] = [to.whole, from.whole];
  for (let i = 0; i < a.length; i++) a[i] = a[i]! + (((b[i]! - a[i]!) * weight) >> 8);
}

/** A label in pixels, ready to be drawn over every frame. */
export interface Overlay extends Omit<Label, 'svg'> {
  rgba: Uint8Array;
}

export async function overlayOf({ svg, ...place }: Label): Promise<Overlay> {
  return { ...place, rgba: await sharp(Buffer.from(svg)).ensureAlpha().raw().toBuffer() };
}

/**
 * Draws a label. Labels are black, white and grey, so only brightness has a value; colour is
 * neutral.
 */
export function layOver({ y: luma, u, v, width }: Planes, overlay: Overlay): void {
  for (let row = 0, i = 0; row < overlay.height; row++) {
    for (let column = 0; column < overlay.width; column++, i += 4) {
      const alpha = overlay.rgba[i + 3]! / 255;
      if (alpha === 0) continue;
      const [x, y] = [overlay.left + column, overlay.top + row];
      const at = y * width + x;
      luma[at] = luma[at]! + (16 + overlay.rgba[i]! * 0.859 - luma[at]!) * alpha;
      if (x % 2 === 1 || y % 2 === 1) continue;
      const half = (y / 2) * (width / 2) + x / 2;
      u[half] = u[half]! + (128 - u[half]!) * alpha;
      v[half] = v[half]! + (128 - v[half]!) * alpha;
    }
  }
}
