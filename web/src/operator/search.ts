import { useNavigate, useSearch } from '@tanstack/react-router';

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
