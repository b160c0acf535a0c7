import { constants, createWriteStream, openSync, statSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Farebox, MediaFile, Output, RequestCard } from '../../index.ts';
import { mediaIn } from '../../outputs.ts';
import { extensionOf, usualExtension } from './file-name.ts';
import {
  filesFor,
  noTerminal,
  stillFree,
  targetOf,
  tooMany,
  type FileTarget,
  type Target,
} from './target.ts';
import { showPicture } from '../terminal/picture.ts';
import {
  bar,
  bytesText,
  LiveLine,
  oneLine,
  paint,
  plain,
  print,
  remark,
} from '../terminal/terminal.ts';

/** Saves the outputs of a request as files. */

type Media = Pick<MediaFile, 'url' | 'content_type'> & Partial<MediaFile>;

export interface SaveOptions {
  /** A file, a folder, "-" for stdout, or null: named after the prompt, in `folder`. */
  out: string | null;
  folder: string;
  force: boolean;
  quiet: boolean;
  json: boolean;
  preview: boolean;
  /** Files of the same outputs, in order, that an earlier command has already saved. */
  before?: SavedFile[];
  /** Called with all files so far, after each except the last. */
  onSaved?(saved: SavedFile[]): void;
  signal?: AbortSignal;
}

export interface SavedFile {
  path: string;
  /** Empty for a text, which has no address. */
  url: string;
  content_type: string;
  size: number;
}

/** Downloads all media of the output and prints their paths, or prints the output's text. */
export async function saveOutput(
  client: Farebox,
  card: RequestCard,
  output: Output,
  options: SaveOptions,
): Promise<SavedFile[]> {
  const media = mediaIn(output);
  const target = targetOf(options.out, options.folder);
  if (target.kind === 'stdout') {
    await toStdout(client, media, output, options.signal);
    return [];
  }
  if (target.kind === 'device') return [await toDevice(client, target, media, output, options)];
  if (media.length === 0 && typeof output.text === 'string') {
    if (options.out !== null) return [saveText(card, output.text, target, options)];
    if (!options.json) await printText(output.text);
    return [];
  }
  const { before = [], force } = options;
  const own = before.map((file) => file.path);
  const files = filesFor(target, card, media, { force, own });
  const saved: SavedFile[] = [];
  for (const [at, one] of media.entries()) {
    const there = stillThere(before[at]);
    const file = there?.path ?? stillFree(files[at]!, force);
    const size = there?.size ?? (await fetchOne(client, one, file, options));
    saved.push({ path: file, url: one.url, content_type: one.content_type, size });
    if (at + 1 < media.length) options.onSaved?.(saved);
    if (!options.json) await say(one, file, size, options);
    remarkOnType(file, one, options.quiet);
  }
  return saved;
}

function stillThere(file: SavedFile | undefined): SavedFile | undefined {
  const found = file && statSync(file.path, { throwIfNoEntry: false });
  return found?.isFile() && found.size === file?.size ? file : undefined;
}

/** Prints a text; in a pipe, unchanged. */
function printText(text: string): Promise<void> {
  return written(`${process.stdout.isTTY ? plain(text) : text}\n`);
}

function saveText(
  card: RequestCard,
  text: string,
  target: FileTarget,
  { force, json }: SaveOptions,
): SavedFile {
  const content_type = 'text/plain';
  const [file] = filesFor(target, card, [{ content_type }], { force, own: [] });
  writeFileSync(file!, text);
  if (!json) print(nearPath(file!));
  return { path: file!, url: '', content_type, size: Buffer.byteLength(text) };
}

async function toStdout(
  client: Farebox,
  media: Media[],
  output: Output,
  signal?: AbortSignal,
): Promise<void> {
  if (media.length === 0 && typeof output.text === 'string') return printText(output.text);
  if (media.length !== 1) throw tooMany(media.length, '-');
  if (process.stdout.isTTY) throw noTerminal();
  const bytes = await client.download(media[0]!.url, { signal });
  for await (const chunk of bytes.stream()) await written(chunk);
}

/** Writes the output into a device or a pipe, which a download to a file would replace. */
async function toDevice(
  client: Farebox,
  { path: to, isPipe }: Extract<Target, { kind: 'device' }>,
  media: Media[],
  output: Output,
  { signal, json }: SaveOptions,
): Promise<SavedFile> {
  const [one] = media;
  if (media.length > 1) throw tooMany(media.length, to);
  const { url, content_type } = one ?? { url: '', content_type: 'text/plain' };
  const bytes = one ? await client.download(url, { signal }) : new Blob([output.text ?? '']);
  // Otherwise the system would wait, deaf to signals, until somebody reads from the pipe.
  const flags = constants.O_WRONLY | (isPipe ? constants.O_NONBLOCK : 0);
  const fd = openSync(to, flags);
  const sink = isPipe ? new Socket({ fd, readable: false }) : createWriteStream(to, { fd });
  await pipeline(Readable.from(bytes.stream()), sink, { signal });
  if (!json) print(to);
  return { path: to, url, content_type, size: bytes.size };
}

/** Tells of a file whose name says another type than its bytes have. */
function remarkOnType(file: string, media: Media, quiet: boolean): void {
  const named = usualExtension(path.extname(file));
  if (named === null || named === extensionOf(media)) return;
  remark(quiet, `${nearPath(file)} holds ${oneLine(media.content_type)}, whatever its name says.`);
}

/** Resolves once stdout has taken the part; rejects if the write fails. */
function written(part: Uint8Array | string): Promise<void> {
  return new Promise((go, fail) =>
    process.stdout.write(part, (error) => (error ? fail(error) : go())),
  );
}

async function fetchOne(
  client: Farebox,
  { url }: Media,
  to: string,
  { quiet, signal }: SaveOptions,
): Promise<number> {
  const line = new LiveLine(quiet);
  const name = path.basename(to);
  try {
    const written = await client.download(url, {
      to,
      signal,
      onProgress: ({ sent, total }) =>
        line.show(
          total === null
            ? `${bytesText(sent)}  ${name}`
            : `${bar(sent / (total || 1))} ${bytesText(sent)} of ${bytesText(total)}  ${name}`,
        ),
    });
    return written.size;
  } finally {
    line.end();
  }
}

function nearPath(target: string): string {
  const near = path.relative(process.cwd(), target);
  return near.startsWith('..') || path.isAbsolute(near) ? target : near;
}

/** Reports a saved file. In a pipe stdout gets only the path. */
async function say(media: Media, target: string, size: number, options: SaveOptions) {
  const shown = nearPath(target);
  if (!process.stdout.isTTY) return print(shown);
  if (options.preview) await showPicture(target, media.content_type, size);
  const facts = [
    media.width && media.height ? `${media.width} x ${media.height}` : '',
    media.duration ? `${media.duration} s` : '',
    bytesText(size),
  ].filter(Boolean);
  print(
    `${paint(process.stdout, 'green', '✔')} ${plain(shown)}  ${paint(process.stdout, 'dim', facts.join(' · '))}`,
  );
}

/** The charge, with the quote if they differ. */
export function chargeText(charged: string, quoted: string): string {
  return charged === quoted ? `Charged ${charged}` : `Charged ${charged} of ${quoted} reserved`;
}
