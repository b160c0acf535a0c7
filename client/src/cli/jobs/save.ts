import { accessSync, constants, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Farebox, MediaFile, Output, RequestCard } from '../../index.ts';
import { usage } from '../exits.ts';
import { usualName } from './file-name.ts';
import { showPicture } from '../terminal/picture.ts';
import { bar, bytesText, LiveLine, paint, plain, print } from '../terminal/terminal.ts';
import { mediaIn } from '../../outputs.ts';

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

/** Throws, before anything is spent, if the output could not be saved. */
export function checkOut(out: string | null, force: boolean, folder = '.'): void {
  if (out === '-') return;
  const target = path.resolve(folder, out ?? '.');
  const found = statSync(target, { throwIfNoEntry: false });
  if (out !== null && found?.isFile() && !force)
    throw usage(`${out} already exists.`, 'Give another name, or --force to replace it.');
  const parent = found?.isDirectory() || isFolder(out) ? target : path.dirname(target);
  if (existsSync(parent)) checkWritable(parent);
  else if (!isFolder(out))
    throw usage(
      `There is no folder ${path.dirname(out!)}.`,
      `Create it, or end the path with "/".`,
    );
}

function checkWritable(folder: string): void {
  try {
    accessSync(folder, constants.W_OK);
  } catch {
    throw usage(`Nothing can be written to ${folder}.`, 'Give another path with --out.');
  }
}

function isFolder(out: string | null): boolean {
  return out !== null && /[/\\]$/.test(out);
}

/** Downloads all media of the output and prints their paths, or prints the output's text. */
export async function saveOutput(
  client: Farebox,
  card: RequestCard,
  output: Output,
  options: SaveOptions,
): Promise<SavedFile[]> {
  const media = mediaIn(output);
  if (options.out === '-') {
    await toStdout(client, media, output, options.signal);
    return [];
  }
  const saved: SavedFile[] = [];
  for (const [at, one] of media.entries()) {
    const there = stillThere(options.before?.[at]);
    const target = there?.path ?? targetOf(card, one, at, media.length, options);
    const size = there?.size ?? (await fetchOne(client, one, target, options));
    saved.push({ path: target, url: one.url, content_type: one.content_type, size });
    if (at + 1 < media.length) options.onSaved?.(saved);
    if (!options.json) await say(one, target, size, options);
  }
  if (media.length > 0 || typeof output.text !== 'string') return saved;
  if (options.out !== null) saved.push(saveText(card, output.text, options));
  else if (!options.json) await printText(output.text);
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

function saveText(card: RequestCard, text: string, options: SaveOptions): SavedFile {
  const content_type = 'text/plain';
  const target = targetOf(card, { url: '', content_type }, 0, 1, options);
  writeFileSync(target, text);
  if (!options.json) print(nearPath(target));
  return { path: target, url: '', content_type, size: Buffer.byteLength(text) };
}

async function toStdout(
  client: Farebox,
  media: Media[],
  output: Output,
  signal?: AbortSignal,
): Promise<void> {
  if (media.length === 0 && typeof output.text === 'string') return printText(output.text);
  if (media.length !== 1)
    throw usage(
      `There are ${media.length} outputs, but stdout takes only one. Give a folder with --out.`,
    );
  if (process.stdout.isTTY)
    throw usage('A terminal cannot show these bytes.', 'Redirect stdout to a file or a pipe.');
  const bytes = await client.download(media[0]!.url, { signal });
  for await (const chunk of bytes.stream()) await written(chunk);
}

/** Resolves once stdout has taken the part; rejects if the write fails. */
function written(part: Uint8Array | string): Promise<void> {
  return new Promise((go, fail) =>
    process.stdout.write(part, (error) => (error ? fail(error) : go())),
  );
}

function targetOf(
  card: RequestCard,
  media: Media,
  at: number,
  count: number,
  { out, folder, force }: SaveOptions,
): string {
  const target = path.resolve(folder, out ?? '.');
  const isInside =
    out === null || isFolder(out) || statSync(target, { throwIfNoEntry: false })?.isDirectory();
  if (isInside) mkdirSync(target, { recursive: true });
  const wanted = isInside ? path.join(target, usualName(card, media)) : target;
  const numbered = count > 1 ? beforeExtension(wanted, `-${at + 1}`) : wanted;
  if (force || !existsSync(numbered)) return numbered;
  // The output is paid for, so it gets a free name instead of an error.
  for (let n = 2; ; n++) {
    const free = beforeExtension(numbered, `_${n}`);
    if (!existsSync(free)) return free;
  }
}

function beforeExtension(file: string, text: string): string {
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}${text}${ext}`);
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
