/** The routes that an operator sets in place of the file's. Pure. */

import { ApiError } from '../errors.ts';
import type { ModelUpstream } from './catalog.ts';

/** A route in the order in which they are tried. */
export interface SetRoute {
  /** The name of the upstream. */
  name: string;
  /** The upstream's own name of the model, if not all routes there are meant. */
  model?: string;
  /** Per cent of new requests that try it first; null: only the order decides. */
  share: number | null;
}

/** As a call gives it. */
export type GivenRoute = Omit<SetRoute, 'share'> & { share?: number | null };

/** Throws `bad_request` if a route is not of the row, is named twice, or the shares do not fit. */
export function readRoutes(
  routes: readonly ModelUpstream[],
  given: readonly GivenRoute[],
): SetRoute[] {
  const unknown = given.find((each) => !routes.some((route) => isMeant(each, route)));
  if (unknown !== undefined) {
    const known = [...new Set(routes.map(({ upstream }) => upstream))];
    const what = unknown.model === undefined ? '' : ` with the model ${unknown.model}`;
    throw invalid(`The row has no upstream ${unknown.name}${what}; it has ${known.join(', ')}.`, {
      reason: 'route_unknown',
      details: { name: unknown.name, one_of: known },
    });
  }
  const twice = routes.find((route) => given.filter((each) => isMeant(each, route)).length > 1);
  if (twice !== undefined)
    throw invalid(`${twice.upstream} is named twice. Name each upstream once.`, {
      reason: 'route_twice',
      details: { name: twice.upstream },
    });
  const shares = sharesOf(given);
  return given.map(({ name, model }, at) => ({
    name,
    ...(model !== undefined && { model }),
    share: shares === null ? null : shares[at]!,
  }));
}

/** Shares in per cent; as parts of one they are taken, too. */
function sharesOf(given: readonly GivenRoute[]): number[] | null {
  const shares = given.map(({ share }) => share ?? null);
  if (shares.every((share) => share === null)) return null;
  const total = shares.reduce<number>((sum, share) => sum + (share ?? 0), 0);
  const isWhole = (whole: number) => Math.abs(total - whole) < 1e-9 * whole;
  if (!shares.includes(null) && (isWhole(100) || isWhole(1)))
    return percents(shares.map((share) => share!));
  throw invalid('The shares must add up to 100, and each upstream needs one; or give none.', {
    reason: 'shares_total',
    details: { total },
  });
}

/** Shares in per cent, rounded to tenths. The largest share takes the difference to 100. */
function percents(parts: readonly number[]): number[] {
  const total = parts.reduce((sum, part) => sum + part, 0);
  const tenths = parts.map((part) => Math.round((1000 * part) / total));
  const rest = 1000 - tenths.reduce((sum, each) => sum + each, 0);
  const largest = tenths.lastIndexOf(Math.max(...tenths));
  return tenths.map((each, at) => (at === largest ? each + rest : each) / 10);
}

function isMeant({ name, model }: GivenRoute, route: ModelUpstream): boolean {
  return route.upstream === name && (model === undefined || route.model === model);
}

/**
 * The row's routes as set. Routes that the file no longer has are left out; empty if it has none of
 * them. If an upstream has several, the first one gets its share.
 */
export function withRoutes(
  routes: readonly ModelUpstream[],
  set: readonly SetRoute[],
): ModelUpstream[] {
  return set.flatMap((each) =>
    routes
      .filter((route) => isMeant(each, route))
      .map((route, at) => ({
        ...route,
        weight: each.share === null ? null : at === 0 ? each.share : 0,
      })),
  );
}

/** The routes in the form in which they are set; shares in per cent. */
export function routesOf(routes: readonly ModelUpstream[]): (SetRoute & { model: string })[] {
  const weights = routes.map(({ weight }) => weight ?? 0);
  const shares = weights.some((weight) => weight > 0) ? percents(weights) : null;
  return routes.map(({ upstream: name, model }, at) => ({
    name,
    model,
    share: shares === null ? null : shares[at]!,
  }));
}

function invalid(
  message: string,
  about: Required<Pick<ConstructorParameters<typeof ApiError>[1] & object, 'reason' | 'details'>>,
): ApiError {
  return new ApiError('bad_request', { message, param: 'upstreams', ...about });
}
