import { tasks } from '../../core/catalog/catalog.ts';
import type { Task } from '../../core/catalog/catalog.ts';
import { Refusal } from './refusal.ts';
import { SIDE_MAX, asksSize, aspectOf, isGiven, sizeOf } from './size.ts';
import type { Size } from './size.ts';

/**
 * A job worked out: what to make, in figures. Kept with the job, so that every rendering makes
 * the same.
 */

export type MediaKind = 'image' | 'video' | 'audio';

/** One of the caller's files, copied into the job's folder and looked into. */
export interface Media {
  field: string;
  /** Its name in the job's folder. */
  file: string;
  kind: MediaKind;
  /** Pixels as shown, turned upright; 0 for sound. */
  width: number;
  height: number;
  /** 0 for a picture. */
  seconds: number;
}

export interface Order {
  task: Task;
  prompt: string;
  seed: number;
  /** Pictures or layers to make. */
  count: number;
  format: 'png' | 'jpeg' | 'webp';
  size: Size;
  /** Length of what is made; for an extension, the length that is added. */
  seconds: number;
  /** Make sound for a film made from nothing. */
  sound: boolean;
  /** Reframing only: fill up with a blurred ground instead of cropping. */
  pad: boolean;
  cut: { startSeconds: number; speed: number; mute: boolean; turn: 0 | 90 };
  media: Media[];
}

/** As many as the service takes in one request. */
const COUNT_MAX = 100;
const LAYERS_MAX = 16;
const SECONDS_MAX = 60;
const SECONDS_DEFAULT = 5;
const PROMPT_MAX = 20_000;
const IMAGE_PIXELS = 4096 * 4096;
const FILM_PIXELS = 4096 * 2304;
/** An upscale of 1080p by four fits. */
const UPSCALE_PIXELS = 36e6;
const UPSCALE_SIDE = 8192;

/** What each task must be given, and whether it must have a prompt. `|` separates what will do. */
const needs: Partial<Record<Task, (MediaKind | 'image|video')[]>> = {
  'image-to-video': ['image'],
  'reference-to-video': ['image'],
  'character-animation': ['image'],
  'motion-control': ['image'],
  'talking-avatar': ['image'],
  'lip-sync': ['image|video', 'audio'],
  'video-edit': ['video'],
  'video-to-video/edit': ['video'],
  'video-extend': ['video'],
  'video-to-audio': ['video'],
  'video-analyze': ['video'],
  reframe: ['image'],
  upscale: ['image'],
  edit: ['image'],
  'layer-decomposition': ['image'],
};

