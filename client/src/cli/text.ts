import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { codeOf, messageOf } from '../unknown.ts';
import { usage } from './exits.ts';
import { say } from './terminal/terminal.ts';

/**
 * Texts of files and of stdin. Bytes that are not UTF-8 are refused: they would be sent, and paid
 * for, as other characters.
 */

/** The service takes no larger body, except for chats. */
const fileMaxBytes = 1024 * 1024;
const stdinMaxBytes = 16 * 1024 * 1024;

/** The text of a file, which may also be a pipe. `hint`: what to do if it cannot be read. */
export function fileText(path: string, hint: string | null = null): string {
  try {
    return textIn(bytesOf(path), path, fileMaxBytes, hint);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') throw usage(`${path} cannot be read: there is no such file.`, hint);
    if (code === 'EISDIR') throw usage(`${path} is a folder.`, hint);
    if (code !== '') throw usage(`${path} cannot be read: ${messageOf(error)}`, hint);
    throw error;
  }
}

/** At most one byte more than a text may have: some files have no end. */
function bytesOf(path: string): Buffer {
  const bytes = Buffer.alloc(fileMaxBytes + 1);
  const file = openSync(path, 'r');
  try {
    let size = 0;
    for (let read; size < bytes.length; size += read) {
      read = readSync(file, bytes, size, bytes.length - size, null);
      if (read === 0) break;
    }
    return bytes.subarray(0, size);
  } finally {
    closeSync(file);
  }
}

/**
 * Tells that text from a pipe or a file is not read. Programs often leave a socket here, which says
 * nothing.
 */
export function remarkOnUnread(quiet: boolean, how: string): void {
  const { fd, isTTY } = process.stdin;
  if (quiet || isTTY || fd === undefined) return;
  const found = fstatSync(fd);
  if (found.isFIFO() || (found.isFile() && found.size > 0))
    say('yellow', `stdin is not read: ${how}`);
}

/** All of stdin. Throws on a terminal, because a pipe is expected, and at a second call. */
export async function stdinText(): Promise<string> {
  if (process.stdin.isTTY)
    throw usage('Nothing can be read, because stdin is a terminal.', 'Pipe the text in.');
  return readStdin();
}

/** All of stdin, also from a terminal. A synchronous read would fail on an empty pipe. */
export async function readStdin(): Promise<string> {
  const { stdin } = process;
  if (stdin.readableEnded || stdin.destroyed) throw usage('stdin can be read only once.');
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of stdin) {
    parts.push(Buffer.from(part));
    size += part.length;
    if (size > stdinMaxBytes) break;
  }
  return textIn(Buffer.concat(parts), 'stdin', stdinMaxBytes, null);
}

function textIn(bytes: Buffer, name: string, maxBytes: number, hint: string | null): string {
  if (bytes.length > maxBytes)
    throw usage(`${name} is larger than ${maxBytes / 1024 / 1024} MiB, too large for a text.`);
  let text: string | undefined;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // Reported below.
  }
  if (text !== undefined && !text.includes('\0')) return text;
  throw usage(`${name} is not text in UTF-8.`, hint);
}
