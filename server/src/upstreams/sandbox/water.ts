import type { Outline } from './land.ts';
import { mix } from './palette.ts';
import { lattice } from './random.ts';
import { skyAt } from './sky.ts';
import type { Frame } from './sky.ts';

const TABLE = 512;
const WAVES = 1024;

/** Water mirrors what stands above it, darker with depth, and glitters under the light. */
export function waterPainter(
  frame: Frame,
  lines: Outline[],
): (y: number, row: Float32Array) => void {
  const { scene, width, height, time } = frame;
  const sky = skyTable(frame);
  const deep = mix(scene.palette.near, scene.palette.sky[0], 0.45);
  const light = scene.palette.light;
  const nearest = lines[lines.length - 1];
  const shore = mix(scene.ridges.at(-1)?.top ?? deep, scene.palette.sky[3], 0.25);
  return (y, row) => {
    const depth = (y / height - scene.horizon) / (1 - scene.horizon);
    const wave = Math.floor(240 * Math.sqrt(depth));
    const dark = 0.18 + 0.5 * depth;
    const spread = 1 / (0.02 + 0.22 * depth);
    for (let x = 0, at = 0; x < width; x++, at += 3) {
      const u = (x + 0.5 - width / 2) / height;
      const swell =
        sine(wave * 0.9 + u * (60 - 46 * depth) + time * 1.6) +
        0.7 * sine(wave * 1.7 - u * (34 - 20 * depth) - time * 1.1);
      const mirrored = scene.horizon * (1 - depth * 0.9) + swell * 0.006 * (0.3 + depth);
      const share = Math.min(0.95, dark + 0.07 * swell * depth);
      const onLand = nearest !== undefined && mirrored * height > nearest.top[x]!;
      const from = Math.max(0, Math.min(TABLE - 1, Math.round(mirrored * TABLE))) * 3;
      const off = (u - frame.sunX) * spread;
      const aside = off * off;
      const path = 1 / (1 + aside + aside * aside);
      const sparkle = 0.35 + 0.65 * Math.max(0, swell) * (0.4 + 0.6 * lattice((u * 270) | 0, wave));
      const gleam = Math.min(0.95, path * sparkle * (1 - depth * 0.55));
      for (let c = 0; c < 3; c++) {
        const above = onLand ? shore[c]! : sky[from + c]!;
        const wet = above + (deep[c]! - above) * share;
        row[at + c] = wet + (light[c]! - wet) * gleam;
      }
    }
  };
}

function skyTable({ scene }: Frame): Float32Array {
  const table = new Float32Array(TABLE * 3);
  for (let i = 0; i < TABLE; i++) table.set(skyAt(scene, i / TABLE), i * 3);
  return table;
}

const sines = Float32Array.from({ length: WAVES }, (_, i) => Math.sin((i / WAVES) * 2 * Math.PI));

/** A sine from a table: millions are needed a frame, and none of them exactly. */
function sine(angle: number): number {
  return sines[Math.floor(angle * (WAVES / (2 * Math.PI))) & (WAVES - 1)]!;
}
