import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { verify } from '../../core/request/signature.ts';
import { expiry, outputsGone } from '../../core/request/views.ts';
import * as requests from '../../db/requests/requests.ts';
import { isUuid } from '../../lib/id.ts';
import { FileDamaged } from '../../storage/picture.ts';
import { thumbnailSizes, type ThumbnailSize } from '../../storage/thumbnail.ts';
import { leftOf } from '../call.ts';
import type { FileDeps } from '../deps.ts';
import { openEndpoint } from '../endpoint.ts';
import { withShareRefusals } from '../overload.ts';
import { outputsDeleted } from '../requests/status.ts';
import * as s from '../schemas/schema.ts';
import { matches } from './cached.ts';
import { authorizeDownload, sendStored, signedLink, storedHeaders } from './stored.ts';

const shapes = {
  params: ['request_id', 'index'],
  query: s.object({
    size: s.optional(
      s.choice(thumbnailSizes, 'A small WebP in its place: of 128 × 128, or at most 640 × 640.'),
    ),
  }),
  rawQuery: signedLink,
} as const;

/**
 * GET and HEAD /requests/{request_id}/output/{index}: for anyone with a valid signature, otherwise
 * for the owning account.
 */
export const read = openEndpoint(shapes, async ({ req, reply, query }, deps) => {
  const { request_id: idText, index: indexText } = req.params;
  // Links are signed over the id in lower case, however the path spells it.
  const request_id = idText.toLowerCase();
  const index = /^(0|[1-9]\d{0,5})$/.test(indexText) ? Number(indexText) : -1;
  const account = await authorizeDownload(req, reply, deps, (link) =>
    verify(deps.secrets, { ...link, request_id, index }),
  );
  if (!isUuid(request_id) || index < 0) throw new ApiError('not_found');
  const row = await deps.operations.status(request_id);
  // guard: own-outputs
  if (!row || (account !== null && row.account_id !== account) || row.status !== 'COMPLETED')
    throw new ApiError('not_found');
  if (row.cleared_at !== null) throw outputsDeleted();
  const output = (await requests.findOutputs(deps.db, [request_id])).find(
    (each) => each.index === index,
  );
  if (!output) throw new ApiError('not_found');
  // guard: outputs-end-after-a-day
  if (outputsGone(row, Date.now(), deps.links)) throw new ApiError('expired');
  if (query.size !== undefined)
    return sendThumbnail({ req, reply, row, output, size: query.size }, deps);
  const leftSeconds = (expiry(row, deps.links).getTime() - Date.now()) / 1000;
  return sendStored(req, reply, output, deps, account === null ? leftSeconds : 0);
});

interface ThumbnailReply {
  req: FastifyRequest;
  reply: FastifyReply;
  row: requests.StatusRow;
  output: requests.OutputRow;
  size: ThumbnailSize;
}

async function sendThumbnail(
  { req, reply, row, output, size }: ThumbnailReply,
  deps: FileDeps,
): Promise<unknown> {
  const etag = `"${output.sha256}-${size}"`;
  const seconds = Math.floor((expiry(row, deps.links).getTime() - Date.now()) / 1000);
  const headers = {
    ...storedHeaders,
    etag,
    'accept-ranges': 'none',
    'content-disposition': `inline; filename="${output.file_name}.webp"`,
    // The bytes never change, and nothing is shown after the link has expired.
    'cache-control': `private, max-age=${Math.max(0, seconds)}, immutable`,
  };
  if (matches(req.headers['if-none-match'], etag)) return reply.code(304).headers(headers).send();
  const isKept = async () => {
    const now = await deps.operations.status(row.id);
    return now !== null && !outputsGone(now, Date.now(), deps.links);
  };
  const call = { account_id: row.account_id, signal: leftOf(req, reply), isKept };
  const made = deps.thumbnails.findOrMake(output, size, call).catch((error: unknown) => {
    // Outages of the storage are not the output's state, and pass.
    if (!(error instanceof FileDamaged)) throw error;
    return null;
  });
  const bytes = await withShareRefusals(made, 'small pictures', deps);
  if (bytes === null)
    throw new ApiError('not_found', { message: 'There is no small version of this output.' });
  return reply.type('image/webp').headers(headers).send(bytes);
}
