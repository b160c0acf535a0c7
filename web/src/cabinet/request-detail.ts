import { useQuery } from '@tanstack/react-query';
import { useAccount, useAccountApi } from '../session.tsx';
import { isOpen } from './request-entries.ts';

/** How often an open request is looked at, should nothing be told of it: its place moves too. */
const lookMs = 5_000;

export function useRequest(request_id: string) {
  const { account_id } = useAccount();
  const api = useAccountApi();
  return useQuery({
    queryKey: ['account', account_id, 'request', request_id],
    queryFn: ({ signal }) => api('GET /requests/:request_id', { params: { request_id }, signal }),
    refetchInterval: ({ state }) => (state.data && isOpen(state.data) ? lookMs : false),
  });
}
