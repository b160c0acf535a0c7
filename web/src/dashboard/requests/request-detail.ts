import { useQuery } from '@tanstack/react-query';
import { isFinal } from '../../../../client/src/watch.ts';
import { useAccount, useAccountApi } from '../../session.tsx';

/**
 * How often an open request is loaded again without an event: its place in the queue changes too.
 */
const lookMs = 5_000;

export function useRequest(request_id: string) {
  const { account_id } = useAccount();
  const api = useAccountApi();
  return useQuery({
    queryKey: ['account', account_id, 'request', request_id],
    queryFn: ({ signal }) => api('GET /requests/:request_id', { params: { request_id }, signal }),
    refetchInterval: ({ state }) => (state.data && !isFinal(state.data) ? lookMs : false),
  });
}
