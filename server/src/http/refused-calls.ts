import type { FastifyRequest } from 'fastify';
import type { ApiError } from '../core/errors.ts';
import { reasons } from '../core/reasons.ts';
import { isUuid } from '../lib/id.ts';
import { fieldOf } from '../lib/unknown.ts';
import { recordModelForLog } from './call.ts';
import type { RequestDeps } from './deps.ts';
import { asApiError } from './errors.ts';

/** Notes a call that was refused, if it came with a key; on the pages, the person sees why. */
export function noteRefusal(thrown: unknown, req: FastifyRequest, deps: RequestDeps): void {
  const { caller } = req;
  const route = req.routeOptions.url ?? '';
  if (!caller || route.startsWith('/api/')) return;
  const error = asApiError(thrown);
  // A key whose calls are refused for their rate is refused before the model is read.
  if (req.model_id === undefined) recordModelForLog(req, fieldOf(req.params, '*'), deps);
  deps.refusals.note({
    account_id: caller.account_id,
    key_id: caller.key_id,
    call_id: req.id,
    model_id: req.model_id ?? null,
    path: pathOf(route, req),
    status: error.status,
    code: error.code,
    reason: reasonOf(error),
  });
}

/** The route with what we know to be an id or a model in place of its parameters. */
function pathOf(route: string, { params, model_id }: FastifyRequest): string {
  const filled = route.replace(/:(\w+)/g, (name: string, of: string) => {
    const value = fieldOf(params, of);
    return isUuid(value) ? value : name;
  });
  return filled.replace('*', () => model_id ?? '*').slice(0, 500);
}

function reasonOf({ details }: ApiError) {
  return reasons.find((each) => each === details?.reason) ?? null;
}
