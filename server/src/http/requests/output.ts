import { ApiError } from '../../core/errors.ts';
import { isFinal } from '../../core/request/request.ts';
import { endOutputs } from '../../db/requests/request-steps.ts';
import { keyedEndpoint } from '../endpoint.ts';
import * as s from '../schemas/schema.ts';
import { requestId as idSchema } from './schema.ts';
import { requireOwn, requestId } from './status.ts';
import type { RequestDeps } from '../deps.ts';

const DeletedOutput = s.namedObject('DeletedOutput', {
  request_id: idSchema,
  deleted: s.boolean('Always true.'),
});

/** DELETE /requests/{request_id}/output: the card stays, without what the model made. */
export const remove = keyedEndpoint(
  { params: ['request_id'], reply: DeletedOutput },
  async ({ req }, deps: RequestDeps) => {
    const { id, kind, status } = requireOwn(req, await deps.operations.status(requestId(req)));
    if (kind === 'text')
      throw new ApiError('not_found', { message: 'A chat has no output that could be deleted.' });
    if (!isFinal(status))
      throw new ApiError('request_not_ready', {
        message: 'The request has not ended, so it has no output yet. Cancel it, or wait.',
        details: { status },
      });
    await endOutputs(deps.db, [id]);
    deps.hints.tellChanged([id]);
    deps.hints.work();
    return { request_id: id, deleted: true };
  },
);
