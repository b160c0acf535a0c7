import type { Rgb } from './palette.ts';
import { mix } from './palette.ts';
import type { Frame } from './sky.ts';

/**
 * A lighthouse on its rock, for prompts that ask for one. All lengths are shares of its height,
 * measured from the lantern's light: x to the right, y downwards.
 */

const BANDS = 5;
const TOWER_TOP = 0.07;
const BEAMS = 2;

/** Paints what one row shows of it. `light` is where its lantern stands, in picture heights. */
export function paintLighthouse(frame: Frame, y: number, row: Float32Array): void {
  const { scene, width, height, time } = frame;
  const house = scene.lighthouse;
  if (!house) return;
  const v = ((y + 0.5) / height - house.y) / house.size;
  const dark = mix(scene.palette.near, [0, 0, 0], 0.25);
  const pale = mix(scene.palette.light, scene.palette.sky[2], 0.12);
  const band = mix([196, 52, 44], scene.palette.near, 0.22);
  const turn = 0.5 + time * 0.9;
  for (let x = 0; x < width; x++) {
    const across = (x + 0.5 - width / 2) / height - (house.x * width) / height / 2;
    const u = across / house.size;
    const edge = 0.7 / height / house.size;
    const beam = beamAt(u, v, turn);
    if (beam > 0) blend(row, x * 3, scene.palette.light, beam);
    const [colour, cover] = solidAt(u, v, edge, { dark, pale, band });
    if (cover > 0) {
      // The side away from the sun lies in shade.
      const away = across < 0 === frame.sunX > (house.x * width) / height / 2;
      const shade = away ? 0.72 + 0.28 * Math.max(0, 1 - Math.abs(u) * 12) : 1;
      blend(row, x * 3, [colour[0] * shade, colour[1] * shade, colour[2] * shade], cover);
    }
    const glow = 1 / (1 + (u * u + v * v) * 900);
    blend(row, x * 3, scene.palette.light, glow * glow);
  }
}

/** Strength of the turning beams, 0 to 1. */
function beamAt(u: number, v: number, turn: number): number {
  const far = Math.hypot(u, v);
  if (far < 0.02) return 0;
  let most = 0;
  for (let i = 0; i < BEAMS; i++) {
    // Seen from afar a beam that turns about the tower sweeps from side to side.
    const reach = Math.cos(turn + (i * 2 * Math.PI) / BEAMS);
    if (u * reach <= 0) continue;
    const aside = Math.abs(v + 0.06 * Math.abs(u)) / (0.03 + 0.1 * Math.abs(u));
    const fade = Math.abs(reach) / (1 + far * 1.3);
    most = Math.max(most, aside < 1 ? (1 - aside * aside) * fade * 0.5 : 0);
  }
  return most;
}

/** Colour and coverage of stone, lantern and rock at a place. */
function solidAt(
  u: number,
  v: number,
  edge: number,
  { dark, pale, band }: { dark: Rgb; pale: Rgb; band: Rgb },
): [Rgb, number] {
  const within = (half: number): number =>
    Math.max(0, Math.min(1, (half - Math.abs(u)) / edge + 0.5));
  if (v < -0.12) return [dark, 0];
  // The roof, the lantern room, the gallery, the tower, the rock.
  if (v < -0.04) return [band, within(0.052 * ((v + 0.12) / 0.08))];
  if (v < TOWER_TOP - 0.02) return [dark, within(0.036) - within(0.026) + within(0.003)];
  if (v < TOWER_TOP) return [dark, within(0.066)];
  if (v < 0.86) {
    const down = (v - TOWER_TOP) / (0.86 - TOWER_TOP);
    const striped = Math.floor(down * BANDS) % 2 === 1;
    return [striped ? band : pale, within(0.046 + 0.036 * down)];
  }
  if (v > 1.06) return [dark, 0];
  const rock = 0.16 + 1.15 * Math.sqrt((v - 0.86) / 0.2) * (1 + 0.12 * Math.sin(u * 21));
  return [dark, Math.max(0, Math.min(1, (rock * 0.42 - Math.abs(u - 0.06)) / edge + 0.5))];
}

function blend(row: Float32Array, at: number, colour: Rgb, share: number): void {
  row[at] = row[at]! + (colour[0] - row[at]!) * share;
  row[at + 1] = row[at + 1]! + (colour[1] - row[at + 1]!) * share;
  row[at + 2] = row[at + 2]! + (colour[2] - row[at + 2]!) * share;
}
