import type { Model, ModelUpstream } from '../core/catalog/catalog.ts';
import { callbackUrl } from '../core/request/views.ts';
import { pausedName } from '../core/catalog/upstream-key.ts';
import { readPauses } from '../db/requests/queue.ts';
import type { ClaimedRequest } from '../db/requests/request-steps.ts';
import { byKey } from '../upstreams/keys.ts';
import type { Upstream } from '../upstreams/upstream.ts';
import type { StepDeps } from './step.ts';

/** The routes of a model, for the starts of its requests. */

/** A pause may be ended early, so a route is checked again after this time at the latest. */
export const routePauseMaxSeconds = 120;

export interface ChosenRoute {
  model: Model;
  route: ModelUpstream;
}

/** The upstream and key of the newest start; undefined if these may not be called from here. */
export function startedAt(row: ClaimedRequest, { upstreams }: StepDeps): Upstream | undefined {
  if (isOff(row)) return undefined;
  return byKey(upstreams.get(row.started_upstream ?? row.upstream), row.started_key);
}

/** Whether an operator has switched off the upstream of the newest start. */
export function isOff({ closed, started_upstream, upstream }: ClaimedRequest): boolean {
  return closed[started_upstream ?? upstream] === 'off';
}

/** The name of the upstream and key of the newest start, for the log. */
export function startedName({ started_upstream, upstream, started_key }: ClaimedRequest): string {
  return pausedName(started_upstream ?? upstream, started_key);
}

/** For how many seconds each route is paused; Infinity for a route that is not set up here. */
export async function routePauses(
  model: Model,
  deps: StepDeps,
): Promise<(route: ModelUpstream) => number> {
  const pauseOf = await readPauses(deps.db, model.upstreams);
  return (route) => (deps.upstreams.has(route.upstream) ? pauseOf(route) : Infinity);
}

/** Whether this route may already have made the job, so that it must not be called again. */
export function isLeft(
  { left_routes }: ClaimedRequest,
  { upstream, model }: ModelUpstream,
): boolean {
  const routes = left_routes ?? [];
  // guard: left-route-not-asked-again
  return routes.some((route) => route.upstream === upstream && route.model === model);
}

/**
 * The address for callbacks about an attempt; null if there are none. It contains the attempt's
 * number, so a callback about an earlier attempt is ignored.
 */
export function callbackOf(
  { id: request_id }: ClaimedRequest,
  attempt: number,
  upstream: string,
  { upstreams, settings }: StepDeps,
): string | null {
  if (!upstreams.get(upstream)?.callback) return null;
  return callbackUrl({ upstream, request_id, attempt }, settings.links);
}
