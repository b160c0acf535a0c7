import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { kindOf, usualType } from '../core/media/content-type.ts';
import { Threads, ThreadTimeout } from '../lib/threads.ts';
import { waitUntilAborted } from '../lib/until-aborted.ts';
import { isCutShort } from './cut-short.ts';
import { hasCode } from './intake.ts';
import { sniff, sniffBytes } from '../core/media/sniff.ts';
import {
  assertDecodes,
  FileDamaged,
  maxPixels,
  readPictureSize,
  type Measures,
} from './picture.ts';
import { reader, secondsMax, type ReadAt } from './reader.ts';
import { readOggSeconds, readWaveSeconds } from './sounds.ts';
import type { Storage } from './storage.ts';
import { plainText } from '../core/media/plain-text.ts';

/** A file as its bytes tell it. */
export interface InspectedFile extends Measures {
  /** A container with only sound is `audio/…`. */
  content_type: string;
}

/** The file is of no type that is taken. */
export class NotMedia extends Error {
  constructor() {
    super('of no type that is taken');
    this.name = 'NotMedia';
  }
}

/** A thread's task. In its answer, `fault` means a failure of the machine, not of the file. */
export interface InspectTask {
  path: string;
  content_type: string;
}
export type InspectAnswer = { tracks: Tracks } | { error: string; fault: boolean };
export type Tracks = Measures & { kind: 'video' | 'audio' };

const headBytes = 256 * 1024;

/** Files that are read at the same time, because a decoder may take half a gigabyte. */
export const readAtOnce = 2;
/**
 * Audio and video are parsed in these threads, because a hostile file can keep a parser busy for
 * ever or make it fill the memory.
 */
const threads = new Threads<InspectTask, InspectAnswer>(
  new URL('./inspect-worker.ts', import.meta.url),
  {
    size: readAtOnce,
    memoryMb: 256,
  },
);
const uploadLimitMs = 1000;

/**
 * Tells what a file is: its type, its kind by its tracks, its size, and whether it is whole.
 * Containers are walked and pictures decoded to their end; films are not decoded. Plain text is
 * read to the end, because its head says nothing about the remaining bytes. Needs a place among
 * those for decoding.
 *
 * Throws `NotMedia` or `FileDamaged` if the file is at fault or takes longer than `limitMs`, not
 * counting the wait for a free thread; throws the system's error if the machine is at fault.
 */
export async function inspect(
  path: string,
  { limitMs = 10_000 }: { limitMs?: number } = {},
): Promise<InspectedFile> {
  const head = await readHeadOf(path, sniffBytes);
  const type = await sniff(head);
  if (type === null) throw new NotMedia();
  try {
    const signal = AbortSignal.timeout(limitMs);
    const seconds = await waitUntilAborted(walkFile(path, type, signal), signal);
    const found =
      seconds === null
        ? await measureFile(path, type, signal, limitMs)
        : { content_type: type, duration_seconds: seconds };
    // Not within `limitMs`: a decoder has a time limit of its own, and a slow picture is sound.
    if (kindOf(type) === 'image') await assertDecodes(path, type, head);
    return inPixels(found);
  } catch (error) {
    throw judgeError(error);
  }
}

/** Whether only the tracks of a file with these first bytes show if it has pictures. */
export function isContainer(sniffed: string): boolean {
  return soundOnly[sniffed] !== undefined || sniffed === 'audio/mp4';
}

/**
 * The type of an upload, which is a container of the type `sniffed`, by its tracks. If they cannot
 * be read in a second, it is sound if `declared` calls it so. Needs a place among those for
 * decoding.
 */
export async function typeByTracks(
  storage: Storage,
  key: string,
  sniffed: string,
  declared: string | null,
): Promise<string> {
  const isCalledSound = declared !== null && kindOf(usualType(declared)) === 'audio';
  const otherwise = isCalledSound ? usualType(declared) : sniffed;
  const local = await storage.openAsPath(key).catch(() => null);
  if (local === null) return otherwise;
  const task = { path: local.path, content_type: sniffed };
  const found = await runInThread(task, uploadLimitMs).catch(() => null);
  await local.done();
  return found === null ? otherwise : typeOfKind(found.kind, sniffed);
}

