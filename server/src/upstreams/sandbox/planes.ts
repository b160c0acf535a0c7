import type { Overlay } from './label.ts';

/**
 * Film frames as the encoder takes them: one plane of brightness at full size and two of colour
 * at half size (YUV 4:2:0, BT.709, studio range), one byte a sample.
 */
export interface Planes {
  width: number;
  height: number;
  y: Uint8Array;
  u: Uint8Array;
  v: Uint8Array;
}

export interface Plane {
  width: number;
  height: number;
  data: Uint8Array;
}

/** One buffer whose three parts are the planes; `whole` is what goes to the encoder. */
export function newPlanes(width: number, height: number): Planes & { whole: Uint8Array } {
  const area = width * height;
  const whole = new Uint8Array((area * 3) / 2);
  return {
    width,
    height,
    whole,
    y: whole.subarray(0, area),
    u: whole.subarray(area, area * 1.25),
    v: whole.subarray(area * 1.25),
  };
}

/** Two rows of red, green, blue (0 to 255) into rows `y` and `y + 1`; `y` is even. */
export function storeRows(to: Planes, y: number, above: Float32Array, below: Float32Array): void {
  const { width } = to;
  storeLuma(to, y, above);
  storeLuma(to, y + 1, below);
  const half = width >> 1;
  let at = (y >> 1) * half;
  for (let x = 0; x < half; x++, at++) {
    const i = x * 6;
    const r = (above[i]! + above[i + 3]! + below[i]! + below[i + 3]!) / 4;
    const g = (above[i + 1]! + above[i + 4]! + below[i + 1]! + below[i + 4]!) / 4;
    const b = (above[i + 2]! + above[i + 5]! + below[i + 2]! + below[i + 5]!) / 4;
    to.u[at] = 128.5 - 0.1006 * r - 0.3386 * g + 0.4392 * b;
    to.v[at] = 128.5 + 0.4392 * r - 0.3989 * g - 0.0403 * b;
  }
}

/** Packed RGB pixels into planes of the same, even, size. */
export function planesOf(pixels: Uint8Array, width: number, height: number): Planes {
  const planes = newPlanes(width, height);
  const above = new Float32Array(width * 3);
  const below = new Float32Array(width * 3);
  for (let y = 0; y < height; y += 2) {
    above.set(pixels.subarray(y * width * 3, (y + 1) * width * 3));
    below.set(pixels.subarray((y + 1) * width * 3, (y + 2) * width * 3));
    storeRows(planes, y, above, below);
  }
  return planes;
}

/**
 * How a frame looks at a picture: turned about its middle, magnified, and moved by shares of its
 * size.
 */
export interface View {
  zoom: number;
  turn: number;
  moveX: number;
  moveY: number;
}

/** Fills a frame from a picture of any size, bilinear; outside the picture its edge goes on. */
export function look(from: Planes, to: Planes, view: View): void {
  sample(plane(from.y, from, 1), plane(to.y, to, 1), view);
  sample(plane(from.u, from, 2), plane(to.u, to, 2), view);
  sample(plane(from.v, from, 2), plane(to.v, to, 2), view);
}

function plane(data: Uint8Array, of: Planes, part: number): Plane {
  return { width: of.width / part, height: of.height / part, data };
}

