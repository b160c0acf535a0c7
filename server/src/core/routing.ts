import type { ModelUpstream } from './catalog.ts';

/** Which upstream of a model is tried first, and which after it. Pure. */

/**
 * The routes in the order in which they are tried: as they stand, after one that is drawn by weight
 * where weights are given. `chance` is from 0 up to, not including, 1.
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
 * The route to try after `current` was not accepted, going round; null where no other is usable.
 * `again`: each had its turn, so it is time for a pause.
 */
export function routeAfter(
  routes: readonly ModelUpstream[],
  current: string,
  usable: (route: ModelUpstream) => boolean,
): { route: ModelUpstream; again: boolean } | null {
  const at = routes.findIndex(({ upstream }) => upstream === current);
  for (let step = 1; step < routes.length; step++) {
    const index = (at + step) % routes.length;
    const route = routes[index]!;
    if (usable(route)) return { route, again: index < at };
  }
  return null;
}
