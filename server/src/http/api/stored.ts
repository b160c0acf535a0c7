import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { objectOf } from '../../lib/json.ts';
import { authenticate, keyHeaders } from '../auth.ts';
import { challenge } from '../errors.ts';
import { waitToReply } from '../connections.ts';
import type { FileDeps, RequestDeps } from '../deps.ts';
import * as s from '../schemas/schema.ts';
import { matches } from './cached.ts';
import { parseRange } from './range.ts';

/** Downloads of stored bytes with a signed link or with a key of the account. */

interface StoredBytes {
  size: number;
  content_type: string;
  sha256: string;
  file_name: string;
  storage_key: string;
}

export const signedLink = s.object({
  exp: s.optional(
    s.integer('The time until which the link works, in Unix seconds.', {
      minimum: 0,
      example: 1_772_452_803,
    }),
  ),
  sig: s.optional(
    s.text('Signature of the link: unpadded base64url.', {
      pattern: '^[A-Za-z0-9_-]{43}$',
      example: 'Zk3xH0m1Yb7QpVtq2n8sJcWf5aLrD9uEoT6gKiBvXyM',
    }),
  ),
});

interface PresentedLink {
  exp: unknown;
  sig: unknown;
  now_seconds: number;
}

/** Types that browsers show in the page; all others are only downloaded. */
const inline =
  /^(image\/(png|jpeg|webp|gif|avif|bmp)|video\/(mp4|webm|quicktime)|audio\/[a-z0-9.+-]+)$/;

/** Returns null if the signature allows the download, otherwise the account of the key. */
export async function authorizeDownload(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: RequestDeps,
  judge: (link: PresentedLink) => 'valid' | 'expired' | 'invalid',
): Promise<string | null> {
  const { exp, sig } = objectOf(req.query);
  const byKey = async () => {
    const { account_id } = (await authenticate(req, reply, deps, 'spend')).caller;
    req.belongsTo(account_id);
    return account_id;
  };
  if (exp === undefined && sig === undefined) return byKey();
  const verdict = judge({ exp, sig, now_seconds: Math.floor(Date.now() / 1000) });
  // guard: bad-link-opens-nothing (off: true)
  if (verdict === 'valid') return null;
  if (keyHeaders(req).length > 0) return byKey();
  if (verdict === 'expired') throw new ApiError('expired');
  throw new ApiError('unauthorized', {
    message: 'The signature of this link is not valid. Fetch response_url for a fresh link.',
    headers: challenge,
  });
}

/**
 * The caller must not think that the file was deleted: the disk may not be mounted, or a backup may
 * have the file.
 */
function missing(storage_key: string): ApiError {
  return new ApiError('internal_error', {
    message:
      'This file is missing, although it has not expired. Try again later; if it is still missing, give the operator the request_id.',
    cause: new Error(`${storage_key} is not in the storage`),
  });
}

/** For bytes that callers and upstreams made: browsers show them and run nothing. */
export const storedHeaders = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'access-control-allow-origin': '*',
  'referrer-policy': 'no-referrer',
};

/**
 * Whether an address in the store serves the caller as well. Stores refuse calls with a key of
 * ours, and answer scripts of pages only if the bucket names their origin; our pages load nothing
 * of another origin.
 */
function canReadElsewhere({ method, headers }: FastifyRequest): boolean {
  const isKeyed = headers.authorization !== undefined || headers['x-api-key'] !== undefined;
  const isPage = headers.origin !== undefined || headers['sec-fetch-site'] === 'same-origin';
  return method === 'GET' && !isKeyed && !isPage;
}

/** `linkSeconds`: the caller may be sent to the store, where the bytes are theirs for so long. */
export async function sendStored(
  req: FastifyRequest,
  reply: FastifyReply,
  stored: StoredBytes,
  deps: FileDeps,
  linkSeconds = 0,
): Promise<unknown> {
  const { size, content_type, sha256, file_name, storage_key } = stored;
  const etag = `"${sha256}"`;
  const disposition = `${inline.test(content_type) ? 'inline' : 'attachment'}; filename="${file_name}"`;
  reply.headers({ 'cache-control': 'private, no-store', ...storedHeaders });
  const isCurrent = matches(req.headers['if-none-match'], etag);
  if (linkSeconds >= 1 && !isCurrent && canReadElsewhere(req)) {
    const link = { seconds: Math.floor(linkSeconds), content_type, disposition };
    const place = await deps.storage.linkTo(storage_key, link);
    if (place !== null) return reply.redirect(place);
  }
  reply.headers({ etag, 'accept-ranges': 'bytes', 'content-disposition': disposition });
  if (isCurrent) return reply.code(304).send();
  const ifRange = req.headers['if-range'];
  // RFC 9110 defines ranges for GET only.
  const isPart = req.method === 'GET' && (ifRange === undefined || ifRange === etag);
  const range = isPart ? parseRange(req.headers.range, size) : null;
  if (range === 'unsatisfiable') {
    reply.removeHeader('etag').removeHeader('content-disposition');
    reply.header('content-range', `bytes */${size}`);
    throw new ApiError('bad_request', {
      message: `The range is outside the file, which has ${size} bytes.`,
      param: 'range',
      status: 416,
    });
  }
  const part = range ?? { start: 0, end: size - 1 };
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${size}`);
  reply.type(content_type).header('content-length', String(part.end - part.start + 1));
  if (req.method === 'HEAD') return reply.send();
  // Node begins all pipelined calls of a connection at once, and bytes that are written before the
  // earlier replies are sent wait in memory.
  if (!(await waitToReply(reply.raw))) return reply.hijack();
  const stream = await deps.storage.open(storage_key, part);
  if (stream === null) throw missing(storage_key);
  return reply.send(Readable.from(stream, { objectMode: false }));
}