/** Works out a job. Throws `Refusal` where the input is not enough or asks too much. */
export function orderOf(task: string, input: Record<string, unknown>, media: Media[]): Order {
  if (!isTask(task) || task === 'chat')
    throw new Refusal(`The sandbox has no task called ${task}.`);
  for (const need of needs[task] ?? []) {
    if (!media.some(({ kind }) => need.split('|').includes(kind))) {
      throw new Refusal(
        `${task} needs ${need.replace('|', ' or ')} input, such as ${need.split('|')[0]}_url.`,
      );
    }
  }
  const prompt = text(input.prompt, 'prompt');
  if (task.startsWith('text-to-') && prompt.trim() === '')
    throw new Refusal('prompt must not be empty.');
  return {
    task,
    prompt,
    seed: whole(input.seed, 'seed', 0, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
    count: countOf(task, input),
    format: formatOf(input),
    size: sizeFor(task, input, media),
    seconds: secondsOf(task, input, media),
    sound: input.generate_audio === true,
    pad: input.mode === 'pad',
    cut: cutOf(task, input, prompt, media),
    media,
  };
}

function isTask(task: string): task is Task {
  return (tasks as readonly string[]).includes(task);
}

function countOf(task: Task, input: Record<string, unknown>): number {
  if (task === 'layer-decomposition') {
    return whole(input.num_layers ?? input.num_images, 'num_images', 4, 1, LAYERS_MAX);
  }
  return whole(input.num_images, 'num_images', 1, 1, COUNT_MAX);
}

function formatOf(input: Record<string, unknown>): Order['format'] {
  const format = input.output_format ?? 'png';
  if (format === 'jpg') return 'jpeg';
  if (format !== 'png' && format !== 'jpeg' && format !== 'webp') {
    throw new Refusal('output_format must be png, jpeg or webp.');
  }
  return format;
}

function sizeFor(task: Task, input: Record<string, unknown>, media: Media[]): Size {
  const picture =
    media.find(({ kind }) => kind === 'image') ?? media.find(({ kind }) => kind === 'video');
  const aspect = picture ? Math.max(1 / 8, Math.min(8, picture.width / picture.height)) : undefined;
  if (task === 'text-to-image' || task === 'text-to-vector') {
    return sizeOf(input, { resolution: '1k', aspect: 1, pixels: IMAGE_PIXELS, even: false });
  }
  if (task === 'upscale') return upscaled(input, picture!);
  if (task === 'reframe' || task === 'edit') return reshaped(task, input, picture!);
  if (task === 'layer-decomposition') return within(picture!, 2048);
  if (picture?.kind === 'video') return { width: picture.width, height: picture.height };
  return sizeOf(input, {
    resolution: '720p',
    aspect: aspect ?? 16 / 9,
    pixels: FILM_PIXELS,
    even: true,
  });
}

function upscaled(input: Record<string, unknown>, picture: Size): Size {
  let scale = number(input.scale ?? input.upscale_factor, 'scale', 2, 1, 8);
  if (isGiven(input.resolution)) {
    const rules = {
      resolution: '2k',
      aspect: picture.width / picture.height,
      pixels: IMAGE_PIXELS,
      even: false,
    };
    const asked = sizeOf({ resolution: input.resolution }, rules);
    scale = asked.width / picture.width;
  }
  const size = {
    width: Math.round(picture.width * scale),
    height: Math.round(picture.height * scale),
  };
  if (
    Math.max(size.width, size.height) > UPSCALE_SIDE ||
    size.width * size.height > UPSCALE_PIXELS
  ) {
    throw new Refusal(
      `The upscaled picture would have ${size.width} x ${size.height} pixels; at most ` +
        `${UPSCALE_SIDE} a side and ${UPSCALE_PIXELS} in all can be made.`,
    );
  }
  return size;
}

function reshaped(task: 'reframe' | 'edit', input: Record<string, unknown>, picture: Size): Size {
  const natural = picture.width / picture.height;
  const aspect = aspectOf(input, task === 'reframe' ? 1 : natural);
  if (asksSize(input))
    return sizeOf(input, { resolution: '1k', aspect, pixels: IMAGE_PIXELS, even: false });
  const fit = within(picture, SIDE_MAX);
  const crop =
    aspect >= natural
      ? { width: fit.width, height: Math.max(1, Math.round(fit.width / aspect)) }
      : { width: Math.max(1, Math.round(fit.height * aspect)), height: fit.height };
  return crop;
}

function within(picture: Size, side: number): Size {
  const scale = Math.min(1, side / Math.max(picture.width, picture.height));
  return {
    width: Math.max(1, Math.round(picture.width * scale)),
    height: Math.max(1, Math.round(picture.height * scale)),
  };
}

/** A film made from the caller's sound, or moved by the caller's film, is no longer than that. */
function secondsOf(task: Task, input: Record<string, unknown>, media: Media[]): number {
  const asked = number(
    input.duration_seconds ?? input.duration,
    'duration_seconds',
    SECONDS_DEFAULT,
    0.1,
    SECONDS_MAX,
  );
  const lengthOf = (kind: MediaKind): number =>
    media.find((one) => one.kind === kind)?.seconds ?? Infinity;
  if (task === 'lip-sync' || task === 'talking-avatar') return Math.min(asked, lengthOf('audio'));
  if (task === 'character-animation' || task === 'motion-control')
    return Math.min(asked, lengthOf('video'));
  return asked;
}

function cutOf(
  task: Task,
  input: Record<string, unknown>,
  prompt: string,
  media: Media[],
): Order['cut'] {
  const says = (words: RegExp): boolean => words.test(prompt);
  const wordSpeed = says(/\bslow|замедл/i)
    ? 0.5
    : says(/\b(fast|speed up|time-?lapse)|ускор/i)
      ? 2
      : 1;
  return {
    startSeconds: startOf(task, input, media),
    speed: number(input.speed, 'speed', wordSpeed, 0.25, 4),
    mute: input.mute === true || says(/\b(mute|silent|without sound)\b|без звука/i),
    turn: says(/\b(rotate|turn|sideways)\b|поверн/i) ? 90 : 0,
  };
}

/** A cut from beyond the end would be the film's last moment, which nobody asked to pay for. */
function startOf(task: Task, input: Record<string, unknown>, media: Media[]): number {
  const start = number(input.start_seconds, 'start_seconds', 0, 0, 600);
  if (task !== 'video-edit' && task !== 'video-to-video/edit') return start;
  const { seconds } = media.find(({ kind }) => kind === 'video')!;
  if (start < seconds) return start;
  const length = Math.round(seconds * 1000) / 1000;
  throw new Refusal(`start_seconds must be below the film's length of ${length} s.`);
}

function text(value: unknown, field: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new Refusal(`${field} must be a text.`);
  if (value.length > PROMPT_MAX)
    throw new Refusal(`${field} may have at most ${PROMPT_MAX} characters.`);
  return value;
}

function whole(value: unknown, field: string, other: number, low: number, high: number): number {
  const found = number(value, field, other, low, high);
  if (!Number.isInteger(found)) throw new Refusal(`${field} must be a whole number.`);
  return found;
}

function number(value: unknown, field: string, other: number, low: number, high: number): number {
  if (!isGiven(value)) return other;
  const found = typeof value === 'string' ? Number(value) : value;
  if (typeof found !== 'number' || !(found >= low && found <= high)) {
    throw new Refusal(`${field} must be a number from ${low} to ${high}.`);
  }
  return found;
}
