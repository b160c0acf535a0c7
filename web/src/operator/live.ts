import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { operatorApi, type Args, type OperatorCalls } from '../api.ts';

/** How often live data is loaded again, only while the tab is visible. */
export const liveMs = 5_000;

type LiveRoute = 'GET /attention' | 'GET /catalog' | 'GET /queue' | 'GET /upstreams';

/** A reply that changes by itself. */
export function useLive<R extends LiveRoute>(route: R) {
  return useQuery({
    queryKey: ['operator', route],
    queryFn: ({ signal }) => operatorApi(route, ...([{ signal }] as Args<OperatorCalls, R>)),
    placeholderData: keepPreviousData,
    refetchInterval: liveMs,
  });
}
