import { tasks, type Task } from '../../../core/catalog/catalog.ts';
import type { MediaKind } from '../../../core/media/content-type.ts';
import { isOneOf } from '../../../lib/records.ts';
import { SandboxRefusal } from '../refusal.ts';
import { aspectOf, asksSize, isGiven, sideMax, sizeOf, type Size, type SizeRules } from './size.ts';

/**
 * An order determines a job's output, together with the caller's files. It is stored with the job,
 * so that the output can be made again.
 */

/** One of the caller's files, copied into the job's folder and probed. */
export interface OrderFile {
  field: string;
  /** The file's name in the job's folder. */
  file: string;
  kind: MediaKind;
  /** Pixels as displayed, after rotation; 0 for audio. */
  width: number;
  height: number;
  /** 0 for an image. */
  seconds: number;
}

export interface Order {
  task: Task;
  prompt: string;
  seed: number;
  /** Images or layers to make. */
  count: number;
  format: 'png' | 'jpeg' | 'webp';
  size: Size;
  /** Length of the output; for an extension, the added length. */
  seconds: number;
  /** Make audio for a video that has none. */
  sound: boolean;
  /** Reframing only: add a blurred background instead of cropping. */
  pad: boolean;
  cut: { startSeconds: number; speed: number; mute: boolean; turn: 0 | 90 };
  media: OrderFile[];
}

type Input = Record<string, unknown>;

/** The service's own limit of images in one request. */
const imagesMax = 100;
const layersMax = 16;
const layerSide = 2048;
const secondsMax = 60;
const promptMax = 20_000;
const imageRules: SizeRules = { resolution: '1k', aspect: 1, pixels: sideMax ** 2, even: false };
export const videoPixelsMax = 4096 * 2304;
const videoRules: SizeRules = {
  resolution: '720p',
  aspect: 16 / 9,
  pixels: videoPixelsMax,
  even: true,
};
/** Room for 1080p upscaled by four. */
const upscalePixelsMax = 36e6;
const upscaleSideMax = 8192;

/** The media that a task requires; `|` separates alternatives. */
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

/**
 * Makes a job's order. Throws `SandboxRefusal` if the input lacks something or asks for too much.
 */
