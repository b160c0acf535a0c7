import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { createContext, use, type ReactNode } from 'react';
import { accountApi, api, ApiFailure, authCall, type AccountCalls, type Caller } from './api.ts';
import type { Account, Me, Role } from './api-types.ts';

/** The signed-in user, and which of their accounts the pages show. */

type Right = 'view' | 'build' | 'pay' | 'own';

const rights: Record<Role, readonly Right[]> = {
  owner: ['view', 'build', 'pay', 'own'],
  developer: ['view', 'build'],
  billing: ['view', 'pay'],
  read_only: ['view'],
};

export const meQuery = {
  queryKey: ['me'],
  queryFn: async (): Promise<Me | null> => {
    try {
      return await api('GET /api/me');
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 401) return null;
      throw error;
    }
  },
  staleTime: 60_000,
};

/** The start page: the console, for an operator who has no account of a customer. */
export function homeOf({ is_operator, accounts }: Me): '/dashboard' | '/operator' {
  return is_operator && accounts.every((account) => account.is_operator)
    ? '/operator'
    : '/dashboard';
}

/** Undefined while loading, null when signed out. */
export function useMe(): Me | null | undefined {
  return useQuery(meQuery).data;
}

const Chosen = createContext<Account | null>(null);

const storageKey = 'farebox-account';

/** The account shown last, or the first one. */
export function chooseAccount(accounts: Account[]): Account | null {
  const last = localStorage.getItem(storageKey);
  return accounts.find(({ account_id }) => account_id === last) ?? accounts[0] ?? null;
}

export function keepAccount(account_id: string): void {
  localStorage.setItem(storageKey, account_id);
}

export function AccountScope({ account, children }: { account: Account; children: ReactNode }) {
  return <Chosen value={account}>{children}</Chosen>;
}

/** The account that the pages show. */
export function useAccount(): Account {
  const account = use(Chosen);
  if (account === null) throw new Error('there is no account here');
  return account;
}

/** Whether the user may do this in the account; a suspended account is read-only. */
export function useMay(right: Right): boolean {
  return mayIn(useAccount(), right);
}

/** Whether the user's role forbids this. Ignores a suspension, which has its own banner. */
export function useRoleForbids(right: Right): boolean {
  return !rights[useAccount().role].includes(right);
}

export function mayIn({ role, status }: Account, right: Right): boolean {
  return rights[role].includes(right) && (right === 'view' || status === 'active');
}

export function useSwitchAccount(): (account_id: string) => void {
  const queries = useQueryClient();
  const router = useRouter();
  return (account_id) => {
    keepAccount(account_id);
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] === 'account' });
    void router.invalidate();
  };
}

export function useSignOut(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await authCall('/sign-out', {});
    queries.clear();
    // A full load, so that no data of this user stays in memory.
    location.assign('/sign-in');
  };
}

/** The key of cached data of an account, by route and arguments. */
export function accountKey(account_id: string, ...parts: unknown[]): readonly unknown[] {
  return ['account', account_id, ...parts];
}

/** `/keys` → the path of that call for the shown account. */
export function useAccountPath(): (path: string) => string {
  const { account_id } = useAccount();
  return (path) => `/api/accounts/${account_id}${path}`;
}

export function useAccountApi(): Caller<AccountCalls> {
  return accountApi(useAccount().account_id);
}
