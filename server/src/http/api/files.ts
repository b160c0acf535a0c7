import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  extensionOf,
  isKnownType,
  typeName,
  typeNames,
  usualType,
} from '../../core/media/content-type.ts';
import { ApiError } from '../../core/errors.ts';
import { fileId, parseFileId } from '../../core/request/file-id.ts';
import { verifyFile } from '../../core/request/signature.ts';
import * as files from '../../db/accounts/files.ts';
import type { Wait } from '../../lib/fair-queue.ts';
import { newId } from '../../lib/id.ts';
import { namesInHeader } from '../../lib/outbound/headers.ts';
import { readHead, leastRate, type Bytes } from '../../lib/streams.ts';
import { isSameType, describe, sniff, sniffBytes } from '../../core/media/sniff.ts';
import { isContainer, typeByTracks } from '../../storage/inspect.ts';
import { boundaryOf, isForm } from '../body.ts';
import { leftOf } from '../call.ts';
import type { CallDeps, FileDeps, HttpDeps, RequestDeps } from '../deps.ts';
import * as s from '../schemas/schema.ts';
import type { Serializable } from '../schemas/serialize.ts';
import { keyedEndpoint, openEndpoint } from '../endpoint.ts';
import { runInShare } from '../overload.ts';
import {
  besideMaxBytes,
  fileInForm,
  metadataOf,
  type FormFile,
  type UploadForm,
} from './form-file.ts';
import { authorizeDownload, sendStored, signedLink } from './stored.ts';

const accepted = /^(image\/(?!svg)|video\/|audio\/|application\/pdf$|text\/plain$)/;
const acceptedNames = typeNames((type) => accepted.test(type));
const acceptedWords = `images, video, audio, PDF and plain text (${acceptedNames})`;

const UploadedFile = s.namedObject('UploadedFile', {
  file_id: s.text('Can be used in place of a URL in any URL field of an input.', {
    pattern: '^file_[0-9a-f]{32}$',
  }),
  content_type: s.text('Found in the bytes.'),
  size: s.integer('Bytes.'),
  sha256: s.text('SHA-256 of the bytes, in hex.', { pattern: '^[0-9a-f]{64}$' }),
  created_at: s.time('When it was stored.'),
  expires_at: s.time('When it is deleted: by default 7 days after it was stored.'),
  id: s.optional(s.text('The `file_id`. This and the next fields: only if the body was a form.')),
  object: s.optional(s.choice(['file'])),
  bytes: s.optional(s.integer('The `size`.')),
  filename: s.optional(s.text('As it was sent. It is not kept.')),
  purpose: s.optional(s.text('As it was sent, else `user_data`. It has no effect.')),
});

/** The form of OpenAI's clients. Other fields are ignored. */
export const uploadForm = s.object({
  file: s.text('The bytes of the file.', { format: 'binary' }),
  purpose: s.optional(s.text('Any text, such as `user_data`.')),
});

/** POST /files: the body is the raw bytes, or a form with the file. */
export const upload = keyedEndpoint(
  { reply: UploadedFile },
  async ({ req, reply }, deps: FileDeps) => {
    const { row, form } = await receiveUpload(newFile(req.caller.account_id), req, reply, deps);
    return { ...viewOf(row), ...(form && askedIn(form, row, reply)) };
  },
);

/** A file as the reply to its upload shows it. */
export function viewOf({ id, ...row }: files.FileRow): Serializable<s.Static<typeof UploadedFile>> {
  const { content_type, size, sha256, created_at, expires_at } = row;
  return { file_id: fileId(id), content_type, size, sha256, created_at, expires_at };
}

type NewFile = Pick<files.FileRow, 'id' | 'account_id' | 'storage_key'>;

export function newFile(account_id: string, id: string = newId()): NewFile {
  return { id, account_id, storage_key: `files/${account_id}/${id}` };
}

interface StoredFile {
  row: files.FileRow;
  /** Null if the body was the raw bytes. */
  form: FormFile | null;
}

/**
 * Stores the body as this file. The storage key must be new, because a failure removes its bytes.
 */