export function orderOf(task: string, input: Input, media: OrderFile[]): Order {
  if (!isTask(task) || task === 'chat')
    throw new SandboxRefusal(`The sandbox has no task called ${task}.`);
  for (const need of needs[task] ?? []) {
    const kinds = need.split('|');
    if (!media.some(({ kind }) => kinds.includes(kind)))
      throw new SandboxRefusal(
        `${task} needs ${kinds.join(' or ')} input, such as ${kinds[0]}_url.`,
      );
  }
  const prompt = promptOf(input);
  if (task.startsWith('text-to-') && prompt.trim() === '')
    throw new SandboxRefusal('prompt must not be empty.');
  return {
    task,
    prompt,
    seed: wholeNumber(input.seed, 'seed', 0, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
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
  return isOneOf(tasks, task);
}

function promptOf({ prompt }: Input): string {
  if (prompt === undefined || prompt === null) return '';
  if (typeof prompt !== 'string') throw new SandboxRefusal('prompt must be a string.');
  if (prompt.length > promptMax)
    throw new SandboxRefusal(`prompt may have at most ${promptMax} characters.`);
  return prompt;
}

function countOf(task: Task, input: Input): number {
  const isLayers = task === 'layer-decomposition';
  const asked = isLayers ? (input.num_layers ?? input.num_images) : input.num_images;
  return wholeNumber(asked, 'num_images', isLayers ? 4 : 1, 1, isLayers ? layersMax : imagesMax);
}

function formatOf(input: Input): Order['format'] {
  const format = input.output_format ?? 'png';
  if (format === 'jpg') return 'jpeg';
  if (format !== 'png' && format !== 'jpeg' && format !== 'webp')
    throw new SandboxRefusal('output_format must be png, jpeg or webp.');
  return format;
}

function sizeFor(task: Task, input: Input, media: OrderFile[]): Size {
  const source =
    media.find(({ kind }) => kind === 'image') ?? media.find(({ kind }) => kind === 'video');
  if (task === 'text-to-image' || task === 'text-to-vector') return sizeOf(input, imageRules);
  if (!source) return sizeOf(input, videoRules);
  const natural = source.width / source.height;
  switch (task) {
    case 'upscale':
      return upscaled(input, source);
    case 'reframe':
      return reshaped(input, source, aspectOf(input, 1));
    case 'edit':
      return reshaped(input, source, aspectOf(input, natural));
    case 'layer-decomposition':
      return shrunk(source, layerSide);
    default: {
      if (source.kind === 'video') return { width: source.width, height: source.height };
      const aspect = Math.max(1 / 8, Math.min(8, natural));
      return sizeOf(input, { ...videoRules, aspect });
    }
  }
}

function upscaled(input: Input, source: Size): Size {
  const aspect = source.width / source.height;
  const scale = isGiven(input.resolution)
    ? sizeOf({ resolution: input.resolution }, { ...imageRules, aspect }).width / source.width
    : number(input.scale ?? input.upscale_factor, 'scale', 2, 1, 8);
  const { width, height } = scaled(source, scale);
  if (Math.max(width, height) > upscaleSideMax || width * height > upscalePixelsMax)
    throw new SandboxRefusal(
      `The upscaled image would have ${width} x ${height} pixels; at most ` +
        `${upscaleSideMax} a side and ${upscalePixelsMax} in all can be made.`,
    );
  return { width, height };
}

function reshaped(input: Input, source: Size, aspect: number): Size {
  if (asksSize(input)) return sizeOf(input, { ...imageRules, aspect });
  const { width, height } = shrunk(source, sideMax);
  return aspect >= width / height
    ? { width, height: Math.max(1, Math.round(width / aspect)) }
    : { width: Math.max(1, Math.round(height * aspect)), height };
}

function shrunk(source: Size, side: number): Size {
  return scaled(source, Math.min(1, side / Math.max(source.width, source.height)));
}

function scaled({ width, height }: Size, scale: number): Size {
  const side = (pixels: number): number => Math.max(1, Math.round(pixels * scale));
  return { width: side(width), height: side(height) };
}

/** The output's length, at most the length of the caller's audio or video that it follows. */
function secondsOf(task: Task, input: Input, media: OrderFile[]): number {
  const given = input.duration_seconds ?? input.duration;
  const asked = number(given, 'duration_seconds', 5, 0.1, secondsMax);
  const lengthOf = (kind: MediaKind): number =>
    media.find((one) => one.kind === kind)?.seconds ?? Infinity;
  if (task === 'lip-sync' || task === 'talking-avatar') return Math.min(asked, lengthOf('audio'));
  if (task === 'character-animation' || task === 'motion-control')
    return Math.min(asked, lengthOf('video'));
  return asked;
}

function cutOf(task: Task, input: Input, prompt: string, media: OrderFile[]): Order['cut'] {
  const says = (words: RegExp): boolean => words.test(prompt);
  const isFast = says(/\b(fast|speed up|time-?lapse)|ускор/i);
  const speed = says(/\bslow|замедл/i) ? 0.5 : isFast ? 2 : 1;
  return {
    startSeconds: startOf(task, input, media),
    speed: number(input.speed, 'speed', speed, 0.25, 4),
    mute: input.mute === true || says(/\b(mute|silent|without sound)\b|без звука/i),
    turn: says(/\b(rotate|turn|sideways)\b|поверн/i) ? 90 : 0,
  };
}

/** Refuses a start beyond the video's end, because the caller would pay for only the last frame. */
function startOf(task: Task, input: Input, media: OrderFile[]): number {
  const start = number(input.start_seconds, 'start_seconds', 0, 0, 600);
  if (task !== 'video-edit' && task !== 'video-to-video/edit') return start;
  const { seconds } = media.find(({ kind }) => kind === 'video')!;
  if (start < seconds) return start;
  const length = Math.round(seconds * 1000) / 1000;
  throw new SandboxRefusal(`start_seconds must be below the video's length of ${length} s.`);
}

function wholeNumber(
  value: unknown,
  field: string,
  other: number,
  low: number,
  high: number,
): number {
  const found = number(value, field, other, low, high);
  if (!Number.isInteger(found)) throw new SandboxRefusal(`${field} must be an integer.`);
  return found;
}

function number(value: unknown, field: string, other: number, low: number, high: number): number {
  if (!isGiven(value)) return other;
  const found = typeof value === 'string' ? Number(value) : value;
  if (typeof found !== 'number' || !(found >= low && found <= high)) {
    throw new SandboxRefusal(`${field} must be a number from ${low} to ${high}.`);
  }
  return found;
}
