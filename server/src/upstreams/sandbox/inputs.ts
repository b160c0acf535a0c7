import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { InputFile, StartJob } from '../upstream.ts';
import type { Media } from './order.ts';
import { Refusal } from './refusal.ts';
import type { Workshop } from './workshop.ts';

/** Finds the caller's media in an input, and copies it into the job's folder. */

export type Download = (url: string, signal: AbortSignal) => Promise<InputFile>;

const FILES_MAX = 16;
const FILE_BYTES_MAX = 256 * 1024 * 1024;
const JOB_BYTES_MAX = 512 * 1024 * 1024;
const DEPTH_MAX = 4;

interface Found {
  field: string;
  value: string;
}

/** Copies every media file an input names into `folder` and looks into it. Throws `Refusal`. */
export async function gatherInputs(
  job: StartJob,
  folder: string,
  workshop: Workshop,
  download: Download | undefined,
): Promise<Media[]> {
  const found = mediaFields(job.input, job.files);
  if (found.length > FILES_MAX)
    throw new Refusal(`At most ${FILES_MAX} files can be given; there are ${found.length}.`);
  const media: Media[] = [];
  let room = JOB_BYTES_MAX;
  for (const [i, { field, value }] of found.entries()) {
    const source = await resolve(field, value, job, download);
    const path = join(folder, String(i));
    room -= await copy(source, path, field, Math.min(FILE_BYTES_MAX, room), job.signal);
    media.push(await workshop.probe(path, field, String(i)));
  }
  return inOrder(media);
}

/**
 * Values of fields named `…url` or `…urls`, and whatever names one of our files, at any depth
 * up to four.
 */
export function mediaFields(
  input: Record<string, unknown>,
  files: Record<string, unknown>,
): Found[] {
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
  walk(input, '', 0);
  return found;
}

async function resolve(
  field: string,
  value: string,
  job: StartJob,
  download: Download | undefined,
): Promise<InputFile> {
  if (Object.hasOwn(job.files, value)) return job.files[value]!;
  if (/^data:/i.test(value)) return dataFile(field, value);
  if (!/^https?:/i.test(value)) {
    throw new Refusal(`${field} must be a file_id of an uploaded file or a public https address.`);
  }
  if (!download) {
    throw new Refusal(
      `${field}: the sandbox cannot fetch addresses here. Upload the file and give its file_id.`,
    );
  }
  try {
    return await download(value, job.signal);
  } catch {
    job.signal.throwIfAborted();
    throw new Refusal(
      `${field} could not be fetched. Check the address, or upload the file and give its file_id.`,
    );
  }
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
  path: string,
  field: string,
  most: number,
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
  await pipeline(counted, createWriteStream(path, { flags: 'wx' }), { signal });
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
