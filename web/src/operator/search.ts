import { useNavigate, useSearch } from '@tanstack/react-router';

/** What can be chosen on these pages, and so may stand in their addresses. */
export const offered = {
  periods: ['7', '30', '90'],
  accounts: ['active', 'suspended', 'operators'],
  tabs: ['keys', 'requests', 'statement', 'log'],
  statuses: ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'],
  rows: ['all', 'live', 'stopped', 'hidden', 'problem'],
  upstreams: ['all', 'trouble', 'not_set_up'],
  open: ['IN_QUEUE', 'IN_PROGRESS'],
  ages: ['60', '600', '3600', '86400'],
  doubts: ['open', 'resolved', 'all'],
} as const;

type Search = Record<string, string | undefined>;

/** What the address says, and how it is changed; what is empty is left out of it. */
export function useAddress(): [Search, (change: Search) => void] {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const change = (given: Search) => {
    const next = Object.entries({ ...search, ...given }).filter(([, value]) => value);
    void navigate({ to: '.', search: Object.fromEntries(next) as never, replace: true });
  };
  return [search, change];
}
