import { encodeH264 } from './h264.ts';
import { drawLabels } from './label.ts';
import type { PictureTrack } from './mp4.ts';
import { painterOf } from './paint.ts';
import { layOverPlanes, look, newPlanes, overlayPlanes, storeRows } from './planes.ts';
import type { Planes, View } from './planes.ts';
import { lattice } from './random.ts';
import type { Scene } from './scene.ts';

/** Films: a scene in motion, or the caller's picture in motion. */

export interface FilmPlan {
  /** Even numbers of pixels. */
  width: number;
  height: number;
  seconds: number;
  /** Written beside "sandbox" on every frame; may be empty. */
  note: string;
  text: string;
}

export type Motion = 'zoom' | 'sway' | 'orbit' | 'talk';

/** A scene is painted this large at most and scaled up: painting costs more than encoding. */
const PAINTED_PIXELS = 300_000;
/** What painting and encoding a pixel takes on an ordinary core, and what a film may take. */
const PAINT_NS = 70;
const ENCODE_NS = 18;
const FILM_NS = 3.5e9;
const RATES = [24, 20, 16, 12, 10, 8];

/** Frames a second for a film: large and long ones get fewer, never below 8. */
export function frameRate(width: number, height: number, seconds: number): number {
  const pixels = width * height;
  const frameNs = pixels * ENCODE_NS + Math.min(pixels, PAINTED_PIXELS) * PAINT_NS;
  return RATES.find((rate) => rate * seconds * frameNs <= FILM_NS) ?? 8;
}

export function frameCount(plan: { width: number; height: number; seconds: number }): number {
  return Math.max(1, Math.round(plan.seconds * frameRate(plan.width, plan.height, plan.seconds)));
}

/** A scene in motion. */
export function filmScene(scene: Scene, plan: FilmPlan): Promise<PictureTrack> {
  const scale = Math.min(1, Math.sqrt(PAINTED_PIXELS / (plan.width * plan.height)));
  const small = newPlanes(even(plan.width * scale), even(plan.height * scale));
  const rows = [new Float32Array(small.width * 3), new Float32Array(small.width * 3)] as const;
  const paint = (to: Planes, time: number): void => {
    const painter = painterOf(scene, to.width, to.height, time);
    for (let y = 0; y < to.height; y += 2) {
      painter(y, rows[0]);
      painter(y + 1, rows[1]);
      storeRows(to, y, rows[0], rows[1]);
    }
  };
  return shoot(plan, (planes, time) => {
    if (scale === 1) paint(planes, time);
    else {
      paint(small, time);
      look(small, planes, { zoom: 1, turn: 0, moveX: 0, moveY: 0 });
    }
  });
}

/** The caller's pictures, each in motion, one after the other with a short cross-fade. */
export function filmPictures(
  pictures: Planes[],
  motion: Motion,
  seed: number,
  plan: FilmPlan,
): Promise<PictureTrack> {
  const each = plan.seconds / pictures.length;
  const fade = Math.min(0.6, each / 3);
  const next = pictures.length > 1 ? newPlanes(plan.width, plan.height) : undefined;
  return shoot(plan, (planes, time) => {
    const index = Math.min(pictures.length - 1, Math.floor(time / each));
    const within = time - index * each;
    look(pictures[index]!, planes, viewAt(motion, within, each, seed + index));
    const left = each - within;
    if (next && left < fade && index + 1 < pictures.length) {
      look(pictures[index + 1]!, next, viewAt(motion, 0, each, seed + index + 1));
      crossFade(planes, next, 1 - left / fade);
    }
    if (motion === 'talk') drawVoice(planes, time, seed);
  });
}

function shoot(
  plan: FilmPlan,
  draw: (planes: Planes, time: number) => void,
): Promise<PictureTrack> {
  const { width, height, seconds } = plan;
  const frames = frameCount(plan);
  const labels = drawLabels(width, height, plan.note, plan.text).map(overlayPlanes);
  const drawLabelled = (index: number, planes: Planes): void => {
    draw(planes, (index / frames) * seconds);
    for (const label of labels) layOverPlanes(planes, label);
  };
  const film = { width, height, frames, seconds, draw: drawLabelled };
  return encodeH264(film, newPlanes(width, height));
}

/** How a picture is looked at some way into its part of the film. */
function viewAt(motion: Motion, time: number, seconds: number, seed: number): View {
  const way = time / seconds;
  const side = lattice(seed, 1) < 0.5 ? -1 : 1;
  if (motion === 'zoom') {
    const push = 0.05 * way;
    return {
      zoom: 1.02 + 0.16 * way,
      turn: 0,
      moveX: side * push,
      moveY: -push * lattice(seed, 2),
    };
  }
  if (motion === 'sway') {
    return {
      zoom: 1.18,
      turn: 0.05 * Math.sin(time * 2.2),
      moveX: 0.03 * Math.sin(time * 2.2 + 0.6),
      moveY: 0.022 * Math.abs(Math.sin(time * 4.4)),
    };
  }
  if (motion === 'orbit') {
    const angle = side * time * 1.4;
    return {
      zoom: 1.2,
      turn: 0.02 * side * Math.sin(angle),
      moveX: 0.06 * Math.cos(angle),
      moveY: 0.05 * Math.sin(angle),
    };
  }
  return {
    zoom: 1.06 + 0.012 * Math.sin(time * 3.1),
    turn: 0.012 * Math.sin(time * 1.9),
    moveX: 0,
    moveY: 0.008 * Math.sin(time * 5),
  };
}

function crossFade(to: Planes, from: Planes, share: number): void {
  const weight = Math.round(share * 256);
  for (const name of ['y', 'u', 'v'] as const) {
    const a = to[name];
    const b = from[name];
    for (let i = 0; i < a.length; i++) a[i] = a[i]! + (((b[i]! - a[i]!) * weight) >> 8);
  }
}

/** Bars that move like a voice, at the lower right: a picture that speaks. */
function drawVoice(planes: Planes, time: number, seed: number): void {
  const unit = Math.max(2, Math.round(Math.min(planes.width, planes.height) / 90));
  const bars = 9;
  const middle = Math.round(planes.height * 0.12);
  for (let bar = 0; bar < bars; bar++) {
    const loud =
      Math.abs(Math.sin(time * (5 + 4 * lattice(bar, seed)) + bar)) *
      (0.4 + 0.6 * lattice(bar, seed + 9));
    const half = Math.round(unit * (0.8 + 4 * loud));
    const left = planes.width - (bars - bar) * unit * 2 - unit * 3;
    for (let y = Math.max(0, middle - half); y < Math.min(planes.height, middle + half); y++) {
      const from = y * planes.width + Math.max(0, left);
      planes.y.fill(235, from, from + unit);
    }
  }
}

function even(value: number): number {
  return Math.max(2, Math.round(value / 2) * 2);
}
