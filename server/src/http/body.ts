import type { FastifyReply, FastifyRequest } from 'fastify';
import { Readable } from 'node:stream';
import { setImmediate as otherWork } from 'node:timers/promises';
import { ApiError } from '../core/errors.ts';
import { openHolding, type Holding } from '../lib/budget.ts';
import { isObject, parseInPieces, parseJson } from '../lib/json.ts';
import { formBoundary, MultipartError, parseForm, type FormPart } from '../lib/multipart.ts';
import { leftOf } from './call.ts';
import type { HttpDeps, KeyedRequest, ShareDeps } from './deps.ts';
import { runInShare, takeShare } from './overload.ts';

/** Reads JSON bodies and forms within limits of size, time, memory and shape. */

export const jsonMaxBytes = 1024 * 1024;
export const chatMaxBytes = 10 * 1024 * 1024;
/** Limit of a form with images. Callers upload larger images first. */
export const formMaxBytes = 20 * 1024 * 1024;
const shape = { depth: 64, values: 100_000 };
/** A larger body waits for its account's share before it is parsed, because that takes CPU time. */
const shareFromBytes = 64 * 1024;
/** After so much parsing at a time, all other work goes on. */
const sliceMs = 1;

/**
 * The JSON object of a body. Throws `unsupported_media_type`, `payload_too_large` or `bad_request`.
 * If bodies take too many bytes of memory, throws `rate_limited` if they are this account's,
 * otherwise `capacity_unavailable`.
 */
export async function readObject(
  req: KeyedRequest,
  reply: FastifyReply,
  maxBytes: number,
  deps: HttpDeps,
): Promise<Record<string, unknown>> {
  return (await readHeldObject(req, reply, { maxBytes, beyond: uploadFirst }, deps)).body;
}

/** Base64 in `data:` addresses is what makes bodies too large. */
const uploadFirst =
  ' Upload files with POST /v1/files, and send their file_id in place of their data.';

/** Limits of the JSON that a call takes, and the advice in its refusals. */
interface JsonLimit {
  maxBytes: number;
  /** The types that the call takes, if not JSON only. */
  types?: string;
  /** A sentence for a body that is too large. */
  beyond?: string;
}

/**
 * As `readObject`. The bytes count as held until the call is over, or until `release`. `take`
 * counts more bytes as held, and throws if the memory for bodies is used up.
 */
export async function readHeldObject(
  req: KeyedRequest,
  reply: FastifyReply,
  limit: JsonLimit,
  deps: HttpDeps,
) {
  demandJson(req, limit);
  // The body's bytes and the values made from them stay in memory until the call is over.
  const held = holder(req, deps);
  const bytes = await readBody(req, limit, held.take, deps);
  const body = await parseInShare(bytes, req, reply, deps);
  if (!isObject(body))
    throw new ApiError('bad_request', { message: 'The body must be a JSON object.' });
  const take = (more: number) => {
    if (!held.take(more)) throw tooMuchHeld(req.caller.account_id, more, deps);
  };
  return { body, size: bytes.length, take, release: held.release };
}

async function parseInShare(
  bytes: Buffer,
  req: KeyedRequest,
  reply: FastifyReply,
  { parsing, metrics }: ShareDeps,
): Promise<unknown> {
  if (bytes.length < shareFromBytes) return parseJson(bytes, shape);
  const signal = leftOf(req, reply);
  let tookMs = 0;
  const parse = async () => {
    const pieces = parseInPieces(bytes, shape);
    for (;;) {
      const { ms, value, done } = oneSlice(pieces);
      tookMs += ms;
      await otherWork();
      signal.throwIfAborted();
      if (done) return value;
    }
  };
  const bounds = { metrics, signal, tookMs: () => tookMs };
  return runInShare(parsing, req.caller.account_id, 'large bodies', parse, bounds);
}

/** Goes on until a slice of the event loop's time is over. */
function oneSlice(pieces: Iterator<void, unknown>) {
  const since = performance.now();
  for (;;) {
    const { done = false, value } = pieces.next();
    const ms = performance.now() - since;
    if (done || ms >= sliceMs) return { ms, done, value };
  }
}

/**
 * A form with files, as `read` returns it. Its bytes count as held until the call is over, or until
 * `release`.
 */
export async function readForm<T>(
  req: KeyedRequest,
  reply: FastifyReply,
  read: (parts: FormPart[]) => T,
  deps: ShareDeps,
): Promise<{ form: T; release: () => void }> {
  const { parsing, metrics } = deps;
  const boundary = boundaryOf(req);
  demandPlain(req);
  const { take, release } = holder(req, deps);
  const body = await readBody(req, { maxBytes: formMaxBytes }, take, deps);
  const parse = () => read(parseForm(body, boundary));
  try {
    if (body.length < shareFromBytes) return { form: parse(), release };
    const bounds = { metrics, signal: leftOf(req, reply) };
    const { account_id } = req.caller;
    return { form: await runInShare(parsing, account_id, 'large bodies', parse, bounds), release };
  } catch (error) {
    throw formError(error);
  }
}

/** The error of a broken form as a refusal; any other error as it is. */
export function formError(error: unknown): unknown {
  if (!(error instanceof MultipartError)) return error;
  return new ApiError('bad_request', { message: error.message, cause: error });
}

