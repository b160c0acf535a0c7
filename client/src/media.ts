import { brand } from './brand.ts';
import { badArgument, unreadable } from './error.ts';
import { nodeFs } from './files.ts';
import { blobPart, chunksOfStream, isServerSide, type UnsharedBytes } from './runtime.ts';
import { fieldOf, messageOf } from './unknown.ts';
import type { Call, Transport, CallRequest } from './transport.ts';
import type { UploadedFile } from './types.ts';

/** Finds files in an input, uploads them, and puts their ids in their place. */

/** A file of this machine, by its path. Plain strings inside an input are never taken for paths. */
export class LocalFile {
  static {
    brand(this, 'file');
  }

  readonly path: string;
  readonly contentType: string | undefined;

  constructor(path: string, contentType?: string) {
    this.path = path;
    this.contentType = contentType;
  }
}

/** Marks a path inside an input: `{ image_url: file('./cat.png') }`. In Node, Deno and Bun. */
export function file(path: string, options: { contentType?: string | undefined } = {}): LocalFile {
  return new LocalFile(path, options.contentType);
}

/** Values that any field of an input accepts in place of a `file_id`; they are uploaded. */
export type Media = Blob | LocalFile | ArrayBufferView | ArrayBuffer | ByteStream;

/** A stream of a browser or of Node, or a generator. */
export type ByteStream = ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

export interface Progress {
  /** Bytes sent so far. */
  sent: number;
  /** Null if unknown. */
  total: number | null;
}

export interface UploadOptions extends Call {
  /** Overrides the type detected from the bytes. */
  contentType?: string | undefined;
  onProgress?: ((progress: Progress) => void) | undefined;
}

const uploadLimitMs = 30 * 60_000;
const uploadsAtOnce = 4;
const sniffBytes = 64;

export async function upload(
  transport: Transport,
  source: Media | string,
  options: UploadOptions = {},
): Promise<UploadedFile> {
  const local = typeof source === 'string' ? new LocalFile(source) : source;
  if (!isMedia(local)) {
    const allowed = 'a path, a Blob, bytes or a stream of bytes';
    throw badArgument(`Only ${allowed} can be uploaded.`, 'file');
  }
  const wanted = { method: 'POST', path: '/files', limitMs: uploadLimitMs } as const;
  if (isStream(local) && isServerSide) {
    return sendStream(transport, wanted, streamOf(local), options);
  }
  const bytes = await blobOf(local);
  const contentType =
    options.contentType ??
    (local instanceof LocalFile ? local.contentType : undefined) ??
    (bytes.type || (await sniff(bytes)));
  const { onProgress } = options;
  const total = bytes.size;
  const counted = onProgress && isServerSide;
  onProgress?.({ sent: 0, total });
  const body = () => (counted ? counting(bytes.stream(), total, onProgress) : bytes);
  const headers = { 'content-type': contentType };
  const sent = { ...wanted, headers, body, repeatable: true };
  const uploaded = await transport.json<UploadedFile>(sent, options);
  if (!counted) onProgress?.({ sent: total, total });
  return uploaded;
}

/** Sends a stream while it is read. This cannot be retried, because sent bytes are not kept. */
async function sendStream(
  transport: Transport,
  wanted: Pick<CallRequest, 'method' | 'path' | 'limitMs'>,
  stream: ReadableStream<Uint8Array>,
  options: UploadOptions,
): Promise<UploadedFile> {
  const reader = stream.getReader();
  const read = async () => {
    const { done, value } = await reader.read().catch((error: unknown) => {
      throw unreadable(error);
    });
    if (done) return undefined;
    if (!ArrayBuffer.isView(value)) void reader.cancel().catch(() => {});
    return bytesIn(value);
  };
  const head = (await read()) ?? new Uint8Array();
  const whole = new ReadableStream<Uint8Array>({
    start(controller) {
      if (head.length > 0) controller.enqueue(head);
    },
    async pull(controller) {
      const chunk = await read();
      if (chunk) controller.enqueue(chunk);
      else controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const contentType = options.contentType ?? (await sniff(new Blob([blobPart(head)])));
  const headers = { 'content-type': contentType };
  const body = () => counting(whole, null, options.onProgress);
  return transport.json({ ...wanted, headers, body, repeatable: false }, options);
}

function streamOf(source: ByteStream): ReadableStream<Uint8Array> {
  if (source instanceof ReadableStream) return source;
  const iterator = source[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await iterator.return?.()),
  });
}

function counting(
  stream: ReadableStream<Uint8Array>,
  total: number | null,
  onProgress: UploadOptions['onProgress'],
): ReadableStream<Uint8Array> {
  let sent = 0;
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        sent += chunk.length;
        controller.enqueue(chunk);
        onProgress?.({ sent, total });
      },
    }),
  );
}

/** Returns a stream's chunk. Throws if it is not bytes, whatever the type of the stream says. */
function bytesIn<T>(chunk: T): T {
  if (ArrayBuffer.isView(chunk)) return chunk;
  throw badArgument('A stream to upload must give Uint8Array, not strings.', 'file');
}