function sample(from: Plane, to: Plane, view: View): void {
  // Whole-number steps of 1/65536 pixel keep the inner loop free of floating point.
  const one = 65536;
  const scaleX = from.width / to.width / view.zoom;
  const scaleY = from.height / to.height / view.zoom;
  const cos = Math.cos(view.turn);
  const sin = Math.sin(view.turn);
  const stepX = Math.round(cos * scaleX * one);
  const stepY = Math.round(sin * scaleY * one);
  const lastX = from.width - 1;
  const lastY = from.height - 1;
  const { data, width } = from;
  for (let y = 0, at = 0; y < to.height; y++) {
    const dx = 0.5 - to.width / 2;
    const dy = y + 0.5 - to.height / 2;
    const x0 = from.width * (0.5 + view.moveX) + (cos * dx - sin * dy) * scaleX - 0.5;
    const y0 = from.height * (0.5 + view.moveY) + (sin * dx + cos * dy) * scaleY - 0.5;
    let px = Math.round(x0 * one);
    let py = Math.round(y0 * one);
    for (let x = 0; x < to.width; x++, at++, px += stepX, py += stepY) {
      let ix = px >> 16;
      let iy = py >> 16;
      let fx = (px >> 8) & 255;
      let fy = (py >> 8) & 255;
      if (ix < 0) {
        ix = 0;
        fx = 0;
      } else if (ix >= lastX) {
        ix = lastX;
        fx = 0;
      }
      if (iy < 0) {
        iy = 0;
        fy = 0;
      } else if (iy >= lastY) {
        iy = lastY;
        fy = 0;
      }
      const i = iy * width + ix;
      const right = fx === 0 ? i : i + 1;
      const down = fy === 0 ? 0 : width;
      const top = data[i]! * (256 - fx) + data[right]! * fx;
      const low = data[i + down]! * (256 - fx) + data[right + down]! * fx;
      to.data[at] = (top * (256 - fy) + low * fy + 32768) >> 16;
    }
  }
}

/** A label turned into planes once, to be laid over every frame. */
export interface PlanesOverlay {
  left: number;
  top: number;
  width: number;
  height: number;
  luma: Uint8Array;
  alpha: Uint8Array;
  /** At half size; the colour is always neutral, so its strength is all there is. */
  alphaHalf: Uint8Array;
}

/**
 * Labels are black, white and grey, which in planes is brightness only. Places are rounded to
 * even.
 */
export function overlayPlanes(overlay: Overlay): PlanesOverlay {
  const left = overlay.left & ~1;
  const top = overlay.top & ~1;
  const width = overlay.width & ~1;
  const height = overlay.height & ~1;
  const made: PlanesOverlay = {
    left,
    top,
    width,
    height,
    luma: new Uint8Array(width * height),
    alpha: new Uint8Array(width * height),
    alphaHalf: new Uint8Array((width * height) / 4),
  };
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const from = (y * overlay.width + x) * 4;
      const alpha = overlay.rgba[from + 3]!;
      made.luma[y * width + x] = 16 + (overlay.rgba[from]! * 219) / 255;
      made.alpha[y * width + x] = alpha;
      if ((x & 1) === 0 && (y & 1) === 0)
        made.alphaHalf[(y >> 1) * (width >> 1) + (x >> 1)] = alpha;
    }
  }
  return made;
}

export function layOverPlanes(planes: Planes, overlay: PlanesOverlay): void {
  for (let y = 0, from = 0; y < overlay.height; y++) {
    let to = (overlay.top + y) * planes.width + overlay.left;
    for (let x = 0; x < overlay.width; x++, from++, to++) {
      const alpha = overlay.alpha[from]!;
      if (alpha !== 0) {
        planes.y[to] = planes.y[to]! + ((overlay.luma[from]! - planes.y[to]!) * alpha) / 255;
      }
    }
  }
  const half = overlay.width >> 1;
  for (let y = 0, from = 0; y < overlay.height >> 1; y++) {
    let to = ((overlay.top >> 1) + y) * (planes.width >> 1) + (overlay.left >> 1);
    for (let x = 0; x < half; x++, from++, to++) {
      const alpha = overlay.alphaHalf[from]!;
      if (alpha === 0) continue;
      planes.u[to] = planes.u[to]! + ((128 - planes.u[to]!) * alpha) / 255;
      planes.v[to] = planes.v[to]! + ((128 - planes.v[to]!) * alpha) / 255;
    }
  }
}

function storeLuma(to: Planes, y: number, row: Float32Array): void {
  let at = y * to.width;
  for (let i = 0; i < row.length; i += 3, at++) {
    to.y[at] = 16.5 + 0.1826 * row[i]! + 0.6142 * row[i + 1]! + 0.062 * row[i + 2]!;
  }
}
