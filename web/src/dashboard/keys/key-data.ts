import {
  useInfiniteQuery,
  useMutation,
  useQueryClient,
  keepPreviousData,
} from '@tanstack/react-query';
import type { AccountCalls, Caller } from '../../api.ts';
import type { Key } from '../../api-types.ts';
import { useAccount, useAccountApi } from '../../session.tsx';

/** Limits for keys without their own. */
export type Defaults = AccountCalls['GET /keys']['reply']['defaults'];
export type KeyFields = AccountCalls['PATCH /keys/:key_id']['body'];

export function useKeys(state: 'active' | 'all') {
  const { account_id } = useAccount();
  const api = useAccountApi();
  return useInfiniteQuery({
    queryKey: ['account', account_id, 'keys', state],
    queryFn: ({ pageParam: cursor, signal }) =>
      api('GET /keys', { query: { state, cursor }, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
    // Usage and last calls change without any action here.
    refetchInterval: 20_000,
  });
}

/** Changes a key, then reloads the list. */
export function useKeyChange<Input, Changed = Key>(
  change: (input: Input, api: Caller<AccountCalls>) => Promise<Changed>,
) {
  const { account_id } = useAccount();
  const api = useAccountApi();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: Input) => change(input, api),
    onSettled: () => queries.invalidateQueries({ queryKey: ['account', account_id, 'keys'] }),
  });
}