function typeOfKind(kind: Tracks['kind'], sniffed: string): string {
  if (kind === kindOf(sniffed)) return sniffed;
  return (kind === 'audio' ? soundOnly[sniffed] : 'video/mp4') ?? sniffed;
}

/** The types whose first bytes do not show whether they contain pictures. */
const soundOnly: Record<string, string> = {
  'video/mp4': 'audio/mp4',
  'video/quicktime': 'audio/mp4',
  'video/webm': 'audio/webm',
  'video/x-matroska': 'audio/x-matroska',
};

/**
 * The seconds of a sound that states them itself. Throws `FileDamaged` if the file is cut short.
 */
async function walkFile(path: string, type: string, signal: AbortSignal): Promise<number | null> {
  const handle = await open(path);
  try {
    const { size } = await handle.stat();
    const read = reader(handle, signal);
    const seconds = await secondsIn[type]?.(read, size);
    if (seconds === undefined && (await isCutShort(read, size, type)))
      throw new FileDamaged('cut short');
    if (seconds !== undefined && seconds > secondsMax) throw new FileDamaged(`of ${seconds} s`);
    return seconds ?? null;
  } finally {
    await handle.close();
  }
}

const secondsIn: Record<string, (read: ReadAt, size: number) => Promise<number>> = {
  'audio/wav': readWaveSeconds,
  'audio/ogg': readOggSeconds,
};

async function measureFile(
  path: string,
  content_type: string,
  signal: AbortSignal,
  limitMs: number,
): Promise<InspectedFile> {
  const sniffed = kindOf(content_type);
  if (sniffed !== 'video' && sniffed !== 'audio') {
    const measures = await waitUntilAborted(measureStill(path, content_type, signal), signal);
    return { content_type, ...measures };
  }
  const { kind, ...measures } = await runInThread({ path, content_type }, limitMs);
  return { content_type: typeOfKind(kind, content_type), ...measures };
}

/**
 * Rounds to whole pixels, because vector images may have fractions; refuses absurd sizes, because a
 * header can claim anything.
 */
function inPixels({ width, height, ...rest }: InspectedFile): InspectedFile {
  if (width === undefined || height === undefined) return rest;
  if (Math.max(width, height) > maxPixels) throw new FileDamaged(`${width} × ${height} pixels`);
  const pixels = (side: number) => Math.max(1, Math.round(side));
  return { ...rest, width: pixels(width), height: pixels(height) };
}

async function measureStill(
  path: string,
  content_type: string,
  signal: AbortSignal,
): Promise<Measures> {
  if (kindOf(content_type) === 'image')
    return readPictureSize(path, content_type, await readHeadOf(path, headBytes));
  if (content_type.startsWith('text/')) await readText(path, signal);
  return {};
}

/**
 * Turns an error that the file caused into `FileDamaged`. Failures of the machine stay as they
 * are, because they must not make a good file unusable.
 */
function judgeError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof FileDamaged) return error;
  const ofFile =
    error instanceof ThreadTimeout ||
    error.name === 'TimeoutError' ||
    hasCode(error, 'ERR_WORKER_OUT_OF_MEMORY') ||
    error instanceof RangeError ||
    !('code' in error);
  const reason = error.message.split('\n', 1)[0] ?? '';
  return ofFile ? new FileDamaged(reason, { cause: error }) : error;
}

async function readText(path: string, signal: AbortSignal): Promise<void> {
  const text = plainText();
  for await (const chunk of createReadStream(path, { signal })) {
    if (!text.takes(chunk)) throw new FileDamaged('not plain text');
  }
  if (!text.ends()) throw new FileDamaged('not plain text');
}

async function runInThread(task: InspectTask, limitMs: number): Promise<Tracks> {
  const answer = await threads.run(task, limitMs);
  if ('tracks' in answer) return answer.tracks;
  throw answer.fault ? new Error(answer.error) : new FileDamaged(answer.error);
}

async function readHeadOf(path: string, count: number): Promise<Buffer> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