/** The boundary of a form. Throws `bad_request`. */
export function boundaryOf({ headers }: FastifyRequest): string {
  const boundary = formBoundary(headers['content-type'] ?? '');
  if (boundary !== null) return boundary;
  throw new ApiError('bad_request', {
    message: 'The Content-Type must name the boundary of the form.',
    param: 'content-type',
  });
}

/** True if the Content-Type says that the body is a form. */
export function isForm({ headers }: FastifyRequest): boolean {
  return /^multipart\/form-data\b/i.test(headers['content-type'] ?? '');
}

function demandJson(req: KeyedRequest, { types = 'application/json' }: JsonLimit): void {
  const { 'content-type': type = '' } = req.headers;
  demandPlain(req);
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(type)) {
    throw new ApiError('unsupported_media_type', {
      message: `Send the body as ${types}, in UTF-8.`,
      param: 'content-type',
    });
  }
}

function demandPlain({ headers }: FastifyRequest): void {
  const { 'content-encoding': encoding } = headers;
  if (encoding === undefined || encoding === 'identity') return;
  throw new ApiError('unsupported_media_type', {
    message: 'Send the body without Content-Encoding.',
    param: 'content-encoding',
  });
}

/** `take` counts bytes that are kept; false if there is no room for them. */
function readBody(
  req: KeyedRequest,
  { maxBytes, beyond = '' }: JsonLimit,
  take: (bytes: number) => boolean,
  deps: ShareDeps,
): Promise<Buffer> {
  if (Number(req.headers['content-length']) > maxBytes) throw tooLarge(maxBytes, beyond);
  const stream = bodyStream(req);
  const { account_id } = req.caller;
  return readInShare(account_id, deps, () =>
    collect(
      stream,
      deps.settings.times.bodyMs,
      maxBytes,
      (bytes) => (take(bytes) ? null : tooMuchHeld(account_id, bytes, deps)),
      beyond,
    ),
  );
}

/** The body as a stream: the one from Fastify's parser, or the raw request if there is none. */
export function bodyStream(req: FastifyRequest): Readable {
  return req.body instanceof Readable ? req.body : req.raw;
}

/** Reads a body in this account's or person's share. Throws as `takeShare` does. */
export async function readInShare(
  owner: string,
  deps: Pick<HttpDeps, 'reading' | 'metrics'>,
  read: () => Promise<Buffer>,
): Promise<Buffer> {
  takeShare(deps.reading, owner, 'bodies still on their way', deps);
  try {
    return await read();
  } finally {
    deps.reading.give(owner, 1);
  }
}

/** Counts bytes that a call holds besides its body, until the call is over. */
export function holdBytes(bytes: number, req: KeyedRequest, deps: HttpDeps): void {
  if (!holder(req, deps).take(bytes)) throw tooMuchHeld(req.caller.account_id, bytes, deps);
}

/**
 * `take` counts bytes until the call's work is over, or until `release`; false if there is no room
 * for them.
 */
function holder(req: KeyedRequest, { bodies }: ShareDeps): Holding {
  const held = openHolding(bodies, req.caller.account_id);
  req.atEnd!.push(held.release);
  return held;
}

function tooLarge(maxBytes: number, beyond: string): ApiError {
  return new ApiError('payload_too_large', {
    message: `The body is larger than ${maxBytes} bytes, the most this call accepts.${beyond}`,
    details: { max_bytes: maxBytes },
  });
}

/** The refusal of bytes that do not fit into this account's share, or into the whole memory. */
function tooMuchHeld(owner: string, bytes: number, { bodies }: ShareDeps): ApiError {
  if (bodies.free() >= bytes) {
    const held = bodies.takenBy(owner);
    return new ApiError('rate_limited', {
      message: `The bodies of this account's open calls have ${held} bytes, and this body does not fit beside them. Nothing was charged; send fewer large bodies at once, and retry with backoff.`,
      reason: 'account_share',
      details: { held },
      headers: { 'retry-after': '1' },
    });
  }
  return new ApiError('capacity_unavailable', {
    message:
      "The bodies of this server's open calls have too many bytes. Nothing was charged; send fewer large bodies at once, and retry with backoff.",
  });
}

/** Reads a whole body within `bodyMs`. `refuse` is called for each piece before it is kept. */
export function collect(
  stream: Readable,
  bodyMs: number,
  maxBytes: number,
  refuse: (bytes: number) => ApiError | null = () => null,
  beyond = '',
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const timer = setTimeout(
      () =>
        fail(new ApiError('bad_request', { message: 'The body came too slowly and was cut off.' })),
      bodyMs,
    );
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      const refusal = size > maxBytes ? tooLarge(maxBytes, beyond) : refuse(chunk.length);
      if (refusal) fail(refusal);
      else chunks.push(chunk);
    });
    stream.once('end', () => {
      clearTimeout(timer);
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
    const endedEarly = (cause?: unknown) =>
      fail(new ApiError('bad_request', { message: 'The body ended early.', cause }));
    stream.once('error', endedEarly);
    // If the sender left while the key was looked up, no further event comes.
    if (stream.destroyed) endedEarly();
    function fail(error: ApiError): void {
      clearTimeout(timer);
      stream.removeAllListeners('data');
      stream.resume();
      reject(error);
    }
  });
}
