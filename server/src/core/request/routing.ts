import type { ModelUpstream } from '../catalog/catalog.ts';

/** Which upstream of a model is tried first, and which after it. Pure. */

/**
 * The routes in the order in which they are tried: as listed, after one that is drawn by weight if
 * weights are given. `chance` is from 0 up to, not including, 1.
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

/** The route by this name, or the first of its upstream if the row no longer names that model. */
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

/** How an answer was lost. */
export type LostHow = 'slow' | 'unreadable' | 'oversized';

/**
 * Whether the next route is tried after an answer of this one was lost, which may make a second
 * job. `answer`: what is known of it; an answer that came, or was only slow, is no reason. `usual`:
 * the rule if the row states none.
 */
export function goesOn(
  { on_lost, first_byte_seconds }: ModelUpstream,
  answer: LostHow | undefined,
  usual: 'next' | 'wait',
): boolean {
  // guard: lost-waits
  if ((on_lost ?? usual) === 'wait') return false;
  // guard: answer-is-no-loss (off: true)
  return answer === undefined || (answer === 'slow' && first_byte_seconds !== undefined);
}

export interface NextRoute {
  route: ModelUpstream;
  /** Every route was tried once, so it is time for a pause. */
  again: boolean;
}

/**
 * The routes to try after the one at `at` was not accepted, going round; -1: the route is gone. A
 * model that is named twice at one upstream is one route.
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
