import { glyphOf } from './glyphs.ts';

/** Text laid out as strokes, and strokes laid down as coverage. Sizes are in pixels. */

/** Ends of a straight stroke: x0, y0, x1, y1. */
type Stroke = [number, number, number, number];

/** Coverage of a rectangle, 0 to 255 a pixel. */
export interface Mask {
  width: number;
  height: number;
  alpha: Uint8Array;
}

const CAP = 7;
const GAP = 1.7;
const CURVE_STEPS = 6;

/** Capitals without accents: what the stroke alphabet can write. */
export function writable(text: string): string {
  const plain = text.normalize('NFD').replace(/\p{M}/gu, '').toUpperCase();
  return plain.replace(/\s+/g, ' ').trim();
}

/** Width of one line whose capitals are `size` high. */
export function lineWidth(text: string, size: number): number {
  let units = 0;
  for (const char of text) units += glyphOf(char)[0] + GAP;
  return Math.max(0, units - GAP) * (size / CAP);
}

/**
 * Breaks a text into at most `most` lines no wider than `width`; what does not fit ends in an
 * ellipsis.
 */
export function wrap(text: string, size: number, width: number, most: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of writable(text).split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (lineWidth(longer, size) <= width) {
      line = longer;
      continue;
    }
    if (lines.length === most - 1) return [...lines, shorten(longer, size, width)];
    if (line !== '') lines.push(line);
    line = lineWidth(word, size) > width ? shorten(word, size, width) : word;
  }
  return line === '' ? lines : [...lines, line];
}

/** One SVG path for a line of text whose first capital's top left corner is (x, y). */
export function linePath(text: string, size: number, x: number, y: number): string {
  const scale = size / CAP;
  let path = '';
  for (const char of text) {
    const [width, glyph] = glyphOf(char);
    path += glyph.replace(
      /([MLC ])(-?[\d.]+) (-?[\d.]+)/g,
      (_, sign: string, a: string, b: string) =>
        `${sign}${near(x + Number(a) * scale)} ${near(y + Number(b) * scale)}`,
    );
    x += (width + GAP) * scale;
  }
  return path;
}

/**
 * Draws lines of text one below the other into a mask of the given size; (x, y) is the first
 * capital's corner.
 */
export function letterMask(
  lines: { text: string; x: number; y: number; size: number; weight: number }[],
  width: number,
  height: number,
): Mask {
  const mask: Mask = { width, height, alpha: new Uint8Array(width * height) };
  for (const line of lines) {
    const half = Math.max(0.6, (line.size * line.weight) / 2);
    for (const stroke of strokesOf(line.text, line.size, line.x, line.y)) lay(mask, stroke, half);
  }
  return mask;
}

/** Looks no further than the width reaches: a prompt without spaces is one word of any length. */
function shorten(text: string, size: number, width: number): string {
  const ellipsis = glyphOf('…')[0];
  let units = 0;
  let kept = '';
  for (const char of text) {
    units += glyphOf(char)[0] + GAP;
    if (kept !== '' && (units + ellipsis) * (size / CAP) > width) break;
    kept += char;
  }
  return `${kept.trimEnd()}…`;
}

function strokesOf(text: string, size: number, x: number, y: number): Stroke[] {
  const strokes: Stroke[] = [];
  const scale = size / CAP;
  for (const char of text) {
    const [width, path] = glyphOf(char);
    let from: [number, number] = [0, 0];
    for (const [, sign, rest] of path.matchAll(/([MLC])([^MLC]*)/g)) {
      const n = rest!.split(' ').map(Number) as number[];
      const points = sign === 'C' ? curve(from, n) : [[n[0]!, n[1]!] as [number, number]];
      for (const to of points) {
        if (sign !== 'M') {
          strokes.push([
            x + from[0] * scale,
            y + from[1] * scale,
            x + to[0] * scale,
            y + to[1] * scale,
          ]);
        }
        from = to;
      }
    }
    x += (width + GAP) * scale;
  }
  return strokes;
}

function curve(from: [number, number], n: number[]): [number, number][] {
  const points: [number, number][] = [];
  for (let i = 1; i <= CURVE_STEPS; i++) {
    const t = i / CURVE_STEPS;
    const s = 1 - t;
    const [a, b, c, d] = [s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t];
    points.push([
      a * from[0] + b * n[0]! + c * n[2]! + d * n[4]!,
      a * from[1] + b * n[1]! + c * n[3]! + d * n[5]!,
    ]);
  }
  return points;
}

/**
 * Lays one round-ended stroke into the mask: a pixel's coverage follows from its distance to the
 * line.
 */
function lay(mask: Mask, [x0, y0, x1, y1]: Stroke, half: number): void {
  const reach = half + 1;
  const left = Math.max(0, Math.floor(Math.min(x0, x1) - reach));
  const right = Math.min(mask.width - 1, Math.ceil(Math.max(x0, x1) + reach));
  const top = Math.max(0, Math.floor(Math.min(y0, y1) - reach));
  const bottom = Math.min(mask.height - 1, Math.ceil(Math.max(y0, y1) + reach));
  const dx = x1 - x0;
  const dy = y1 - y0;
  const length2 = dx * dx + dy * dy || 1;
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const px = x + 0.5 - x0;
      const py = y + 0.5 - y0;
      const along = Math.min(1, Math.max(0, (px * dx + py * dy) / length2));
      const distance = Math.hypot(px - along * dx, py - along * dy);
      const cover = Math.min(1, half + 0.5 - distance);
      const at = y * mask.width + x;
      if (cover > 0 && cover * 255 > mask.alpha[at]!) mask.alpha[at] = cover * 255;
    }
  }
}

function near(value: number): number {
  return Math.round(value * 100) / 100;
}
