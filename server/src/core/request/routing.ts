import type { ModelUpstream } from '../catalog/catalog.ts';
import { isOfKey, type UpstreamRefusal } from '../catalog/upstream-key.ts';

/** Decides in which order the upstreams of a model are tried. Pure. */

/**
 * The routes in the order in which they are tried: as listed, but if weights are given, one route
 * is drawn by weight and comes first. `chance` is at least 0 and below 1.
 */
export function routesInOrder(
  routes: readonly ModelUpstream[],
  chance: number,
): readonly ModelUpstream[] {
  const total = routes.reduce((sum, { weight }) => sum + (weight ?? 0), 0);
  if (total === 0) return routes;
  let left = chance * total;
  const first = routes.find(({ weight }) => (left -= weight ?? 0) < 0)!;
  return [first, ...routes.filter((route) => route !== first)];
}

/**
 * The route with this upstream and model. If the row no longer has that model, the upstream's first
 * route.
 */
export function routeTo(
  routes: readonly ModelUpstream[],
  upstream: string,
  model: string | null,
): ModelUpstream | undefined {
  const there = routes.filter((route) => route.upstream === upstream);
  // guard: meant-model (off: undefined)
  const meant = there.find((route) => route.model === model);
  return meant ?? there[0];
}

export type LostHow = 'slow' | 'unreadable' | 'oversized';

/**
 * Whether the next route is tried after this route's answer was lost, which may cause a second job.
 * It is not tried if `on_lost`, or else `usual`, is `wait`. Otherwise it is tried after a broken
 * connection (`answer` is undefined), and after a slow answer if the row sets `first_byte_seconds`.
 */
export function triesNextRoute(
  { on_lost, first_byte_seconds }: ModelUpstream,
  answer: LostHow | undefined,
  usual: 'next' | 'wait',
): boolean {
  // guard: lost-waits
  if ((on_lost ?? usual) === 'wait') return false;
  // guard: answer-is-no-loss (off: true)
  return answer === undefined || (answer === 'slow' && first_byte_seconds !== undefined);
}

/** A chat call that failed before its reply began. */
export type FailedChat =
  | { outcome: 'unknown'; answer?: LostHow }
  | { outcome: 'not_accepted'; why?: UpstreamRefusal; limited?: boolean; waited?: true };

/** The next try after a chat call failed: with the route's next key, at the next route, or none. */
export function nextTry(
  failed: FailedChat,
  route: ModelUpstream,
  isLast: boolean,
): 'key' | 'route' | 'nothing' {
  if (failed.outcome === 'not_accepted') {
    if (failed.waited) return 'nothing';
    return isOfKey(failed) ? 'key' : 'route';
  }
  return !isLast && triesNextRoute(route, failed.answer, 'next') ? 'route' : 'nothing';
}

export interface NextRoute {
  route: ModelUpstream;
  /** True if every route has been tried once, so a pause should follow. */
  again: boolean;
}

/**
 * The routes to try after the route at `at` was not accepted: first the routes listed after it,
 * then the routes before it. `at` is -1 if that route no longer exists. A model that is listed
 * twice at one upstream counts as one route.
 */
export function routesAfter(routes: readonly ModelUpstream[], at: number): NextRoute[] {
  const others = routes.flatMap((route, index) => {
    const isFirst = routeTo(routes, route.upstream, route.model) === route;
    return isFirst && index !== at ? [{ route, again: index < at }] : [];
  });
  return [...others.filter(({ again }) => !again), ...others.filter(({ again }) => again)];
}

/** The first usable route; null if there is none. */
export function routeAfter(
  routes: readonly ModelUpstream[],
  at: number,
  usable: (route: ModelUpstream) => boolean,
): NextRoute | null {
  return routesAfter(routes, at).find(({ route }) => usable(route)) ?? null;
}
