import { labelsOf } from '../drawing/labels.ts';
import { drawBareLandscape } from '../drawing/landscape.ts';
import type { Size } from '../orders/size.ts';
import { lattice } from '../random.ts';
import { encodeH264 } from './h264.ts';
import { imagePlanes } from './image.ts';
import type { VideoTrack } from './mp4.ts';
import {
  crossFade,
  layOver,
  newPlanes,
  overlayOf,
  showView,
  type Planes,
  type View,
} from './planes.ts';

/** Makes videos in which the camera moves over one image after another. */

export interface VideoPlan extends Size {
  seconds: number;
  /** Shown beside "sandbox" on every frame; may be empty. */
  note: string;
  text: string;
}

export type Motion = 'zoom' | 'sway' | 'orbit' | 'talk';

/** Time per pixel of a frame on an ordinary core, and the most time per video. */
const pixelNs = 26;
const videoNs = 3.5e9;
const rates = [24, 20, 16, 12, 10, 8];

/** Number of frames of a video. A larger or longer video has fewer per second, but at least 8. */
export function frameCount({ width, height, seconds }: VideoPlan): number {
  const secondsNs = width * height * pixelNs * seconds;
  const rate = rates.find((rate) => rate * secondsNs <= videoNs) ?? 8;
  return Math.max(1, Math.round(seconds * rate));
}

/** A video that slowly zooms into the prompt's landscape. */
export async function landscapeVideo(
  prompt: string,
  seed: number,
  plan: VideoPlan,
): Promise<VideoTrack> {
  const svg = Buffer.from(drawBareLandscape(prompt, seed, plan));
  return imageVideo([await imagePlanes(svg, plan)], 'zoom', seed, plan);
}

/** A video that moves over images of its size one after another, with short cross-fades. */
export async function imageVideo(
  images: Planes[],
  motion: Motion,
  seed: number,
  plan: VideoPlan,
): Promise<VideoTrack> {
  const { width, height, seconds } = plan;
  const frames = frameCount(plan);
  const labels = await Promise.all(labelsOf(plan, plan.note, plan.text).map(overlayOf));
  const each = seconds / images.length;
  const fade = Math.min(0.6, each / 3);
  const next = images.length > 1 ? newPlanes(width, height) : null;
  const draw = (frame: number, planes: Planes): void => {
    const time = (frame / frames) * seconds;
    const index = Math.min(images.length - 1, Math.floor(time / each));
    const within = time - index * each;
    const left = each - within;
    showView(images[index]!, planes, motions[motion](within, within / each, seed + index));
    if (next && left < fade && index + 1 < images.length) {
      showView(images[index + 1]!, next, motions[motion](0, 0, seed + index + 1));
      crossFade(planes, next, 1 - left / fade);
    }
    if (motion === 'talk') drawVoice(planes, time, seed);
    for (const label of labels) layOver(planes, label);
  };
  return encodeH264({ width, height, frames, seconds, draw });
}

/** The view at a time; `share` of the image's time has passed. */
const motions: Record<Motion, (time: number, share: number, seed: number) => View> = {
  zoom: (_, share, seed) => ({
    zoom: 1.02 + 0.16 * share,
    turn: 0,
    moveX: sideOf(seed) * 0.05 * share,
    moveY: -0.05 * share * lattice(seed, 2),
  }),
  sway: (time) => ({
    zoom: 1.18,
    turn: 0.05 * Math.sin(time * 2.2),
    moveX: 0.03 * Math.sin(time * 2.2 + 0.6),
    moveY: 0.022 * Math.abs(Math.sin(time * 4.4)),
  }),
  orbit(time, _, seed) {
    const angle = sideOf(seed) * time * 1.4;
    return {
      zoom: 1.2,
      turn: 0.02 * sideOf(seed) * Math.sin(angle),
      moveX: 0.06 * Math.cos(angle),
      moveY: 0.05 * Math.sin(angle),
    };
  },
  talk: (time) => ({
    zoom: 1.06 + 0.012 * Math.sin(time * 3.1),
    turn: 0.012 * Math.sin(time * 1.9),
    moveX: 0,
    moveY: 0.008 * Math.sin(time * 5),
  }),
};

function sideOf(seed: number): 1 | -1 {
  return lattice(seed, 1) < 0.5 ? -1 : 1;
}

/** Draws bars that move like a voice at the upper right, for an image that speaks. */
function drawVoice(planes: Planes, time: number, seed: number): void {
  const unit = Math.max(2, Math.round(Math.min(planes.width, planes.height) / 90));
  const bars = 9;
  const middle = Math.round(planes.height * 0.12);
  for (let bar = 0; bar < bars; bar++) {
    const loud =
      Math.abs(Math.sin(time * (5 + 4 * lattice(bar, seed)) + bar)) *
      (0.4 + 0.6 * lattice(bar, seed + 9));
    const half = Math.round(unit * (0.8 + 4 * loud));
    const left = Math.max(0, planes.width - (bars - bar) * unit * 2 - unit * 3);
    for (let y = Math.max(0, middle - half); y < Math.min(planes.height, middle + half); y++)
      planes.y.fill(235, y * planes.width + left, y * planes.width + left + unit);
  }
}
