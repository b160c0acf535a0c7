import type { Rgb } from './palette.ts';
import { mix } from './palette.ts';
import type { Frame } from './sky.ts';

/**
 * A lighthouse on its rock, for prompts that ask for one. All lengths are shares of its height,
 * measured from the lantern's light: x to the right, y downwards.
 */

const BANDS = 5;
const TOWER_TOP = 0.07;
const TOWER_FOOT = 0.86;
const ROCK_FOOT = 1.06;
/** Beyond it the lantern's glow is less than a shade. */
const GLOW_REACH = 0.25;

/** One row of it: how far from the left each pixel stands, and at what height. */
interface Line {
  row: Float32Array;
  v: number;
  /** Of a column's middle. */
  uAt: (x: number) => number;
  /** Columns, from and to, that are no farther than that from the lantern's axis. */
  near: (reach: number) => [number, number];
}

/** Paints what one row shows of it. */
export function paintLighthouse(frame: Frame, y: number, row: Float32Array): void {
  const { scene, width, height } = frame;
  const house = scene.lighthouse;
  if (!house) return;
  const middle = (house.x * width) / 2 + width / 2 - 0.5;
  const size = house.size * height;
  const line: Line = {
    row,
    v: ((y + 0.5) / height - house.y) / house.size,
    uAt: (x) => (x - middle) / size,
    near: (reach) => [
      Math.max(0, Math.floor(middle - reach * size)),
      Math.min(width, Math.ceil(middle + reach * size) + 1),
    ],
  };
  paintBeams(frame, line);
  paintSolid(frame, line, 0.7 / size, frame.sunX > (house.x * width) / height / 2);
  paintGlow(frame, line);
}

/** Two beams, one to each side: seen from afar they sweep in and out as the lantern turns. */
function paintBeams({ scene, width, time }: Frame, { row, v, uAt }: Line): void {
  const strength = 0.5 * Math.abs(Math.cos(0.5 + time * 0.9));
  for (let x = 0; x < width; x++) {
    const u = uAt(x);
    const side = Math.abs(u);
    const aside = Math.abs(v + 0.06 * side) / (0.03 + 0.1 * side);
    if (aside >= 1) continue;
    const far = Math.sqrt(u * u + v * v);
    if (far < 0.02) continue;
    const share = ((1 - aside * aside) * strength) / (1 + far * 1.3);
    blend(row, x * 3, scene.palette.light, share);
  }
}

/** Stone, lantern and rock; the side away from the sun lies in shade. */
function paintSolid({ scene }: Frame, line: Line, edge: number, sunIsRight: boolean): void {
  const { row, v, uAt, near } = line;
  const part = partAt(v, scene.palette);
  if (!part) return;
  const [from, to] = near(part.reach + edge);
  for (let x = from; x < to; x++) {
    const u = uAt(x);
    const inside = (half: number) =>
      Math.max(0, Math.min(1, (half - Math.abs(u - part.middle)) / edge + 0.5));
    const cover = part.cover(inside, u);
    if (cover <= 0) continue;
    const away = u < 0 === sunIsRight;
    const shade = away ? 0.72 + 0.28 * Math.max(0, 1 - Math.abs(u) * 12) : 1;
    const [r, g, b] = part.colour;
    blend(row, x * 3, [r * shade, g * shade, b * shade], cover);
  }
}

/** What stands at one height. */
interface Part {
  colour: Rgb;
  /** Nothing of it is farther from the axis. */
  reach: number;
  middle: number;
  /** `inside` tells how much of a pixel is within so much of the middle. */
  cover: (inside: (half: number) => number, u: number) => number;
}

/** From the top: the roof, the lantern room, the gallery, the tower, the rock. */
function partAt(v: number, palette: Frame['scene']['palette']): Part | null {
  if (v < -0.12 || v > ROCK_FOOT) return null;
  const dark = mix(palette.near, [0, 0, 0], 0.25);
  const band = mix([196, 52, 44], palette.near, 0.22);
  const block = (colour: Rgb, half: number): Part => ({
    colour,
    reach: half,
    middle: 0,
    cover: (inside) => inside(half),
  });
  if (v < -0.04) return block(band, 0.052 * ((v + 0.12) / 0.08));
  if (v < TOWER_TOP - 0.02)
    return {
      ...block(dark, 0.036),
      cover: (inside) => inside(0.036) - inside(0.026) + inside(0.003),
    };
  if (v < TOWER_TOP) return block(dark, 0.066);
  if (v < TOWER_FOOT) {
    const down = (v - TOWER_TOP) / (TOWER_FOOT - TOWER_TOP);
    const striped = Math.floor(down * BANDS) % 2 === 1;
    const pale = mix(palette.light, palette.sky[2], 0.12);
    return block(striped ? band : pale, 0.046 + 0.036 * down);
  }
  const slope = 1.15 * Math.sqrt((v - TOWER_FOOT) / (ROCK_FOOT - TOWER_FOOT));
  const half = (u: number) => 0.42 * (0.16 + slope * (1 + 0.12 * Math.sin(u * 21)));
  return {
    colour: dark,
    reach: 0.06 + 0.42 * (0.16 + slope * 1.12),
    middle: 0.06,
    cover: (inside, u) => inside(half(u)),
  };
}

function paintGlow({ scene }: Frame, { row, v, uAt, near }: Line): void {
  if (Math.abs(v) > GLOW_REACH) return;
  const [from, to] = near(GLOW_REACH);
  for (let x = from; x < to; x++) {
    const u = uAt(x);
    const glow = 1 / (1 + (u * u + v * v) * 900);
    blend(row, x * 3, scene.palette.light, glow * glow);
  }
}

function blend(row: Float32Array, at: number, colour: Rgb, share: number): void {
  row[at] = row[at]! + (colour[0] - row[at]!) * share;
  row[at + 1] = row[at + 1]! + (colour[1] - row[at + 1]!) * share;
  row[at + 2] = row[at + 2]! + (colour[2] - row[at + 2]!) * share;
}