async function blobOf(source: Media): Promise<Blob> {
  if (source instanceof Blob) return source;
  if (source instanceof LocalFile) return openFile(source.path);
  if (isStream(source)) {
    const parts: UnsharedBytes[] = [];
    for await (const chunk of chunksOfStream(streamOf(source)))
      parts.push(blobPart(bytesIn(chunk)));
    return new Blob(parts);
  }
  return new Blob([blobPart(source)]);
}

async function openFile(path: string): Promise<Blob> {
  if (!isServerSide) {
    throw badArgument(`A browser cannot open "${path}": give the File or Blob itself.`, 'file');
  }
  const fs = await nodeFs();
  try {
    if (!(await fs.promises.stat(path)).isFile()) throw new Error('it is not a file');
    // Read while it is sent, if the runtime supports that.
    if (typeof fs.openAsBlob === 'function') return await fs.openAsBlob(path);
    return new Blob([await fs.promises.readFile(path)]);
  } catch (error) {
    throw badArgument(`The file "${path}" cannot be read: ${messageOf(error)}`, 'file');
  }
}

/** The first bytes, as Latin-1, of the file types that the service accepts. */
const marks: [RegExp, string][] = [
  [/^\x89PNG/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^(?:II[*+]\0|MM\0[*+])/, 'image/tiff'],
  [/^BM.{4}\0{4}/s, 'image/bmp'],
  // The first brand may be general; then one of the others tells.
  [/^.{4}ftyp(?:(?:mif|msf)1.{4}(?:.{4}){0,8}?)?avi[fs]/s, 'image/avif'],
  [/^.{4}ftyp(?:he[iv][cmsx]|(?:mif|msf)1)/s, 'image/heic'],
  [/^.{4}ftypqt/s, 'video/quicktime'],
  [/^.{4}ftypM4A/s, 'audio/mp4'],
  [/^.{4}ftyp/s, 'video/mp4'],
  [/^.E\xdf\xa3/s, 'video/webm'],
  [/^RIFF.{4}WAVE/s, 'audio/wav'],
  [/^\xff[\xf0\xf1\xf8\xf9]/, 'audio/aac'],
  [/^(?:ID3|\xff[\xe2-\xfb])/, 'audio/mpeg'],
  [/^OggS/, 'audio/ogg'],
  [/^fLaC/, 'audio/flac'],
  [/^%PDF-/, 'application/pdf'],
];

async function sniff(bytes: Blob): Promise<string> {
  const first = await bytes
    .slice(0, sniffBytes)
    .arrayBuffer()
    .catch((error: unknown) => {
      throw unreadable(error);
    });
  const head = new Uint8Array(first);
  const latin1 = String.fromCharCode(...head);
  const mark = marks.find(([pattern]) => pattern.test(latin1));
  if (mark) return mark[1];
  return isText(head) ? 'text/plain' : 'application/octet-stream';
}

function isText(head: Uint8Array): boolean {
  if (head.includes(0)) return false;
  try {
    // `head` may end in the middle of a character, which `stream` allows.
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns a copy of the input with each file in it replaced by the result of `replace`, which is
 * called once per file. `count`: the number of files.
 */
export async function withUploads<T extends object>(
  input: T,
  replace: (source: Media, count: number) => Promise<string>,
): Promise<T> {
  const found = new Map<unknown, Media>();
  collect(input, found);
  const waiting = [...found];
  const ids = new Map<unknown, string>();
  const lane = async () => {
    for (let next; (next = waiting.shift());) ids.set(next[0], await replace(next[1], found.size));
  };
  await Promise.all(Array.from({ length: uploadsAtOnce }, lane));
  // The copy has ids in place of files and is otherwise unchanged.
  return ids.size === 0 ? input : (swap(input, ids) as T);
}

/** Two `file()` values with the same path are one file. */
function identity(media: Media): unknown {
  return media instanceof LocalFile ? media.path : media;
}

function collect(value: unknown, found: Map<unknown, Media>): void {
  if (isMedia(value)) found.set(identity(value), value);
  else if (typeof fieldOf(value, 'then') === 'function')
    throw badArgument('There is a promise in the input: await it first.', 'input');
  else if (typeof value === 'object' && value !== null)
    for (const each of Object.values(value)) collect(each, found);
}

function swap(value: unknown, ids: Map<unknown, string>): unknown {
  if (isMedia(value)) return ids.get(identity(value));
  if (Array.isArray(value)) return value.map((each) => swap(each, ids));
  if (!isPlain(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, swap(each, ids)]));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !('toJSON' in value);
}

function isMedia(value: unknown): value is Media {
  return (
    value instanceof Blob ||
    value instanceof LocalFile ||
    ArrayBuffer.isView(value) ||
    value instanceof ArrayBuffer ||
    isStream(value)
  );
}

function isStream(value: unknown): value is ByteStream {
  if (typeof value !== 'object' || value === null) return false;
  // Not every browser can iterate its own streams.
  return value instanceof ReadableStream || Symbol.asyncIterator in value;
}