export async function receiveUpload(
  file: NewFile,
  req: FastifyRequest,
  reply: FastifyReply,
  deps: FileDeps,
  fields: UploadForm = { file: 'file' },
): Promise<StoredFile> {
  const { openUploads, settings } = deps;
  const { account_id } = file;
  if (!openUploads.take(account_id, 1)) {
    throw openUploads.takenBy(account_id) < settings.FAREBOX_OPEN_UPLOADS
      ? tooManyHere()
      : tooManyOpen(settings.FAREBOX_OPEN_UPLOADS);
  }
  try {
    return await take(file, req, reply, deps, fields);
  } finally {
    openUploads.give(account_id, 1);
  }
}

function tooManyOpen(limit: number): ApiError {
  return new ApiError('rate_limited', {
    message: `An account may have at most ${limit} uploads open at once. Wait until one has ended.`,
    details: { open_uploads_limit: limit },
    headers: { 'retry-after': '5' },
  });
}

function tooManyHere(): ApiError {
  return new ApiError('capacity_unavailable', {
    message: 'This server has too many open uploads. Nothing was stored; retry with backoff.',
    expected: true,
  });
}

async function take(
  file: NewFile,
  req: FastifyRequest,
  reply: FastifyReply,
  deps: FileDeps,
  fields: UploadForm,
): Promise<StoredFile> {
  const declared = assertHeaders(req);
  const boundary = isForm(req) ? boundaryOf(req) : null;
  const maxBytes = deps.settings.FAREBOX_UPLOAD_MAX_BYTES;
  const length = Number(req.headers['content-length'] ?? 0);
  if (length > maxBytes + (boundary === null ? 0 : besideMaxBytes)) throw tooLarge(maxBytes);
  const { body } = req;
  if (!(body instanceof Readable)) throw emptyBody();
  demandDiskSpace(deps);
  // If the call gives no length, the length is checked again once all bytes have come.
  const max_bytes = await requireFileQuota(file.account_id, length || 1, deps);
  const { uploadLeastBytes, uploadWindowMs } = deps.settings.times;
  // Destroying a refused body would block its connection for ever.
  const bytes = body.iterator({ destroyOnReturn: false });
  const coming = leastRate(bytes, uploadLeastBytes, uploadWindowMs);
  const form = boundary === null ? null : await fileInForm(coming, boundary, fields);
  const { head, stream } = await readHead(form?.bytes ?? coming, sniffBytes);
  if (head.length === 0) throw emptyBody();
  const told = form === null ? declared : knownType(form);
  const sniffed = await typeOf(head, told);
  const { storage, decoding, metrics } = deps;
  const bounds = { storage, decoding, metrics, signal: leftOf(req, reply) };
  const facts = async () => {
    const metadata = form && metadataOf(form, fields);
    return { content_type: await typeOfStored(file, sniffed, told, bounds), metadata };
  };
  const row = await storeBytes(file, facts, stream, max_bytes, deps);
  reply.code(201);
  return { row, form };
}

/** The fields of OpenAI's own reply. */
function askedIn(form: FormFile, { id, size }: files.FileRow, reply: FastifyReply) {
  setIgnoredHeader(form, 'purpose', reply);
  const { filename, texts } = form;
  const purpose = texts.get('purpose') || 'user_data';
  return { id: fileId(id), object: 'file', bytes: size, filename, purpose } as const;
}

