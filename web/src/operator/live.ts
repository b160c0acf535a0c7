import type { CallArguments, OperatorCalls } from '../api.ts';
import { previous, useOperatorQuery } from '../queries.ts';

/** How often live data is loaded again, only while the tab is visible. */
export const liveMs = 5_000;

type LiveRoute = 'GET /attention' | 'GET /catalog' | 'GET /queue' | 'GET /upstreams';

/** A reply that changes by itself. */
export function useLive<R extends LiveRoute>(route: R) {
  const options = { ...previous, refetchInterval: liveMs };
  return useOperatorQuery(route, {} as CallArguments<OperatorCalls, R>, options);
}
