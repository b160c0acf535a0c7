import { isMediaField } from '../core/catalog/media-input.ts';
import { FetchError, isSuccess, type Reply } from '../lib/outbound/fetch.ts';
import { isObject } from '../lib/json.ts';
import { plainData } from '../lib/data-address.ts';
import { yieldEach, pieces } from '../lib/streams.ts';
import { HandOverFailed, outcomeOfReply, unreadIn, whyOfFault } from './replies.ts';
import type { HoldBytes, InputFile, NotAccepted, Rejection, StartJob } from './upstream.ts';

/** Hands a caller's media over to an upstream. */

const depthMax = 6;
const pieceBytes = 64 * 1024;

/** The input can never be handed over; the message is for the caller. */
export class InputRefused extends Error {
  /** For a chat call: the field at fault. */
  param?: string;
}

/**
 * The job's input with each media value replaced by what `handOver` returns for it. `handOver` gets
 * `data:` addresses in their plain form. A media value is a text in a field named `url`, `urls`,
 * `…_url` or `…_urls`, or any text that names a stored file. Media in fields that the row does not
 * know are left out, because they are not priced.
 */
export async function mapMedia(
  { input, fields, files }: Pick<StartJob, 'input' | 'fields' | 'files'>,
  handOver: (value: string, field: string) => Promise<unknown>,
): Promise<Record<string, unknown>> {
  const isMedia = (value: string, field: string) =>
    value !== '' && (isMediaField(field) || Object.hasOwn(files, value));
  const walk = async (value: unknown, field: string, depth: number): Promise<unknown> => {
    if (typeof value === 'string')
      return isMedia(value, field) ? handOver(plainData(value), field) : value;
    if (depth > depthMax) return value;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value) items.push(await walk(item, field, depth + 1));
      return items;
    }
    if (!isObject(value)) return value;
    const entries: [string, unknown][] = [];
    for (const [name, item] of Object.entries(value))
      entries.push([name, await walk(item, name, depth + 1)]);
    return Object.fromEntries(entries);
  };
  const known = new Set(fields);
  const filled: [string, unknown][] = [];
  for (const [field, value] of Object.entries(input)) {
    if (known.has(field)) filled.push([field, await walk(value, field, 1)]);
    else if (!hasMedia(value, field, isMedia)) filled.push([field, value]);
  }
  return Object.fromEntries(filled);
}

function hasMedia(
  value: unknown,
  field: string,
  isMedia: (value: string, field: string) => boolean,
): boolean {
  if (typeof value === 'string') return isMedia(value, field);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, item]) =>
    hasMedia(item, Array.isArray(value) ? field : name, isMedia),
  );
}

function tooLarge(field: string, maxBytes: number): InputRefused {
  return new InputRefused(`${field} is larger than ${maxBytes} bytes.`);
}

/**
 * The bytes of a file whose size may be unknown. Throws `InputRefused` if there are more than
 * `maxBytes`, and `HandOverFailed` if a stored file cannot be read.
 */
export async function* bytesOf(
  file: InputFile,
  field: string,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let left = maxBytes;
  try {
    for await (const chunk of await file.open()) {
      left -= chunk.length;
      if (left < 0) throw tooLarge(field, maxBytes);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof InputRefused) throw error;
    throw unread(error);
  }
}

/**
 * The file's bytes in memory, each of them counted by `hold`. Throws as `bytesOf` does, and what
 * `hold` throws.
 */
export async function readAll(
  file: InputFile,
  field: string,
  maxBytes: number,
  hold: HoldBytes,
): Promise<Uint8Array[]> {
  const kept: Uint8Array[] = [];
  // Copied into pieces, because a short chunk may keep the whole buffer that it came in.
  for await (const piece of pieces(bytesOf(file, field, maxBytes), pieceBytes)) {
    hold(piece.length);
    kept.push(piece);
  }
  return kept;
}

/**
 * The file with its true size. A file from an address is read into memory first, because nobody can
 * trust the size that its server states. Throws as `readAll` does.
 */
export async function sized(file: InputFile, field: string, maxBytes: number): Promise<InputFile> {
  const { hold, ...known } = file;
  if (!hold) {
    if (file.size > maxBytes) throw tooLarge(field, maxBytes);
    return file;
  }
  const kept = await readAll(file, field, maxBytes, hold);
  const size = kept.reduce((sum, piece) => sum + piece.length, 0);
  return { ...known, size, open: async () => yieldEach(kept) };
}

/**
 * The file's bytes while a body with them is sent. The file is opened with the first read, so a
 * call that is not sent leaves nothing open. Throws `HandOverFailed` if the file cannot be read, or
 * has another size than expected.
 */
export async function* sentBytes({
  size,
  open,
}: Pick<InputFile, 'size' | 'open'>): AsyncGenerator<Uint8Array> {
  let left = size;
  try {
    for await (const chunk of await open()) {
      left -= chunk.length;
      if (left < 0) break;
      yield chunk;
    }
  } catch (error) {
    throw unread(error);
  }
  if (left !== 0)
    throw new HandOverFailed({ message: 'a file has changed its size', unasked: true });
}

function unread(error: unknown): HandOverFailed {
  const message = `a file could not be read: ${String(error)}`;
  return new HandOverFailed({ message, unasked: true });
}

/**
 * The successful reply to a call that hands a file over. The call creates no job, so it may always
 * be repeated.
 *
 * @throws InputRefused if the file is refused for good, otherwise HandOverFailed.
 */
export async function handedOver(call: Promise<Reply>, nowMs: number): Promise<Reply> {
  const reply = await call.catch((error: unknown) => {
    if (!(error instanceof FetchError)) throw error;
    const unread = unreadIn(error);
    if (unread !== null) throw unread;
    const message = `a file was not accepted: ${error.message}`;
    throw new HandOverFailed({ why: whyOfFault(error), message });
  });
  if (isSuccess(reply.status)) return reply;
  const refused = outcomeOfReply(reply, nowMs);
  const message = `a file was not accepted: ${refused.message}`;
  if (refused.outcome === 'rejected') throw new InputRefused(message);
  throw new HandOverFailed(
    refused.outcome === 'not_accepted' ? { ...refused, message } : { message },
  );
}

/** The outcome of a call whose input could not be read; null for any other error. */
export function outcomeUnreadable(error: unknown): NotAccepted | Rejection | null {
  if (error instanceof InputRefused) {
    const { message, param } = error;
    return { outcome: 'rejected', message, ...(param && { param }), unasked: true };
  }
  return error instanceof HandOverFailed ? error.outcome : null;
}

/** The outcome of a start whose input could not be prepared. No job was requested. */
export function outcomeUnprepared(error: unknown): NotAccepted | Rejection {
  const message = `the call could not be prepared: ${String(error)}`;
  return outcomeUnreadable(error) ?? { outcome: 'not_accepted', message, unasked: true };
}
