import { failures } from '../core/errors.ts';
import type { Transition } from '../core/request/request.ts';
import { triesNextRoute, routesAfter } from '../core/request/routing.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import type { LostAnswer, Upstream } from '../upstreams/upstream.ts';
import { failedTransition } from './end.ts';
import {
  callbackOf,
  isLeft,
  routePauseMaxSeconds,
  routePauses,
  type ChosenRoute,
} from './routes.ts';
import { triedTransition, type StepDeps } from './step.ts';

/** Seconds until the next try to find a start whose answer was lost. */
export const recoverSeconds = 5;

/**
 * Handles a start whose answer was lost. If the catalog allows it, the next route is tried.
 * Otherwise the job is searched for, or given up at once if the upstream has no way to find it.
 */
export async function handleLost(
  row: ClaimedRequest,
  answer: LostAnswer,
  chosen: ChosenRoute,
  deps: StepDeps,
): Promise<Transition> {
  const { model, route } = chosen;
  const upstream = deps.upstreams.get(route.upstream)!;
  // guard: job-with-id-stays (off: true)
  const isSynchronous = upstream.synchronous?.has(model.task) === true;
  if (triesNextRoute(route, answer.answer, isSynchronous ? 'next' : 'wait')) {
    const next = await routeAfterLost(row, chosen, deps);
    if (next !== null) return { ...triedTransition(row, answer, next.seconds), ...next.move };
  }
  const canFind = canBeFound({ ...row, started_in: row.attempt }, upstream, model.task, deps);
  // If the job cannot be found, the next step ends the request, after this attempt is recorded.
  return triedTransition(row, answer, canFind ? recoverSeconds : 0);
}

/** The next route for the job; null if every other route was already tried or is not set up. */
export async function routeAfterLost(
  row: ClaimedRequest,
  { model, route }: ChosenRoute,
  deps: StepDeps,
) {
  const pauseOf = await routePauses(model, deps);
  const at = model.upstreams.indexOf(route);
  const others = routesAfter(model.upstreams, at).map((each) => each.route);
  const pauses = others
    .filter((each) => !isLeft(row, each) && pauseOf(each) < Infinity)
    .map((each) => ({ ...each, seconds: Math.min(pauseOf(each), routePauseMaxSeconds) }));
  // In order of preference, paused routes last.
  const [next] = pauses.toSorted((one, other) => one.seconds - other.seconds);
  if (next === undefined) return null;
  const { upstream, model: name, seconds } = next;
  const frees_slot = upstream !== row.upstream || seconds > 0;
  return {
    seconds,
    move: { next: { upstream, model: name }, frees_slot, left: true },
  };
}

/** Whether a repeat, a search or a callback may still find the job of a lost start. */
export function canBeFound(
  row: ClaimedRequest,
  upstream: Upstream,
  task: string,
  deps: StepDeps,
): boolean {
  if (upstream.class === 'A') return true;
  if (upstream.class === 'B') return upstream.find !== undefined;
  if (upstream.class === 'C' || upstream.synchronous?.has(task)) return false;
  return callbackOf(row, row.started_in!, upstream.name, deps) !== null;
}

/** Ends a request of unknown outcome. Its reservation is released; the operator bears any cost. */
export function endUnknown(row: ClaimedRequest): Transition {
  const message = failures.outcome_unknown;
  return failedTransition(row, 'outcome_unknown', message, { cause: row.said ?? message });
}
