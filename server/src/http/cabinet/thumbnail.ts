import type { FastifyReply } from 'fastify';
import { ApiError } from '../../core/errors.ts';
import { expiry } from '../../core/views.ts';
import * as requests from '../../db/requests.ts';
import { isUuid } from '../../lib/id.ts';
import type { Visit, WebDeps } from '../web/visit.ts';

/** The bytes behind it never change, and are gone after a day. */
const cacheControl = 'private, max-age=3600, immutable';

/** GET /requests/:request_id/thumbnail: the first picture that a request made, made small. */
export async function thumbnail(
  visit: Visit,
  reply: FastifyReply,
  deps: WebDeps,
): Promise<unknown> {
  const { request_id: id } = visit.params as { request_id: string };
  const row = isUuid(id) ? await deps.status(id) : null;
  if (row?.account_id !== visit.account_id || row.status !== 'COMPLETED')
    throw new ApiError('not_found');
  const isOver = row.expires_at === null || expiry(row, deps.links).getTime() <= Date.now();
  if (isOver) throw new ApiError('expired');
  const [first] = await requests.findOutputs(deps.db, [id]);
  // What is no picture after all has no small one either.
  const bytes = first ? await deps.thumbnails.of(first).catch(() => null) : null;
  if (bytes === null) throw new ApiError('not_found');
  return reply
    .type('image/webp')
    .headers({ 'cache-control': cacheControl, 'x-content-type-options': 'nosniff' })
    .send(bytes);
}
