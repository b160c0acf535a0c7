import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { call, type CallOptions } from '../api.ts';

/** How often what goes on now is read anew; only while somebody looks at it. */
export const liveMs = 5_000;

/** Figures that change by themselves. */
export function useLive<T>(path: string, query: CallOptions['query'] = {}) {
  return useQuery({
    queryKey: ['operator', path, query],
    queryFn: ({ signal }) => call<T>(`/api/operator${path}`, { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: liveMs,
  });
}
