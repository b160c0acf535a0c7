import { ApiError } from '../../core/errors.ts';
import { verify } from '../../core/request/signature.ts';
import { expiry, outputsGone } from '../../core/request/views.ts';
import * as requests from '../../db/requests/requests.ts';
import { isUuid } from '../../lib/id.ts';
import { openEndpoint } from '../endpoint.ts';
import { cleared } from '../requests/status.ts';
import { holder, sendStored, signedLink } from './stored.ts';

const shapes = { params: ['request_id', 'index'], rawQuery: signedLink } as const;

/**
 * GET and HEAD /requests/{request_id}/output/{index}: for anyone with a valid signature, otherwise
 * for the owning account.
 */
export const read = openEndpoint(shapes, async ({ req, reply }, deps) => {
  const { request_id: idText, index: indexText } = req.params;
  // Links are signed over the id in lower case, however the path spells it.
  const request_id = idText.toLowerCase();
  const index = /^(0|[1-9]\d{0,5})$/.test(indexText) ? Number(indexText) : -1;
  const account = await holder(req, reply, deps, (link) =>
    verify(deps.secrets, { ...link, request_id, index }),
  );
  if (!isUuid(request_id) || index < 0) throw new ApiError('not_found');
  const row = await deps.operations.status(request_id);
  // guard: own-outputs
  if (!row || (account !== null && row.account_id !== account) || row.status !== 'COMPLETED')
    throw new ApiError('not_found');
  if (row.cleared_at !== null) throw cleared();
  const output = (await requests.findOutputs(deps.db, [request_id])).find(
    (each) => each.index === index,
  );
  if (!output) throw new ApiError('not_found');
  // guard: outputs-end-after-a-day
  if (outputsGone(row, Date.now(), deps.links)) throw new ApiError('expired');
  return sendStored(req, reply, output, deps);
});
