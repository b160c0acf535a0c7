import { accessSync, constants, existsSync, statSync, type Stats } from 'node:fs';
import path from 'node:path';
import type { RequestCard } from '../../index.ts';
import { messageOf } from '../../unknown.ts';
import { usage } from '../exits.ts';
import { makeFolder, tryFolder } from '../folders.ts';
import { usualName, type TypedMedia } from './file-name.ts';

/** Where outputs are saved, and the names of their files. */

export type Target =
  | { kind: 'stdout' }
  /** A device or a pipe, which takes one output. */
  | { kind: 'device'; path: string; isPipe: boolean }
  | { kind: 'folder'; path: string }
  | { kind: 'file'; path: string };

export type FileTarget = Extract<Target, { kind: 'folder' | 'file' }>;

/** `out`: the value of --out; null: the folder. Throws if nothing can be written there. */
export function targetOf(out: string | null, folder: string): Target {
  if (out === '-' || out === '/dev/stdout') return { kind: 'stdout' };
  const full = path.resolve(folder, out ?? '.');
  const found = stateOf(full);
  if (out === null || isFolder(out) || found?.isDirectory()) return { kind: 'folder', path: full };
  if (!found || found.isFile()) return { kind: 'file', path: full };
  if (found.isFIFO() || found.isCharacterDevice())
    return { kind: 'device', path: full, isPipe: found.isFIFO() };
  throw usage(`${out} is not a file.`, elsewhere);
}

const elsewhere = 'Give another path with --out.';

function stateOf(full: string): Stats | undefined {
  try {
    return statSync(full, { throwIfNoEntry: false });
  } catch (error) {
    throw unwritable(full, error);
  }
}

function isFolder(out: string): boolean {
  return /[/\\]$/.test(out);
}

interface ExpectedOutputs {
  force: boolean;
  /** The number of outputs, if it is known. */
  count: number;
  /** Whether the output is a text, which a terminal can show. */
  isText: boolean;
}

/** Throws, before anything is spent, if the outputs could not be saved. */
export function checkOut(out: string | null, { force, count, isText }: ExpectedOutputs): void {
  const target = targetOf(out, '.');
  if (target.kind === 'stdout' || target.kind === 'device') {
    if (count > 1) throw tooMany(count, out!);
    if (target.kind === 'device') demandWritable(target.path);
    else if (process.stdout.isTTY && !isText) throw noTerminal();
    return;
  }
  if (target.kind === 'folder') return demandFolder(target.path, 'output');
  const files = numbered(Array.from({ length: count }, () => target.path));
  const taken = files.find((file) => !force && existsSync(file));
  if (taken !== undefined) {
    const name = count > 1 ? path.join(path.dirname(out!), path.basename(taken)) : out;
    throw usage(`${name} already exists.`, 'Give another name, or --force to replace it.');
  }
  const parent = path.dirname(target.path);
  if (!existsSync(parent))
    throw usage(
      `There is no folder ${path.dirname(out!)}.`,
      'Create it, or end the path with "/".',
    );
  demandFolder(parent, path.basename(files.at(-1)!));
}

export function tooMany(count: number, out: string) {
  const name = out === '-' ? 'stdout' : out;
  return usage(
    `There are ${count} outputs, but ${name} takes only one.`,
    'Give a folder with --out.',
  );
}

export function noTerminal() {
  return usage('A terminal cannot show these bytes.', 'Redirect stdout to a file or a pipe.');
}

function demandFolder(folder: string, name: string): void {
  try {
    tryFolder(folder, name);
  } catch (error) {
    throw unwritable(folder, error);
  }
}

function demandWritable(file: string): void {
  try {
    accessSync(file, constants.W_OK);
  } catch (error) {
    throw unwritable(file, error);
  }
}

function unwritable(where: string, error: unknown) {
  // The rest of the system's message is a path again.
  return usage(`Nothing can be written to ${where}: ${messageOf(error).split(',')[0]}.`, elsewhere);
}

/**
 * The files of a request's outputs, in order; a missing folder is made. The outputs are paid for, so
 * if one name is taken, all of them get free names instead of an error. `own`: files that an earlier
 * command has saved.
 */
export function filesFor(
  target: FileTarget,
  card: RequestCard,
  media: readonly TypedMedia[],
  { force, own }: { force: boolean; own: readonly string[] },
): string[] {
  if (target.kind === 'folder') makeFolder(target.path);
  const wanted = media.map((one) =>
    target.kind === 'folder' ? path.join(target.path, usualName(card, one)) : target.path,
  );
  const files = numbered(wanted);
  if (force) return files;
  return free(files, (file) => own.includes(file) || !existsSync(file));
}

/** The file, or a free one if it was made since the names were chosen. */
export function stillFree(file: string, force: boolean): string {
  return force ? file : free([file], (each) => !existsSync(each))[0]!;
}

function free(files: string[], isFree: (file: string) => boolean): string[] {
  for (let n = 1; ; n++) {
    const named = n === 1 ? files : files.map((file) => beforeExtension(file, `_${n}`));
    if (named.every(isFree)) return named;
  }
}

/** `a-01.png`, `a-02.png` …, in an order that `*` keeps; a single name stays as it is. */
function numbered(files: string[]): string[] {
  if (files.length === 1) return files;
  const digits = String(files.length).length;
  return files.map((file, at) => beforeExtension(file, `-${String(at + 1).padStart(digits, '0')}`));
}

function beforeExtension(file: string, text: string): string {
  const { dir, name, ext } = path.parse(file);
  return path.join(dir, `${name}${text}${ext}`);
}
