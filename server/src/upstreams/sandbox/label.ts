import { letterMask, lineWidth, writable, wrap } from './lettering.ts';

/** What stands on every picture and film frame: the word "sandbox", and the prompt. */

/** A piece to lay over a picture: straight RGBA at a place. */
export interface Overlay {
  left: number;
  top: number;
  width: number;
  height: number;
  rgba: Uint8Array;
}

/** Text placed on a picture; the vector task draws the same places as paths. */
export interface LabelPlan {
  size: number;
  weight: number;
  badge: {
    text: string;
    left: number;
    top: number;
    width: number;
    height: number;
    x: number;
    y: number;
  };
  caption: { lines: { text: string; x: number; y: number }[]; top: number };
}

const WEIGHT = 0.14;
const LINE = 1.75;

/**
 * Where the labels of a picture stand. `note` is what was done, such as `edit`; it may be empty.
 */
export function planLabels(width: number, height: number, note: string, text: string): LabelPlan {
  const size = Math.max(7, Math.round(Math.min(width, height * 1.5) * 0.0215));
  const room = width - 3.4 * size;
  const long = writable(note === '' ? 'SANDBOX' : `SANDBOX · ${note}`);
  const badgeText = lineWidth(long, size) <= room ? long : 'SANDBOX';
  const lines = text === '' || height < 12 * size ? [] : wrap(text, size, width - 3 * size, 2);
  const firstLine = height - 1.6 * size - (lines.length - 1) * LINE * size - size;
  return {
    size,
    weight: WEIGHT,
    badge: {
      text: badgeText,
      left: Math.round(size * 0.9),
      top: Math.round(size * 0.9),
      width: Math.min(width, Math.ceil(lineWidth(badgeText, size) + 1.8 * size)),
      height: Math.min(height, Math.ceil(2.3 * size)),
      x: Math.round(size * 0.9) + 0.9 * size,
      y: Math.round(size * 0.9) + 0.65 * size,
    },
    caption: {
      lines: lines.map((line, i) => ({
        text: line,
        x: 1.5 * size,
        y: firstLine + i * LINE * size,
      })),
      top: Math.max(0, Math.floor(firstLine - 4 * size)),
    },
  };
}

/** The labels as pictures to lay over. */
export function drawLabels(width: number, height: number, note: string, text: string): Overlay[] {
  const plan = planLabels(width, height, note, text);
  const overlays = [drawBadge(plan, width, height)];
  if (plan.caption.lines.length > 0) overlays.push(drawCaption(plan, width, height));
  return overlays;
}

/** Lays an overlay onto packed RGB, in place. */
export function layOver(pixels: Uint8Array, width: number, overlay: Overlay): void {
  for (let y = 0; y < overlay.height; y++) {
    let from = y * overlay.width * 4;
    let to = ((overlay.top + y) * width + overlay.left) * 3;
    for (let x = 0; x < overlay.width; x++, from += 4, to += 3) {
      const share = overlay.rgba[from + 3]!;
      if (share === 0) continue;
      for (let c = 0; c < 3; c++) {
        pixels[to + c] =
          pixels[to + c]! + ((overlay.rgba[from + c]! - pixels[to + c]!) * share) / 255;
      }
    }
  }
}

function drawBadge(plan: LabelPlan, width: number, height: number): Overlay {
  const { badge, size } = plan;
  const piece = emptyPiece(badge.left, badge.top, badge.width, badge.height, width, height);
  const letters = letterMask(
    [
      {
        text: badge.text,
        x: badge.x - piece.left,
        y: badge.y - piece.top,
        size,
        weight: plan.weight,
      },
    ],
    piece.width,
    piece.height,
  );
  const radius = piece.height / 2;
  for (let y = 0; y < piece.height; y++) {
    for (let x = 0; x < piece.width; x++) {
      const nearX = Math.max(radius, Math.min(piece.width - radius, x + 0.5));
      const out = Math.hypot(x + 0.5 - nearX, y + 0.5 - radius) - radius;
      const pill = Math.max(0, Math.min(1, 0.5 - out)) * 0.5;
      setInk(piece, x, y, pill, letters.alpha[y * piece.width + x]! / 255);
    }
  }
  return piece;
}

function drawCaption(plan: LabelPlan, width: number, height: number): Overlay {
  const { caption, size } = plan;
  const piece = emptyPiece(0, caption.top, width, height - caption.top, width, height);
  const letters = letterMask(
    caption.lines.map(({ text, x, y }) => ({
      text,
      x,
      y: y - piece.top,
      size,
      weight: plan.weight,
    })),
    piece.width,
    piece.height,
  );
  for (let y = 0; y < piece.height; y++) {
    const dark = 0.62 * (y / piece.height) ** 1.3;
    for (let x = 0; x < width; x++) setInk(piece, x, y, dark, letters.alpha[y * width + x]! / 255);
  }
  return piece;
}

function emptyPiece(
  left: number,
  top: number,
  wide: number,
  high: number,
  width: number,
  height: number,
): Overlay {
  const at = {
    left: Math.min(left, Math.max(0, width - wide)),
    top: Math.min(top, Math.max(0, height - high)),
  };
  const size = { width: Math.min(wide, width - at.left), height: Math.min(high, height - at.top) };
  return { ...at, ...size, rgba: new Uint8Array(size.width * size.height * 4) };
}

/** White letters on a dark ground, both see-through. */
function setInk(piece: Overlay, x: number, y: number, ground: number, letter: number): void {
  const at = (y * piece.width + x) * 4;
  const alpha = letter + ground * (1 - letter);
  const white = alpha === 0 ? 0 : (letter / alpha) * 255;
  piece.rgba[at] = white;
  piece.rgba[at + 1] = white;
  piece.rgba[at + 2] = white;
  piece.rgba[at + 3] = Math.round(alpha * 255);
}
