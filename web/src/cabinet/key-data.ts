import {
  useInfiniteQuery,
  useMutation,
  useQueryClient,
  keepPreviousData,
} from '@tanstack/react-query';
import { call } from '../api.ts';
import type { RefusedCalls } from './Refused.tsx';
import { useAccount, useAccountPath } from '../session.tsx';

/** What the operator has set: it can be lowered, not raised or removed. Null: nothing. */
export interface Ceilings {
  monthly_ceiling_usd_micro: string | null;
  rpm_ceiling: number | null;
  open_jobs_ceiling: number | null;
}

export interface Key extends Ceilings {
  key_id: string;
  name: string;
  hint: string;
  last4: string;
  is_studio: boolean;
  state: 'active' | 'expired' | 'revoked';
  monthly_limit_usd_micro: string | null;
  spent_usd_micro: string;
  reserved_usd_micro: string;
  resets_at: string;
  rpm: number | null;
  open_jobs: number | null;
  open_requests: number;
  models: string[] | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  /** Until when the text before the last rotation is good. */
  previous_until: string | null;
  last_used_at: string | null;
  previous_used_at: string | null;
}

/** What a key that has no figures of its own may do. */
export interface Defaults {
  rpm: number;
  open_jobs: number;
}

interface Page {
  data: Key[];
  next_cursor: string | null;
  studio: Key;
  defaults: Defaults;
  refused: RefusedCalls[];
  /** For keys that are made. */
  ceilings: Ceilings;
}

/** A key with its text, which is told once. */
export type NewKey = Key & { key: string };

export interface KeyFields {
  name?: string;
  monthly_limit_usd_micro?: string | null;
  expires_at?: string | null;
  models?: string[] | null;
  rpm?: number | null;
  open_jobs?: number | null;
}

export function useKeys(state: 'active' | 'all') {
  const { account_id } = useAccount();
  const path = useAccountPath();
  return useInfiniteQuery({
    queryKey: ['account', account_id, 'keys', state],
    queryFn: ({ pageParam: cursor, signal }) =>
      call<Page>(path('/keys'), { query: { state, cursor }, signal }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.next_cursor,
    placeholderData: keepPreviousData,
    // Uses and last calls move by themselves.
    refetchInterval: 20_000,
  });
}

/** What can be done with keys; the list is read again after each. */
export function useKeyChange<Given, Made = Key>(
  work: (given: Given, path: (path: string) => string) => Promise<Made>,
) {
  const { account_id } = useAccount();
  const path = useAccountPath();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (given: Given) => work(given, path),
    onSettled: () => queries.invalidateQueries({ queryKey: ['account', account_id, 'keys'] }),
  });
}
