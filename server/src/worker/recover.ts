import type { Transition } from '../core/request/request.ts';
import { triesNextRoute, routeTo } from '../core/request/routing.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import { canBeFound, endUnknown, recoverSeconds, routeAfterLost } from './lost.ts';
import { isOff, startedAt, startedName } from './routes.ts';
import { start } from './start.ts';
import { callOff } from './stop.ts';
import { waitTransition, type StepDeps } from './step.ts';

/**
 * Goes on after a start whose answer is unknown, because its process died or the answer was lost.
 * The upstream's class decides how. If the upstream cannot recognise a repeated start, the next
 * route is tried if the catalog allows it; otherwise the request ends.
 */
export async function recover(
  row: ClaimedRequest,
  deps: StepDeps,
  signal: AbortSignal,
): Promise<Transition | null> {
  const upstream = startedAt(row, deps);
  const { id, attempt, started_in } = row;
  const later = Math.max(recoverSeconds, deps.settings.FAREBOX_POLL_SECONDS);
  if (!upstream) {
    if (!isOff(row)) await deps.missingUpstream(startedName(row));
    return waitTransition(row, later, { outcome: 'unknown' });
  }
  const task = deps.catalog().models.get(row.model_id)?.task ?? '';
  // guard: lost-start-ends
  // guard: class-c-sent-once
  if (!canBeFound(row, upstream, task, deps)) return giveOn(row, upstream, deps);
  // guard: class-b-searched-first (off: true)
  if (upstream.class === 'A') return start(row, deps, signal);
  if (upstream.class === 'B' && upstream.find) {
    const handle = await upstream.find(row.id, signal);
    const wake_seconds = deps.settings.FAREBOX_POLL_SECONDS;
    if (handle)
      return { id, attempt, to: 'accepted', started_in: started_in!, handle, wake_seconds };
    // A job that was just made may not be listed yet, so only the second empty answer is trusted.
    if (row.outcome !== 'missing')
      return waitTransition(row, recoverSeconds, { outcome: 'missing' });
    return row.cancel_asked ? callOff(row) : start(row, deps, signal);
  }
  return waitTransition(row, later, { outcome: 'unknown' });
}

/**
 * If the process died during the call, and the catalog allows it, goes to the next route; otherwise
 * ends the request.
 */
async function giveOn(
  row: ClaimedRequest,
  upstream: Upstream,
  deps: StepDeps,
): Promise<Transition> {
  const model = deps.catalog().models.get(row.model_id);
  const route = model && routeTo(model.upstreams, upstream.name, row.upstream_model);
  // If the answer was lost in a living process, `lost` has already looked for another route.
  if (!model || !route || row.outcome !== null) return endUnknown(row);
  const usual = upstream.synchronous?.has(model.task) ? 'next' : 'wait';
  const next = triesNextRoute(route, undefined, usual)
    ? await routeAfterLost(row, { model, route }, deps)
    : null;
  if (next === null) return endUnknown(row);
  const message = 'the process that made the call ended before the answer came';
  return { ...waitTransition(row, next.seconds, { outcome: 'unknown', message }), ...next.move };
}
