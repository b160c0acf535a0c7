import type { Rgb } from './palette.ts';
import { fractal, lattice } from './random.ts';
import type { Scene } from './scene.ts';

/** One frame being painted. Lengths are in picture heights. */
export interface Frame {
  scene: Scene;
  width: number;
  height: number;
  /** Seconds into the film. */
  time: number;
  sunX: number;
  sunY: number;
  curtain: Curtain | null;
}

export interface Curtain {
  hem: Float32Array;
  folds: Float32Array;
}

/** Colour of the bare sky at y (0 to 1); below the horizon it stays the horizon's. */
export function skyAt(scene: Scene, y: number): Rgb {
  const span = scene.kind === 'lights' ? 1 : scene.horizon;
  const place = Math.max(0, Math.min(0.9999, y / span)) * 3;
  const from = Math.floor(place);
  const share = place - from;
  const ease = share * share * (3 - 2 * share) * 0.35 + share * 0.65;
  const a = scene.palette.sky[from]!;
  const b = scene.palette.sky[from + 1]!;
  return [a[0] + (b[0] - a[0]) * ease, a[1] + (b[1] - a[1]) * ease, a[2] + (b[2] - a[2]) * ease];
}

/** Paints one row of sky with everything that hangs in it. */
export function paintSky(frame: Frame, y: number, row: Float32Array): void {
  const { scene } = frame;
  const v = (y + 0.5) / frame.height;
  const base = skyAt(scene, v);
  for (let at = 0; at < row.length; at += 3) {
    row[at] = base[0];
    row[at + 1] = base[1];
    row[at + 2] = base[2];
  }
  if (frame.curtain) paintAurora(frame, frame.curtain, v, row);
  if (scene.stars.length > 0) paintStars(frame, v, row);
  if (scene.kind !== 'lights') paintLight(frame, v, row);
  if (scene.clouds > 0 && scene.kind !== 'lights') paintClouds(frame, v, row);
  for (const orb of scene.orbs) paintOrb(frame, orb, v, row);
  if (scene.birds.length > 0) paintBirds(frame, v, row);
}

function paintLight(frame: Frame, v: number, row: Float32Array): void {
  const { sun, palette } = frame.scene;
  const dy = v - frame.sunY;
  const edge = 1.2 / frame.height;
  const spread = 1 / (sun.glow * sun.glow);
  const most = palette.dark ? 0.4 : 0.62;
  for (let x = 0, at = 0; x < frame.width; x++, at += 3) {
    const dx = (x + 0.5 - frame.width / 2) / frame.height - frame.sunX;
    const d2 = dx * dx + dy * dy;
    const near = 1 / (1 + d2 * spread);
    let share = most * near * near;
    if (d2 < (sun.radius + edge) ** 2) {
      const inside = Math.min(1, (sun.radius + edge - Math.sqrt(d2)) / edge);
      share += (1 - share) * inside * 0.97;
    }
    blend(row, at, palette.light, share);
  }
}

function paintClouds(frame: Frame, v: number, row: Float32Array): void {
  const { scene } = frame;
  const light = scene.palette.dark ? scene.palette.sky[3] : scene.palette.light;
  // Clouds lie flatter and closer together towards the horizon.
  const flat = 1 / (0.16 + Math.max(0, scene.horizon - v));
  const thickAt = (x: number): number => {
    const u = (x + 0.5 - frame.width / 2) / frame.height;
    return cloudAt(
      u * flat * 0.55 + scene.seed + frame.time * 0.02,
      flat * 2.1 + scene.seed * 0.37,
    );
  };
  // Clouds are soft: a few points a row are worked out, the pixels between them follow straight
  // lines.
  const step = Math.max(1, Math.round(frame.height / 90));
  let next = thickAt(0);
  for (let from = 0; from < frame.width; from += step) {
    const now = next;
    next = thickAt(from + step);
    if (now === 0 && next === 0) continue;
    const to = Math.min(frame.width, from + step);
    for (let x = from; x < to; x++) {
      blend(row, x * 3, light, (now + ((next - now) * (x - from)) / step) * scene.clouds);
    }
  }
}

/** Thickness of the clouds, 0 to 1, from smooth noise on a plane. */
function cloudAt(x: number, y: number): number {
  const sum =
    0.55 * plane(x, y) + 0.3 * plane(x * 2.1 + 9, y * 2.1) + 0.15 * plane(x * 4.3, y * 4.3 + 5);
  const over = (sum - 0.5) / 0.32;
  return over <= 0 ? 0 : over >= 1 ? 1 : over * over * (3 - 2 * over);
}

function plane(x: number, y: number): number {
  const i = Math.floor(x);
  const j = Math.floor(y);
  const fx = x - i;
  const fy = y - j;
  const ex = fx * fx * (3 - 2 * fx);
  const ey = fy * fy * (3 - 2 * fy);
  const top = lattice(i, j) + (lattice(i + 1, j) - lattice(i, j)) * ex;
  const low = lattice(i, j + 1) + (lattice(i + 1, j + 1) - lattice(i, j + 1)) * ex;
  return top + (low - top) * ey;
}

