import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import sharp from 'sharp';
import { Threads, ThreadTimeout } from '../lib/threads.ts';
import { hasCode } from './intake.ts';
import { plainText } from './plain-text.ts';
import { isTruncated } from './truncation.ts';

/**
 * Sizes are whole pixels as displayed, after rotation. Measures that the file's type lacks are
 * absent.
 */
export interface Measures {
  width?: number;
  height?: number;
  duration_seconds?: number;
}

/** The file is not what its type says, is cut short, or took too long to read. */
export class Unmeasurable extends Error {
  constructor(reason: string, options?: { cause?: unknown }) {
    super(`cannot be measured: ${reason}`, options);
    this.name = 'Unmeasurable';
  }
}

/** A thread's task. In its answer, `fault` means a failure of the machine, not of the file. */
export interface Task {
  path: string;
  content_type: string;
}
export type Answer = { measures: Measures } | { error: string; fault: boolean };

/** 32,768 × 32,768: no tool used here accepts a larger image. */
const maxPixels = 2 ** 30;
const headBytes = 256 * 1024;

/**
 * Audio and video are parsed in these threads, because a hostile file can keep a parser busy for
 * ever or make it fill the memory.
 */
const threads = new Threads<Task, Answer>(new URL('./measure-worker.ts', import.meta.url), {
  size: 2,
  memoryMb: 256,
});

/**
 * Measures a file of a type that `sniff` returned, from its headers; nothing is decoded. Plain text
 * is read to the end, because its head says nothing about the remaining bytes. Throws
 * `Unmeasurable` if the file is at fault or takes longer than `limitMs`, not counting the wait for
 * a free thread; throws the system's error if the machine is at fault.
 */
export async function measure(
  path: string,
  content_type: string,
  options: { limitMs?: number } = {},
): Promise<Measures> {
  const limitMs = options.limitMs ?? 10_000;
  try {
    const signal = AbortSignal.timeout(limitMs);
    const truncated = await untilAborted(isTruncated(path, content_type, signal), signal);
    if (truncated) throw new Unmeasurable('cut short');
    const track = content_type.startsWith('video/') || content_type.startsWith('audio/');
    if (track) return inPixels(await inThread({ path, content_type }, limitMs));
    return inPixels(await untilAborted(measureStill(path, content_type, signal), signal));
  } catch (error) {
    throw judged(error);
  }
}

/**
 * Rounds to whole pixels, because vector images may have fractions; refuses absurd sizes, because a
 * header can claim anything.
 */
function inPixels({ width, height, ...rest }: Measures): Measures {
  if (width === undefined || height === undefined) return rest;
  if (Math.max(width, height) > maxPixels) throw new Unmeasurable(`${width} × ${height} pixels`);
  const pixels = (side: number) => Math.max(1, Math.round(side));
  return { ...rest, width: pixels(width), height: pixels(height) };
}

async function measureStill(
  path: string,
  content_type: string,
  signal: AbortSignal,
): Promise<Measures> {
  if (content_type === 'image/svg+xml') return svgSize(await headOf(path));
  if (content_type === 'image/heic') return heicSize(await headOf(path));
  if (content_type.startsWith('image/')) return await imageSize(path, content_type);
  if (content_type.startsWith('text/')) await readText(path, signal);
  return {};
}

/**
 * Turns an error that the file caused into `Unmeasurable`. Failures of the machine stay as they
 * are, because they must not make a good file unusable.
 */
function judged(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unmeasurable) return error;
  const ofFile =
    error instanceof ThreadTimeout ||
    error.name === 'TimeoutError' ||
    hasCode(error, 'ERR_WORKER_OUT_OF_MEMORY') ||
    !('code' in error);
  const reason = error.message.split('\n', 1)[0] ?? '';
  return ofFile ? new Unmeasurable(reason, { cause: error }) : error;
}

async function imageSize(path: string, content_type: string): Promise<Measures> {
  const found = await sharp(path, { limitInputPixels: maxPixels }).metadata();
  if (found.mediaType !== content_type) throw new Unmeasurable(`it is ${found.mediaType}`);
  return { width: found.autoOrient.width, height: found.autoOrient.height };
}

/** Reads only the root element; an SVG is never parsed. Empty if no size is stated in pixels. */
function svgSize(head: Buffer): Measures {
  const root = /<(?:[\w.-]+:)?svg\b[^<>]*>/i.exec(head.toString('utf8'))?.[0];
  if (!root) throw new Unmeasurable('it has no svg element');
  const pixels = (name: string): number =>
    Number(new RegExp(`\\s${name}\\s*=\\s*["']\\s*([\\d.]+)(?:px)?\\s*["']`).exec(root)?.[1]);
  const box =
    /\sviewBox\s*=\s*["']([^"']*)["']/
      .exec(root)?.[1]
      ?.trim()
      .split(/[\s,]+/) ?? [];
  const width = pixels('width') || Number(box[2]);
  const height = pixels('height') || Number(box[3]);
  return width > 0 && height > 0 ? { width, height } : {};
}

/**
 * Reads a HEIC image's size here, because sharp is built without HEVC. Tiles and thumbnails have
 * sizes (`ispe`) too: the largest one is the image's. A rotation applies to all of them.
 */
function heicSize(head: Buffer): Measures {
  let width = 0;
  let height = 0;
  for (let at = head.indexOf('ispe'); at !== -1; at = head.indexOf('ispe', at + 4)) {
    if (at + 16 > head.length || at < 4 || head.readUInt32BE(at - 4) !== 20) continue;
    const [w, h] = [head.readUInt32BE(at + 8), head.readUInt32BE(at + 12)];
    if (w * h > width * height) [width, height] = [w, h];
  }
  if (width * height === 0) throw new Unmeasurable('no image in it');
  if (width * height > maxPixels) throw new Unmeasurable('too many pixels');
  const turn = head.indexOf('irot');
  const onItsSide = turn !== -1 && ((head[turn + 4] ?? 0) & 1) === 1;
  return onItsSide ? { width: height, height: width } : { width, height };
}

async function readText(path: string, signal: AbortSignal): Promise<void> {
  const text = plainText();
  for await (const chunk of createReadStream(path, { signal })) {
    if (!text.takes(chunk)) throw new Unmeasurable('not plain text');
  }
  if (!text.ends()) throw new Unmeasurable('not plain text');
}

async function inThread(task: Task, limitMs: number): Promise<Measures> {
  const answer = await threads.run(task, limitMs);
  if ('measures' in answer) return answer.measures;
  throw answer.fault ? new Error(answer.error) : new Unmeasurable(answer.error);
}

/** Abandons the work when time is up. Its late error, if any, is ignored. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function headOf(path: string): Promise<Buffer> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
