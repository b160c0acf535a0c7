import { ApiError } from '../../core/errors.ts';
import { outputsGone } from '../../core/request/views.ts';
import * as requests from '../../db/requests/requests.ts';
import { NoPlace } from '../../lib/fair-queue.ts';
import { isUuid } from '../../lib/id.ts';
import { thumbnailSizes } from '../../storage/thumbnail.ts';
import { matches } from '../api/cached.ts';
import { leftOf } from '../call.ts';
import { choice, object, optional, text } from '../schemas/schema.ts';
import { visitEndpoint } from '../endpoint.ts';
import { placed } from '../overload.ts';

/** Browsers ask each time, so that they show nothing after a sign-out. */
const cacheControl = 'private, no-cache';

/**
 * GET /requests/:request_id/thumbnail: a small copy of output 0, or of the output that `index`
 * names, if it is an image.
 */
export const thumbnail = visitEndpoint(
  {
    params: ['request_id'],
    query: object({ index: optional(text()), size: optional(choice(thumbnailSizes)) }),
  },
  async ({ req, reply, query, params }, deps) => {
    const { index = '0', size = 'square' } = query;
    const id = params.request_id;
    const row = isUuid(id) ? await deps.operations.status(id) : null;
    if (row?.account_id !== req.account_id || row.status !== 'COMPLETED')
      throw new ApiError('not_found');
    if (outputsGone(row, Date.now(), deps.links)) throw new ApiError('expired');
    const outputs = await requests.findOutputs(deps.db, [id]);
    const output = outputs.find((each) => String(each.index) === index);
    const etag = `"${output?.sha256}-${size}"`;
    const headers = { etag, 'cache-control': cacheControl };
    if (output && matches(req.headers['if-none-match'], etag))
      return reply.code(304).headers(headers).send();
    const left = leftOf(req, reply);
    const made = output ? deps.thumbnails.of(row.account_id, output, size, left) : null;
    // An output that cannot be read as an image has no thumbnail.
    const unread = (error: unknown) => {
      if (error instanceof NoPlace) throw error;
      return null;
    };
    const bytes = made && (await placed(made.catch(unread), 'small pictures', deps));
    if (bytes === null) throw new ApiError('not_found');
    return reply.type('image/webp').headers(headers).send(bytes);
  },
);