function paintStars(frame: Frame, v: number, row: Float32Array): void {
  const { scene, width, height, time } = frame;
  for (const star of scene.stars) {
    const radius = Math.max(star.size, 0.55 / height);
    const dy = v - star.y;
    if (Math.abs(dy) > radius * 2.5) continue;
    const twinkle = 0.75 + 0.25 * Math.sin(time * 3 + star.x * 40);
    const middle = star.x * height + width / 2;
    const reach = Math.ceil(radius * 2.5 * height);
    const from = Math.max(0, Math.floor(middle - reach));
    const to = Math.min(width - 1, Math.ceil(middle + reach));
    for (let x = from; x <= to; x++) {
      const dx = (x + 0.5 - middle) / height;
      const fall = Math.exp(-(dx * dx + dy * dy) / (radius * radius));
      blend(row, x * 3, scene.palette.light, Math.min(1, fall * star.light * twinkle * (1 - v)));
    }
  }
}

/** Curtains of light: bright at their lower hem, fading upwards. */
function paintAurora(frame: Frame, curtain: Curtain, v: number, row: Float32Array): void {
  for (let x = 0, at = 0; x < frame.width; x++, at += 3) {
    const above = curtain.hem[x]! - v;
    const rays = above > 0 ? 1 / (1 + 49 * above * above) : Math.max(0, 1 + above * 28);
    blend(row, at, frame.scene.palette.accent, Math.min(0.85, rays * curtain.folds[x]!));
  }
}

/** Where the aurora's hem hangs and how its folds shine, column by column. */
export function curtainOf(scene: Scene, width: number, height: number, time: number): Curtain {
  const hem = new Float32Array(width);
  const folds = new Float32Array(width);
  for (let x = 0; x < width; x++) {
    const u = (x + 0.5 - width / 2) / height;
    const bend = fractal(u * 1.1 + time * 0.05, scene.seed, 3);
    hem[x] = 0.2 + 0.42 * bend;
    folds[x] = 0.2 + 0.6 * fractal(u * 9 + bend * 6 + time * 0.12, scene.seed + 11, 3);
  }
  return { hem, folds };
}

function paintOrb(frame: Frame, orb: Scene['orbs'][number], v: number, row: Float32Array): void {
  const { width, height, time } = frame;
  const centreY = orb.y + 0.03 * Math.sin(time * 0.6 + orb.phase);
  const centreX = (orb.x * width) / height / 2 + 0.03 * Math.cos(time * 0.45 + orb.phase);
  const dy = v - centreY;
  const radius = orb.radius;
  if (Math.abs(dy) >= radius) return;
  const reach = Math.sqrt(radius * radius - dy * dy);
  const from = Math.max(0, Math.floor((centreX - reach) * height + width / 2));
  const to = Math.min(width - 1, Math.ceil((centreX + reach) * height + width / 2));
  const edge = 1.5 / height / radius;
  for (let x = from; x <= to; x++) {
    const dx = (x + 0.5 - width / 2) / height - centreX;
    const d = Math.sqrt(dx * dx + dy * dy) / radius;
    if (d >= 1) continue;
    // Small lights look like those of a lens out of focus: even inside, brighter at the rim.
    const soft = orb.rim
      ? Math.min(1, (1 - d) / Math.max(edge, 0.06)) * (0.7 + 0.3 * d ** 4)
      : (1 - d * d) ** 2;
    blend(row, x * 3, orb.colour, soft * orb.strength);
  }
}

/** Each bird is two arched strokes. */
function paintBirds(frame: Frame, v: number, row: Float32Array): void {
  const { scene, width, height, time } = frame;
  for (const bird of scene.birds) {
    const flap = 0.55 + 0.25 * Math.sin(time * 7 + bird.x * 90);
    const middleX = bird.x + 0.025 * time;
    if (Math.abs(v - bird.y) > bird.size) continue;
    const half = Math.max(0.6 / height, bird.size * 0.07);
    const from = Math.max(0, Math.floor((middleX - bird.size) * height + width / 2));
    const to = Math.min(width - 1, Math.ceil((middleX + bird.size) * height + width / 2));
    for (let x = from; x <= to; x++) {
      const span = Math.abs((x + 0.5 - width / 2) / height - middleX) / bird.size;
      if (span > 1) continue;
      const wing = bird.y - bird.size * flap * (Math.sin(span * Math.PI * 0.75) - 0.2 * span);
      const cover = Math.min(1, (half * (1.15 - span * 0.7) - Math.abs(v - wing)) * height + 0.5);
      if (cover > 0) blend(row, x * 3, scene.palette.near, cover * 0.8);
    }
  }
}

function blend(row: Float32Array, at: number, colour: Rgb, share: number): void {
  row[at] = row[at]! + (colour[0] - row[at]!) * share;
  row[at + 1] = row[at + 1]! + (colour[1] - row[at + 1]!) * share;
  row[at + 2] = row[at + 2]! + (colour[2] - row[at + 2]!) * share;
}
