import type { Transition } from '../core/request/request.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { outputPrefix } from './keep-outputs.ts';
import type { StepDeps } from './step.ts';

/** Deletes the bytes of a request's outputs once they have expired; their rows are kept. */
export async function expire(row: ClaimedRequest, deps: StepDeps): Promise<Transition> {
  await deps.storage.removeAll(outputPrefix(row.id));
  return { id: row.id, attempt: row.attempt, to: 'expired' };
}
