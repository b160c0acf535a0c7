import { judgeUrl } from '../../lib/outbound/address.ts';
import { FetchError, isSuccess, type Fetch, type Reply } from '../../lib/outbound/fetch.ts';
import { outcomeOfReply, whyOfFault, objectIn } from '../replies.ts';
import type { InputFile, NotAccepted, Rejection } from '../upstream.ts';
import { callFal, reasonOf, type Fal } from './wire.ts';
import type { UpstreamRefusal } from '../../core/catalog/upstream-key.ts';

/** Uploads callers' files to fal's storage. Uploads cost nothing, and no job exists yet. */

/** Larger files are uploaded in parts. */
const singleMaxBytes = 90_000_000;
const partBytes = 10 * 1024 * 1024;
/** fal deletes the file after this time, which is longer than any job may take. */
const keptSeconds = 2 * 86_400;
const replyMaxBytes = 64 * 1024;
const askTimeoutMs = 30_000;
const partTimeoutMs = 120_000;
const putTimeoutMs = 600_000;

/** The file was not uploaded, so the job was not submitted. */
export class NotUploaded extends Error {
  readonly outcome: NotAccepted | Rejection;
  constructor(outcome: NotUploaded['outcome']) {
    super(outcome.message);
    this.outcome = outcome;
  }
}

interface UploadTarget {
  file_url: string;
  upload_url: URL;
  /**
   * The fetch for this address: the guarded one unless the origin is the storage's own, because
   * another host name could resolve to an address in our own network.
   */
  fetch: Fetch;
}

/**
 * Uploads a file and returns its address in the storage.
 *
 * @throws NotUploaded
 */
export async function upload(fal: Fal, file: InputFile, signal: AbortSignal): Promise<string> {
  try {
    const isLarge = file.size > singleMaxBytes;
    const target = await uploadTargetFor(fal, file, isLarge, signal);
    await (isLarge ? putParts : putAtOnce)(fal, target, file, signal);
    return target.file_url;
  } catch (error) {
    if (error instanceof NotUploaded) throw error;
    if (error instanceof FetchError)
      throw notUploaded(whyOfFault(error), `its storage: ${error.message}`);
    throw notUploaded('busy', 'a file of the input could not be read');
  }
}

function notUploaded(why: UpstreamRefusal, message: string): NotUploaded {
  return new NotUploaded({ outcome: 'not_accepted', why, message });
}

async function uploadTargetFor(
  fal: Fal,
  { content_type, file_name }: InputFile,
  isLarge: boolean,
  signal: AbortSignal,
): Promise<UploadTarget> {
  const verb = isLarge ? 'initiate-multipart' : 'initiate';
  const reply = await callFal(fal, {
    method: 'POST',
    url: `${fal.rest}/storage/upload/${verb}?storage_type=fal-cdn-v3`,
    headers: {
      'x-fal-object-lifecycle': JSON.stringify({ expiration_duration_seconds: keptSeconds }),
    },
    json: { content_type, file_name: file_name ?? nameFor(content_type) },
    timeoutMs: askTimeoutMs,
    maxBytes: replyMaxBytes,
    signal,
  });
  if (!isSuccess(reply.status)) throw refusal(fal, reply);
  const { file_url, upload_url } = objectIn(reply) ?? {};
  if (typeof file_url !== 'string' || !/^https?:\/\//.test(file_url))
    throw notUploaded('busy', 'its storage gave no address for a file');
  return { file_url, ...uploadAddress(fal, upload_url) };
}

function nameFor(content_type: string): string {
  const [, kind = 'bin'] = /\/([a-z0-9]+)/.exec(content_type) ?? [];
  return `input.${kind}`;
}

/**
 * A caller's file is uploaded only to the storage itself or to the public Internet, whatever
 * address a reply names.
 */
function uploadAddress(
  { rest, tools }: Fal,
  given: unknown,
): Pick<UploadTarget, 'upload_url' | 'fetch'> {
  const { origin } = new URL(rest);
  const text = String(given);
  const isOwn = URL.canParse(text) && new URL(text).origin === origin;
  const verdict = judgeUrl(text, { httpsOnly: !isOwn, exempt: () => isOwn });
  if (!verdict.ok) throw notUploaded('busy', 'its storage gave an unusable upload address');
  return { upload_url: verdict.url, fetch: isOwn ? tools.fetch : tools.guarded };
}

/** The outcome of a start whose file the storage refused. */
function refusal(fal: Fal, reply: Reply): NotUploaded {
  const message = `its storage: ${reasonOf(fal, reply)}`;
  const outcome = outcomeOfReply(reply, fal.tools.now());
  // No job was submitted, so the outcome is never unknown; and a 404 is not about a model here.
  if (outcome.outcome === 'unknown') return notUploaded('busy', message);
  if (outcome.outcome === 'rejected') {
    const refused = 'A file of the input was refused.';
    return new NotUploaded({ outcome: 'rejected', message: refused, unasked: true });
  }
  if (outcome.why === 'model') return notUploaded('busy', message);
  return new NotUploaded({ ...outcome, message });
}

async function putAtOnce(fal: Fal, target: UploadTarget, file: InputFile, signal: AbortSignal) {
  const body = file.size === 0 ? new Uint8Array() : await file.open();
  const headers = {
    'content-type': file.content_type,
    // The storage refuses a body of unknown length.
    'content-length': String(file.size),
  };
  const { href: url } = target.upload_url;
  await put(fal, { ...target, url }, body, headers, putTimeoutMs, signal);
}

/** Sends bytes without our key: the address needs none. */
async function put(
  fal: Fal,
  { url, fetch }: { url: string; fetch: Fetch },
  body: Uint8Array | AsyncIterable<Uint8Array>,
  headers: Record<string, string>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Reply> {
  const limits = { timeoutMs, maxBytes: replyMaxBytes, signal };
  const reply = await fetch.request({ url, method: 'PUT', headers, body, ...limits });
  if (!isSuccess(reply.status)) throw refusal(fal, reply);
  return reply;
}

async function putParts(fal: Fal, target: UploadTarget, file: InputFile, signal: AbortSignal) {
  const { origin, pathname, search } = target.upload_url;
  const at = (step: string) => `${origin}${pathname}/${step}${search}`;
  const parts: { partNumber: number; etag: string }[] = [];
  for await (const bytes of inParts(await file.open())) {
    const partNumber = parts.length + 1;
    const part = { ...target, url: at(String(partNumber)) };
    const reply = await put(fal, part, bytes, {}, partTimeoutMs, signal);
    const etag = objectIn(reply)?.etag ?? reply.headers.etag;
    if (typeof etag !== 'string') throw notUploaded('busy', 'its storage lost a part of a file');
    parts.push({ partNumber, etag });
  }
  const reply = await target.fetch.request({
    method: 'POST',
    url: at('complete'),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ parts }),
    timeoutMs: partTimeoutMs,
    maxBytes: replyMaxBytes,
    signal,
  });
  if (!isSuccess(reply.status)) throw refusal(fal, reply);
}

async function* inParts(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    let rest = chunk;
    while (size + rest.length >= partBytes) {
      const room = partBytes - size;
      yield Buffer.concat([...waiting, rest.subarray(0, room)]);
      rest = rest.subarray(room);
      waiting = [];
      size = 0;
    }
    if (rest.length > 0) waiting.push(rest);
    size += rest.length;
  }
  if (size > 0) yield Buffer.concat(waiting);
}
