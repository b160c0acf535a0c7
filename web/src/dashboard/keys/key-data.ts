import { useMutation } from '@tanstack/react-query';
import type { AccountCalls, Caller } from '../../api.ts';
import type { Key } from '../../api-types.ts';
import { useAccountApi } from '../../session.tsx';
import { previous, useAccountPages, useReload } from '../../queries.ts';

/** Limits for keys that have none of their own. */
export type Defaults = AccountCalls['GET /keys']['reply']['defaults'];
export type KeyFields = AccountCalls['PATCH /keys/:key_id']['body'];

export function useKeys(state: 'active' | 'all') {
  // Usage and last calls change without any action on this page.
  const options = { ...previous, everyMs: 20_000 };
  return useAccountPages('GET /keys', { query: { state } }, options);
}

/** Changes a key, then reloads the list. */
export function useKeyChange<Input, Changed = Key>(
  change: (input: Input, api: Caller<AccountCalls>) => Promise<Changed>,
) {
  const api = useAccountApi();
  const reload = useReload();
  return useMutation({
    mutationFn: (input: Input) => change(input, api),
    onSettled: () => reload('GET /keys'),
  });
}
