import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { sampleForm } from '../../core/catalog/media-input.ts';
import { TooSlow } from '../download.ts';
import type { InputFile, StartJob } from '../upstream.ts';
import { PRIVATE } from './folder.ts';
import type { Media } from './order.ts';
import { Refusal } from './refusal.ts';
import type { SampleKind } from './sample.ts';
import type { Workshop } from './workshop.ts';

/** Finds the caller's media in an input, and copies it into the job's folder. */

export type Download = (url: string, signal: AbortSignal) => Promise<InputFile>;

const FILES_MAX = 16;
const FILE_BYTES_MAX = 256 * 1024 * 1024;
const JOB_BYTES_MAX = 512 * 1024 * 1024;
const DEPTH_MAX = 4;

interface Tools {
  /** Looks into what was copied. */
  pictures: Workshop;
  download: Download | undefined;
  inputSeconds: number;
}

/** Where a file is copied to, and how large it may be. */
interface Target {
  path: string;
  field: string;
  most: number;
}

interface Found {
  field: string;
  value: string;
}

/** Copies every media file an input names into `folder` and looks into it. Throws `Refusal`. */
export async function gatherInputs(
  job: StartJob,
  folder: string,
  { pictures, download, inputSeconds }: Tools,
): Promise<Media[]> {
  const found = mediaFields(job);
  if (found.length > FILES_MAX)
    throw new Refusal(`At most ${FILES_MAX} files can be given; there are ${found.length}.`);
  const media: Media[] = [];
  const fetcher = createFetcher(download, inputSeconds, job.signal);
  let room = JOB_BYTES_MAX;
  for (const [i, { field, value }] of found.entries()) {
    const path = join(folder, String(i));
    const [, kind, number = '1'] = sampleForm.exec(value) ?? [];
    if (kind !== undefined) await pictures.sample(kind as SampleKind, Number(number), path);
    else {
      const target = { path, field, most: Math.min(FILE_BYTES_MAX, room) };
      room -= isAddress(value, job)
        ? await fetcher.fetch(value, target)
        : await copy(resolve(field, value, job), target, job.signal);
    }
    media.push(await pictures.probe(path, field, String(i)));
  }
  return inOrder(media);
}

/** To be fetched: what we store ourselves is not, whatever its name. */
function isAddress(value: string, { files }: StartJob): boolean {
  return /^https?:/i.test(value) && !Object.hasOwn(files, value);
}

/**
 * Values of fields named `…url` or `…urls`, and whatever names one of our files, at any depth
 * up to four, in the fields that the row knows.
 */
function mediaFields({ input, fields, files }: StartJob): Found[] {
  const found: Found[] = [];
  const walk = (value: unknown, field: string, depth: number): void => {
    if (typeof value === 'string') {
      if (value !== '' && (/(^|_)urls?$/.test(field) || Object.hasOwn(files, value)))
        found.push({ field, value });
    } else if (value !== null && typeof value === 'object' && depth < DEPTH_MAX) {
      for (const [key, inner] of Object.entries(value)) {
        walk(inner, Array.isArray(value) ? field : key, depth + 1);
      }
    }
  };
  const known = new Set(fields);
  for (const [field, value] of Object.entries(input)) if (known.has(field)) walk(value, field, 1);
  return found;
}

/**
 * Fetches the addresses of one input, all of them within `seconds`. Whatever a caller's server does
 * wrong is the caller's fault: a `Refusal`, and never a failure of the sandbox.
 */
function createFetcher(download: Download | undefined, seconds: number, outer: AbortSignal) {
  let leftMs = seconds * 1000;
  return {
    async fetch(url: string, target: Target): Promise<number> {
      const { field } = target;
      if (!download) {
        throw new Refusal(
          `${field}: the sandbox cannot fetch addresses here. Upload the file and give its file_id.`,
        );
      }
      const begun = performance.now();
      const late = new AbortController();
      const timer = setTimeout(() => late.abort(), leftMs);
      const stop = () => late.abort();
      outer.addEventListener('abort', stop);
      try {
        outer.throwIfAborted();
        return await copy(await fetched(download, url, field, late.signal), target, late.signal);
      } catch (error) {
        outer.throwIfAborted();
        if (!late.signal.aborted && !(error instanceof TooSlow)) throw error;
        throw new Refusal(
          `${field} could not be fetched: it took longer than ${seconds} s. ${adviceWords}`,
        );
      } finally {
        clearTimeout(timer);
        outer.removeEventListener('abort', stop);
        leftMs = Math.max(0, leftMs - (performance.now() - begun));
      }
    },
  };
}

const adviceWords = 'Check the address, or upload the file and give its file_id.';

async function fetched(
  download: Download,
  url: string,
  field: string,
  signal: AbortSignal,
): Promise<InputFile> {
  const refused = (error: unknown) =>
    error instanceof TooSlow ? error : new Refusal(`${field} could not be fetched. ${adviceWords}`);
  const source = await download(url, signal).catch((error) => Promise.reject(refused(error)));
  const open = async () =>
    (async function* (): AsyncIterable<Uint8Array> {
      try {
        yield* await source.open();
      } catch (error) {
        throw refused(error);
      }
    })();
  return { ...source, open };
}

function resolve(field: string, value: string, job: StartJob): InputFile {
  if (Object.hasOwn(job.files, value)) return job.files[value]!;
  if (/^data:/i.test(value)) return dataFile(field, value);
  throw new Refusal(`${field} must be a file_id of an uploaded file or a public https address.`);
}

/** The file inside a base64 `data:` address. */
function dataFile(field: string, value: string): InputFile {
  const comma = value.indexOf(',');
  const head = value.slice('data:'.length, Math.max(0, comma));
  if (!head.toLowerCase().endsWith(';base64')) {
    throw new Refusal(`${field} must hold its data as base64.`);
  }
  const bytes = Buffer.from(value.slice(comma + 1), 'base64');
  const content_type = head.slice(0, -';base64'.length);
  const open = async (): Promise<AsyncIterable<Uint8Array>> =>
    (async function* () {
      yield bytes;
    })();
  return { content_type, size: bytes.length, open };
}

/** Number of bytes copied. */
async function copy(
  source: InputFile,
  { path, field, most }: Target,
  signal: AbortSignal,
): Promise<number> {
  let size = 0;
  const counted = async function* (): AsyncIterable<Uint8Array> {
    for await (const chunk of await source.open()) {
      size += chunk.length;
      if (size > most) throw new Refusal(`${field} is larger than ${most} bytes.`);
      yield chunk;
    }
  };
  await pipeline(counted, createWriteStream(path, { flags: 'wx', ...PRIVATE }), { signal });
  if (size === 0) throw new Refusal(`${field} is empty.`);
  return size;
}

/**
 * The main file first, closing pictures last; masks are looked into, but nothing is drawn from
 * them.
 */
function inOrder(media: Media[]): Media[] {
  const rank = ({ field }: Media): number => {
    if (/^(image|video|audio)_url$/.test(field)) return 0;
    return /^(end|last|tail)_/.test(field) ? 2 : 1;
  };
  return media.filter(({ field }) => !/mask/i.test(field)).toSorted((a, b) => rank(a) - rank(b));
}