/** Names the texts of the form besides the one that counts. */
export function setIgnoredHeader({ texts }: FormFile, known: string, reply: FastifyReply): void {
  const names = [...texts.keys()].map((name) => name.replace(/\[.*/, ''));
  const ignored = namesInHeader([...new Set(names)].filter((name) => name !== known));
  if (ignored.length > 0) reply.header('x-ignored-fields', ignored.join(', '));
}

/** Clients guess the type of a form's file from its name, so it counts only if we know it. */
function knownType({ content_type }: FormFile): string | null {
  return content_type !== null && isKnownType(usualType(content_type)) ? content_type : null;
}

/** The type found in the first bytes. The declared type must agree, if there is one. */
async function typeOf(head: Uint8Array, declared: string | null): Promise<string> {
  const found = await sniff(head);
  if (found === null || !accepted.test(found)) {
    const words = found === null ? await describe(head) : typeName(found);
    const isText = declared !== null && usualType(declared) === 'text/plain';
    throw found === null && (isText || words.startsWith('text '))
      ? unsupported('Plain text must be in UTF-8, without control characters.')
      : unsupported(
          `The bytes are ${words}, which is not accepted. Accepted are ${acceptedWords}.`,
        );
  }
  if (declared !== null && !isSameType(declared, found)) {
    throw unsupported(`The Content-Type is ${declared.slice(0, 100)}, but the bytes are ${found}.`);
  }
  return found;
}

/**
 * The type of stored bytes that begin like the type `sniffed`. `declared`: what the caller calls
 * them, if anything. Waits for the account's share while the caller is there.
 */
function typeOfStored(
  { account_id, storage_key }: NewFile,
  sniffed: string,
  declared: string | null,
  { storage, decoding, ...bounds }: Pick<HttpDeps, 'storage' | 'decoding' | 'metrics'> & Wait,
): Promise<string> {
  if (!isContainer(sniffed)) return Promise.resolve(sniffed);
  const byTracks = () => typeByTracks(storage, storage_key, sniffed, declared);
  return runInShare(decoding, account_id, 'reading video and audio', byTracks, bounds);
}

/**
 * Stores the bytes, if the account's files take no more than `max_bytes` together. `facts` is
 * called once they are stored.
 */
export async function storeBytes(
  file: NewFile,
  facts: () => Promise<Pick<files.FileRow, 'content_type' | 'metadata'>>,
  bytes: Bytes,
  max_bytes: number,
  deps: FileDeps,
): Promise<files.FileRow> {
  const { storage_key } = file;
  const { FAREBOX_UPLOAD_MAX_BYTES: maxBytes, FAREBOX_FILES_MAX: max_files } = deps.settings;
  const stored = await deps.storage.put(storage_key, whileSpace(bytes, deps), { maxBytes });
  const { size, sha256 } = stored;
  try {
    const kept = { ...file, ...(await facts()), size: BigInt(size), sha256 };
    const limits = { ttl_seconds: deps.settings.fileTtlSeconds, max_bytes, max_files };
    return await record({ ...kept, ...limits }, deps);
  } catch (error) {
    // Without a row nobody would ever delete the bytes.
    await deps.storage.remove(storage_key);
    throw error;
  }
}

/** Checks the headers before any byte of the body has come. Returns the Content-Type. */
function assertHeaders({ headers }: FastifyRequest): string {
  const { 'content-type': declared, 'content-encoding': encoding } = headers;
  if (declared === undefined)
    throw unsupported(`Send the Content-Type of the file. Accepted are: ${acceptedWords}.`);
  if (/^multipart\/(?!form-data\b)/i.test(declared))
    throw unsupported(
      'Send the raw bytes of the file, or multipart/form-data with the field file.',
    );
  if (encoding !== undefined && encoding !== 'identity')
    throw unsupported('Send the bytes without Content-Encoding.', 'content-encoding');
  return declared;
}

/** Deletes files. If that fails on the way, nobody finds them any longer, and a worker goes on. */
export async function discard(
  list: Pick<files.FileRow, 'id' | 'storage_key'>[],
  { db, storage }: Pick<HttpDeps, 'db' | 'storage'>,
): Promise<void> {
  const ids = list.map(({ id }) => id);
  await files.expireMany(db, ids);
  for (const { storage_key } of list) await storage.remove(storage_key);
  await files.removeMany(db, ids);
}

async function record(row: Parameters<typeof files.insert>[1], deps: CallDeps) {
  const inserted = await files.insert(deps.db, row);
  if (inserted) return inserted;
  if (await files.findOne(deps.db, row.id)) throw usedUp();
  throw noRoom(await files.readFilesHeld(deps.db, row.account_id, row.max_files), row);
}

export function demandDiskSpace(deps: RequestDeps): void {
  const why = deps.blocked(true);
  if (why !== null) throw new ApiError('capacity_unavailable', { cause: `not ready: ${why}` });
}

/** Stops an upload when the space runs low, even if there was room when it began. */
async function* whileSpace(stream: Bytes, deps: RequestDeps): Bytes {
  for await (const chunk of stream) {
    demandDiskSpace(deps);
    yield chunk;
  }
}

function emptyBody(): ApiError {
  return new ApiError('bad_request', {
    message: 'The body is empty; send the bytes of the file.',
    reason: 'file_empty',
  });
}

function usedUp(): ApiError {
  return new ApiError('bad_request', {
    message: 'This upload address was already used: it takes one file. Ask for another address.',
  });
}

/** Uploads leave this much of the disk free for outputs and everything else. */
const spareBytes = 512 * 1024 * 1024;

/**
 * Refuses in advance an upload that would be refused after its bytes have come. Returns the most
 * bytes that the account's files may take: its limit, or half the sum of its files and the usable
 * free space if that is less.
 */
export async function requireFileQuota(
  account_id: string,
  size: number,
  deps: FileDeps,
): Promise<number> {
  const { FAREBOX_FILES_MAX: max_files, FAREBOX_FILES_MAX_BYTES } = deps.settings;
  const [held, free] = await Promise.all([
    files.readFilesHeld(deps.db, account_id, max_files),
    deps.storage.freeBytes(),
  ]);
  if (!held.had_money) throw neverPaid();
  const taken = Number(held.bytes);
  const share = free === null ? Infinity : Math.floor((free - spareBytes + taken) / 2);
  const max_bytes = Math.min(FAREBOX_FILES_MAX_BYTES, Math.max(0, share));
  if (held.files >= max_files || taken + size > max_bytes)
    throw noRoom(held, { max_bytes, max_files });
  return max_bytes;
}

function neverPaid(): ApiError {
  return new ApiError('insufficient_balance', {
    message: 'Only accounts that have been topped up can upload files. Top up first, then upload.',
    reason: 'top_up_first',
    details: { required_usd_micro: '1', available_usd_micro: '0', reserved_usd_micro: '0' },
  });
}

function noRoom(
  { files: count, bytes, first_expires_at }: files.FilesHeld,
  { max_bytes: maxBytes, max_files }: { max_bytes: number; max_files: number },
): ApiError {
  const expires_at = first_expires_at?.toISOString() ?? null;
  const then = expires_at === null ? '' : ` The first of them expires on ${expires_at}.`;
  if (count >= max_files)
    return new ApiError('payload_too_large', {
      message: `An account may keep up to ${max_files} uploaded files, and yours has as many.${then}`,
      details: { max_files, first_expires_at: expires_at },
    });
  return new ApiError('payload_too_large', {
    message: `The files of an account are limited to ${maxBytes} bytes together; yours have ${bytes}, so this one does not fit.${then}`,
    details: {
      max_bytes_in_all: maxBytes,
      used_bytes: Number(bytes),
      first_expires_at: expires_at,
    },
  });
}

function unsupported(message: string, param = 'content-type'): ApiError {
  return new ApiError('unsupported_media_type', { message, param });
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError('payload_too_large', {
    message: `The file is larger than ${maxBytes} bytes, the largest accepted size.`,
    details: { max_bytes: maxBytes },
  });
}

const readShapes = { params: ['file_id'], rawQuery: signedLink } as const;

/**
 * GET and HEAD /files/{file_id}: for an upstream with a valid signature, otherwise for its account.
 */
export const read = openEndpoint(readShapes, async ({ req, reply }, deps: FileDeps) => {
  const id = parseFileId(req.params.file_id);
  const account = await authorizeDownload(req, reply, deps, (link) =>
    id === null ? 'invalid' : verifyFile(deps.secrets, { ...link, id }),
  );
  return sendFile(req, reply, id, account, deps);
});

/** Sends the bytes of a file. If an account is given, it must own the file. */
export async function sendFile(
  req: FastifyRequest,
  reply: FastifyReply,
  id: string | null,
  account: string | null,
  deps: FileDeps,
): Promise<unknown> {
  const file = id === null ? null : await files.findOne(deps.db, id);
  // guard: own-files
  if (!file || (account !== null && file.account_id !== account)) throw new ApiError('not_found');
  const file_name = `${fileId(file.id)}.${extensionOf(file.content_type)}`;
  return sendStored(req, reply, { ...file, size: Number(file.size), file_name }, deps);
}
