import type { Transition } from '../core/request/request.ts';
import type { Claimed } from '../db/requests.ts';
import { outputPrefix } from './finish.ts';
import type { StepDeps } from './step.ts';

/**
 * Deletes a request's outputs: their time is over. What is known of them stays, their bytes do not.
 */
export async function expire(row: Claimed, deps: StepDeps): Promise<Transition> {
  await deps.storage.removeAll(outputPrefix(row.id));
  return { id: row.id, attempt: row.attempt, to: 'expired' };
}
