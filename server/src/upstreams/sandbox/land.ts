import { fractal, lattice, noise } from './random.ts';
import type { Ridge } from './scene.ts';

/** The outline of a line of land, column by column. */
export interface Outline {
  /** y of the land's edge, in pixels. */
  top: Float32Array;
  /** How the slope stands to the light, -1 (away) to 1 (towards it). */
  lit: Float32Array;
  /** How far the snow reaches down from the edge, in pixels. */
  snow: Float32Array;
  /** For rows of houses: which house this column belongs to, and how far into it, 0 to 1. */
  house: Int32Array;
  within: Float32Array;
  /** The highest point: rows above it have nothing of this ridge. */
  highest: number;
  /** From this y on a nearer ridge covers the column whole. */
  hidden: Float32Array;
}

/**
 * Outlines of all land, each knowing what nearer land hides of it; and the y from which no sky is
 * seen.
 */
export function outlines(
  ridges: Ridge[],
  width: number,
  height: number,
  sunX: number,
  time: number,
) {
  const lines = ridges.map((ridge) => outline(ridge, width, height, sunX, time));
  const hidden = new Float32Array(width).fill(height);
  for (const line of lines.toReversed()) {
    line.hidden.set(hidden);
    for (let x = 0; x < width; x++) hidden[x] = Math.min(hidden[x]!, Math.ceil(line.top[x]!));
  }
  let skyEnd = 0;
  for (const y of hidden) skyEnd = Math.max(skyEnd, y);
  return { lines, skyEnd };
}

/** Edge of a ridge at x (in picture heights), as a y between 0 and 1. */
export function edgeAt(ridge: Ridge, x: number): number {
  return ridge.base - ridge.height * rise(ridge, x + ridge.offset);
}

/**
 * Outlines a ridge `time` seconds into a film. `sunX` is where the light stands, in picture
 * heights.
 */
function outline(ridge: Ridge, width: number, height: number, sunX: number, time: number): Outline {
  const made: Outline = {
    top: new Float32Array(width),
    lit: new Float32Array(width),
    snow: new Float32Array(width),
    house: new Int32Array(width),
    within: new Float32Array(width),
    highest: height,
    hidden: new Float32Array(width),
  };
  const moved = ridge.drift * time;
  const step = 1.5 / height;
  for (let column = 0; column < width; column++) {
    const x = (column + 0.5 - width / 2) / height + moved;
    const y = edgeAt(ridge, x) * height;
    made.top[column] = y;
    if (y < made.highest) made.highest = y;
    if (ridge.shape === 'blocks') markHouse(ridge, x, column, made);
    else if (ridge.shape !== 'trees') {
      const slope = (edgeAt(ridge, x + step) - edgeAt(ridge, x - step)) / (2 * step);
      const towards = x - moved < sunX ? -1 : 1;
      made.lit[column] = Math.max(-1, Math.min(1, slope * towards * 1.2));
    }
    if (ridge.snow > 0) made.snow[column] = snowDepth(ridge, x, y / height) * height;
  }
  return made;
}

/** The outline's height at x, as a share of the ridge's height. */
function rise(ridge: Ridge, x: number): number {
  const at = x * ridge.density;
  if (ridge.shape === 'soft') {
    return 0.2 + 0.8 * (0.72 * noise(at, ridge.row) + 0.28 * noise(at * 2.3, ridge.row + 7));
  }
  if (ridge.shape === 'blocks') return houseHeight(ridge, Math.floor(at));
  if (ridge.shape === 'trees') return 0.35 * noise(at, ridge.row) + treesAt(ridge, x);
  const folded = 1 - Math.abs(2 * noise(at * 1.4, ridge.row) - 1);
  const rough = 0.74 * folded + 0.26 * fractal(at * 4, ridge.row + 3, 4);
  return 0.1 + 0.9 * rough * (0.35 + 0.65 * noise(at * 0.8, ridge.row + 5));
}

function houseHeight(ridge: Ridge, house: number): number {
  const tall = lattice(house, ridge.row) ** 2;
  const district = noise(house * 0.13, ridge.row + 3);
  return 0.25 + tall * 0.55 * (0.3 + district) + district * 0.35;
}

/** Conifers: triangles with jagged sides, in two overlapping rows. */
function treesAt(ridge: Ridge, x: number): number {
  let best = 0;
  for (let row = 0; row < 2; row++) {
    const at = x * 17 + row * 0.5;
    const cell = Math.floor(at);
    for (let near = cell - 1; near <= cell + 1; near++) {
      const size = lattice(near, ridge.row + row * 31);
      const tree = 0.16 + 0.5 * size ** 3 + 0.12 * lattice(near, ridge.row + 77);
      const middle = near + 0.25 + 0.5 * lattice(near, ridge.row + row * 17 + 1);
      const aside = Math.abs(at - middle) / (0.28 + tree * 0.75);
      if (aside >= 1) continue;
      // Boughs: the side of a tree is a saw, not a straight line.
      const bough = 0.22 * (1 - aside) * ((aside * 4.5) % 1);
      best = Math.max(best, tree * ((1 - aside) ** 1.15 + bough));
    }
  }
  return best;
}

function snowDepth(ridge: Ridge, x: number, y: number): number {
  const aboveLine = ridge.base - ridge.height * 0.42 - y;
  if (aboveLine <= 0) return 0;
  const ragged = 0.35 + 1.1 * fractal((x + ridge.offset) * 14, ridge.row + 40, 3);
  return Math.min(aboveLine, ridge.height * ridge.snow) * ragged;
}

function markHouse(ridge: Ridge, x: number, column: number, made: Outline): void {
  const at = (x + ridge.offset) * ridge.density;
  made.house[column] = Math.floor(at);
  made.within[column] = at - Math.floor(at);
}
