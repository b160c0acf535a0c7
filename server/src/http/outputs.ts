import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../core/errors.ts';
import { verify } from '../core/signature.ts';
import { expiry } from '../core/views.ts';
import * as requests from '../db/requests.ts';
import { isUuid } from '../lib/id.ts';
import { authenticate, challenge } from './auth.ts';
import type { HttpDeps } from './deps.ts';
import { matches } from './models.ts';
import { parseRange } from './range.ts';
import { cleared } from './requests.ts';

/** Shown in the page by browsers; everything else is only ever downloaded. */
const inline =
  /^(image\/(png|jpeg|webp|gif|avif)|video\/(mp4|webm|quicktime)|audio\/[a-z0-9.+-]+)$/;

/**
 * GET and HEAD /requests/{request_id}/output/{index}: with a valid signature by anyone, else by the
 * owning account.
 */
export async function read(
  req: FastifyRequest,
  reply: FastifyReply,
  deps: HttpDeps,
): Promise<unknown> {
  const { request_id: idText, index: indexText } = req.params as Record<string, string>;
  // A link is signed over the id in small letters, however it is written here.
  const request_id = idText!.toLowerCase();
  const index = /^(0|[1-9]\d{0,5})$/.test(indexText!) ? Number(indexText) : -1;
  const account = await allowed(req, reply, request_id, index, deps);
  if (!isUuid(request_id) || index < 0) throw new ApiError('not_found');
  const row = await deps.status(request_id);
  if (!row || (account !== null && row.account_id !== account) || row.status !== 'COMPLETED')
    throw new ApiError('not_found');
  if (row.cleared_at !== null) throw cleared();
  const output = (await requests.findOutputs(deps.db, [request_id])).find(
    (each) => each.index === index,
  );
  if (!output) throw new ApiError('not_found');
  if (row.expires_at === null || expiry(row, deps.links).getTime() <= Date.now())
    throw new ApiError('expired');
  return send(req, reply, output, deps);
}

/** Null: a signature allows it. Otherwise the account of the key. */
async function allowed(
  req: FastifyRequest,
  reply: FastifyReply,
  request_id: string,
  index: number,
  deps: HttpDeps,
): Promise<string | null> {
  const { exp, sig } = req.query as Record<string, unknown>;
  if (exp === undefined && sig === undefined)
    return (await authenticate(req, reply, deps)).account_id;
  const now_seconds = Math.floor(Date.now() / 1000);
  const verdict = verify(deps.secrets, { request_id, index, exp, sig, now_seconds });
  if (verdict === 'valid') return null;
  if (req.headers.authorization !== undefined)
    return (await authenticate(req, reply, deps)).account_id;
  if (verdict === 'expired') throw new ApiError('expired');
  throw new ApiError('unauthorized', {
    message: 'The signature of this link is not valid. Fetch response_url for a fresh link.',
    headers: challenge,
  });
}

async function send(
  req: FastifyRequest,
  reply: FastifyReply,
  output: requests.OutputRow,
  deps: HttpDeps,
): Promise<unknown> {
  const { size, content_type, sha256, file_name, storage_key } = output;
  const etag = `"${sha256}"`;
  reply.headers({
    etag,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    'content-disposition': `${inline.test(content_type) ? 'inline' : 'attachment'}; filename="${file_name}"`,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "sandbox; default-src 'none'",
    'cross-origin-resource-policy': 'cross-origin',
    'access-control-allow-origin': '*',
    'referrer-policy': 'no-referrer',
  });
  if (matches(req.headers['if-none-match'], etag)) return reply.code(304).send();
  const ifRange = req.headers['if-range'];
  const range =
    ifRange === undefined || ifRange === etag ? parseRange(req.headers.range, size) : null;
  if (range === 'unsatisfiable') {
    reply.header('content-range', `bytes */${size}`);
    throw new ApiError('bad_request', {
      message: `The range lies outside the file of ${size} bytes.`,
      param: 'range',
      status: 416,
    });
  }
  const part = range ?? { start: 0, end: size - 1 };
  if (range) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${size}`);
  reply.type(content_type).header('content-length', String(part.end - part.start + 1));
  if (req.method === 'HEAD') return reply.send();
  const stream = await deps.storage.open(storage_key, part);
  if (stream === null) throw new ApiError('expired');
  return reply.send(Readable.from(stream, { objectMode: false }));
}
