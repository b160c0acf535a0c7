import { failures } from '../core/errors.ts';
import type { Transition } from '../core/request/request.ts';
import { goesOn, routesAfter } from '../core/request/routing.ts';
import type { Claimed } from '../db/requests.ts';
import type { LostAnswer, Upstream } from '../upstreams/upstream.ts';
import { fail } from './finish.ts';
import { callbackOf, isLeft, restMaxSeconds, restsOf, type Chosen } from './routes.ts';
import { tried, type StepDeps } from './step.ts';

/** After a start whose answer was lost: when to look again. */
export const recoverSeconds = 5;

/**
 * The answer of a start was lost: the next route is tried where the catalog allows it. Else the job
 * is looked for where there is a way to find it, and given up at once where there is none.
 */
export async function lost(
  row: Claimed,
  answer: LostAnswer,
  chosen: Chosen,
  deps: StepDeps,
): Promise<Transition> {
  const { model, route } = chosen;
  const upstream = deps.upstreams.get(route.upstream)!;
  const isSynchronous = upstream.synchronous?.has(model.task) ?? false;
  if (goesOn(route, answer.answer, isSynchronous ? 'next' : 'wait')) {
    const next = await routeAfterLost(row, chosen, deps);
    if (next !== null) return { ...tried(row, answer, next.seconds), ...next.move };
  }
  const canFind = canBeFound({ ...row, started_in: row.attempt }, upstream, model.task, deps);
  // The next step ends it, with what is known of the attempt written down.
  return tried(row, answer, canFind ? recoverSeconds : 0);
}

/** Where the job is tried next; null: every other route was tried, or is not there. */
export async function routeAfterLost(row: Claimed, { model, route }: Chosen, deps: StepDeps) {
  const restOf = await restsOf(model, deps);
  const at = model.upstreams.indexOf(route);
  const others = routesAfter(model.upstreams, at).map((each) => each.route);
  const rests = others
    .filter((each) => !isLeft(row, each) && restOf(each) < Infinity)
    .map((each) => ({ ...each, seconds: Math.min(restOf(each), restMaxSeconds) }));
  // In order of preference, those that are paused last.
  const [next] = rests.toSorted((one, other) => one.seconds - other.seconds);
  if (next === undefined) return null;
  const { upstream, model: name, seconds } = next;
  const frees_place = upstream !== row.upstream || seconds > 0;
  return { seconds, move: { next: { upstream, model: name }, frees_place, left: true } };
}

/** Whether the job of a lost start may still be learnt of: by a repeat, a search or a callback. */
export function canBeFound(
  row: Claimed,
  upstream: Upstream,
  task: string,
  deps: StepDeps,
): boolean {
  if (upstream.class === 'A') return true;
  if (upstream.class === 'B') return upstream.find !== undefined;
  if (upstream.class === 'C' || upstream.synchronous?.has(task)) return false;
  return callbackOf(row, row.started_in!, upstream.name, deps) !== null;
}

/** Nothing more can be learnt: the caller is released at once, the doubt is the operator's. */
export function endUnknown(row: Claimed): Transition {
  const message = failures.outcome_unknown;
  return fail(row, 'outcome_unknown', message, { cause: row.said ?? message });
}
