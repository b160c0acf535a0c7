import { paintLighthouse } from './lighthouse.ts';
import { outlines } from './land.ts';
import type { Outline } from './land.ts';
import { lattice } from './random.ts';
import type { Ridge, Scene } from './scene.ts';
import { curtainOf, paintSky } from './sky.ts';
import type { Frame } from './sky.ts';
import { waterPainter } from './water.ts';

/** Draws a scene into pixels, row by row, so that memory stays small whatever the size. */

/** Paints row `y` into `row`: red, green, blue of each pixel, 0 to 255, not rounded. */
export type RowPainter = (y: number, row: Float32Array) => void;

/** A painter of one frame, `time` seconds into a film (0 for a still). */
export function painterOf(scene: Scene, width: number, height: number, time = 0): RowPainter {
  const frame: Frame = {
    scene,
    width,
    height,
    time,
    sunX: (scene.sun.x * width) / height / 2,
    sunY: scene.sun.y - 0.004 * time,
    curtain: scene.aurora ? curtainOf(scene, width, height, time) : null,
  };
  const { lines, skyEnd } = outlines(scene.ridges, width, height, frame.sunX, time);
  const shore = scene.water ? scene.horizon * height : height;
  const paintWater = scene.water ? waterPainter(frame, lines) : null;
  return (y, row) => {
    if (paintWater && y >= shore) paintWater(y, row);
    else {
      if (y < skyEnd) paintSky(frame, y, row);
      for (let i = 0; i < lines.length; i++) {
        if (y + 1 > lines[i]!.highest) paintRidge(frame, scene.ridges[i]!, lines[i]!, y, row);
      }
    }
    paintLighthouse(frame, y, row);
    shade(frame, y, row);
  };
}

/** A whole still as packed RGB. */
export function paintStill(scene: Scene, width: number, height: number): Uint8Array {
  const paint = painterOf(scene, width, height);
  const pixels = new Uint8Array(width * height * 3);
  const row = new Float32Array(width * 3);
  for (let y = 0; y < height; y++) {
    paint(y, row);
    const at = y * width * 3;
    for (let i = 0; i < row.length; i++) pixels[at + i] = Math.max(0, Math.min(255, row[i]! + 0.5));
  }
  return pixels;
}

function paintRidge(frame: Frame, ridge: Ridge, line: Outline, y: number, row: Float32Array): void {
  const { height, scene } = frame;
  const fade = Math.max(1, (ridge.height * 0.9 + 0.05) * height);
  const light = scene.palette.light;
  for (let x = 0, at = 0; x < frame.width; x++, at += 3) {
    const below = y + 1 - line.top[x]!;
    if (below <= 0 || y >= line.hidden[x]!) continue;
    const share = Math.min(1, below / fade);
    const facet = facetAt(line, x, below);
    const lit = facet * 0.26 * Math.max(0, 1 - share * 1.15);
    let r = ridge.top[0] + (ridge.bottom[0] - ridge.top[0]) * share;
    let g = ridge.top[1] + (ridge.bottom[1] - ridge.top[1]) * share;
    let b = ridge.top[2] + (ridge.bottom[2] - ridge.top[2]) * share;
    if (lit > 0) {
      r += (light[0] - r) * lit;
      g += (light[1] - g) * lit;
      b += (light[2] - b) * lit;
    } else {
      r *= 1 + lit;
      g *= 1 + lit;
      b *= 1 + lit;
    }
    if (below < line.snow[x]!) {
      const bright = Math.min(0.96, 0.62 + 0.34 * facet);
      r += (light[0] - r) * bright;
      g += (light[1] - g) * bright;
      b += (light[2] - b) * bright;
    }
    if (ridge.windows && windowLit(ridge, line, x, y / height)) {
      r += (scene.palette.accent[0] - r) * 0.75;
      g += (scene.palette.accent[1] - g) * 0.75;
      b += (scene.palette.accent[2] - b) * 0.75;
    }
    const cover = Math.min(1, below);
    row[at] = row[at]! + (r - row[at]!) * cover;
    row[at + 1] = row[at + 1]! + (g - row[at + 1]!) * cover;
    row[at + 2] = row[at + 2]! + (b - row[at + 2]!) * cover;
  }
}

/**
 * Light on a slope: the outline's own, carried down along two slanting ways, as faces of rock
 * catch it.
 */
function facetAt(line: Outline, x: number, below: number): number {
  const last = line.lit.length - 1;
  const left = line.lit[Math.max(0, Math.round(x - below * 0.45))]!;
  const right = line.lit[Math.min(last, Math.round(x + below * 0.8))]!;
  return (left + right) / 2;
}

/** Whether a lit window of its house is at this place. */
function windowLit(ridge: Ridge, line: Outline, x: number, v: number): boolean {
  const across = line.within[x]! * 6;
  const column = Math.floor(across);
  const inside = across - column;
  if (column < 1 || column > 4 || inside < 0.25 || inside > 0.8) return false;
  const down = (v * (52 * ridge.density)) / 9;
  const floor = Math.floor(down);
  const step = down - floor;
  if (step < 0.3 || step > 0.75) return false;
  const house = line.house[x]!;
  const busy = 0.72 - 0.4 * lattice(house, ridge.row + 9);
  return lattice(house * 8 + column, floor + ridge.row) > busy;
}

/** Darker towards the corners. */
function shade(frame: Frame, y: number, row: Float32Array): void {
  const v = (2 * (y + 0.5)) / frame.height - 1;
  for (let x = 0, at = 0; x < frame.width; x++, at += 3) {
    const u = (2 * (x + 0.5)) / frame.width - 1;
    const dim = 1 - 0.1 * (u * u + v * v) * (0.5 + 0.5 * u * u);
    row[at] = row[at]! * dim;
    row[at + 1] = row[at + 1]! * dim;
    row[at + 2] = row[at + 2]! * dim;
  }
}
