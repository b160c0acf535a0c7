import { getRouteApi } from '@tanstack/react-router';
import { anyText, oneOf, type AddressValues } from '../address.ts';
import { errorCodes, requestFilters, statuses } from './requests/request-search.ts';
import { kinds } from '../studio/form/gallery-filter.ts';

/** The choices that these pages offer; their queries may contain no others. */
export const offered = {
  periods: ['1', '7', '30', '90'],
  accounts: ['active', 'suspended', 'operators'],
  tabs: ['keys', 'requests', 'statement', 'log'],
  statuses,
  errors: errorCodes,
  rows: ['sold', 'stopped', 'hidden', 'problem', 'all'],
  upstreams: ['all', 'trouble', 'not_set_up'],
  open: ['IN_QUEUE', 'IN_PROGRESS'],
  ages: ['60', '600', '3600', '86400'],
  outcomes: ['open', 'resolved', 'all'],
  deposits: ['held', 'credited', 'ignored', 'all'],
  whys: ['unconfirmed', 'unmatched', 'review', 'dust', 'token', 'operator'],
} as const;

const { account: _, ...ofAccount } = requestFilters;

/** How each page reads its query, by path. */
export const searches = {
  '/operator': { days: oneOf(offered.periods) },
  '/operator/accounts': { q: anyText, only: oneOf(offered.accounts) },
  '/operator/accounts/$account_id': { tab: oneOf(offered.tabs), ...ofAccount },
  '/operator/accounts/$account_id/receipts/$transfer_id': {},
  '/operator/catalog': {
    q: anyText,
    kind: oneOf(kinds),
    state: oneOf(offered.rows),
    upstream: anyText,
  },
  '/operator/catalog/row/$': {},
  '/operator/upstreams': { only: oneOf(offered.upstreams) },
  '/operator/upstreams/$upstream': {},
  '/operator/requests': requestFilters,
  '/operator/requests/$request_id': {},
  '/operator/queue': {
    upstream: anyText,
    status: oneOf(offered.open),
    older: oneOf(offered.ages),
    account: anyText,
  },
  '/operator/unknown': { state: oneOf(offered.outcomes) },
  '/operator/chains': {},
  '/operator/deposits': {
    state: oneOf(offered.deposits),
    why: oneOf(offered.whys),
    chain: anyText,
    account: anyText,
    tx: anyText,
  },
  '/operator/vouchers': {},
  '/operator/invitations': {},
  '/operator/keys': {},
  '/operator/settings': { q: anyText },
  '/operator/log': { by: anyText, action: anyText, account: anyText },
};
export type Page = keyof typeof searches;

type Change<P extends Page> = { [Name in keyof (typeof searches)[P]]?: string | undefined };

/** The query, and a function that changes it; empty fields are left out. */
export function useAddress<P extends Page>(
  page: P,
): [AddressValues<(typeof searches)[P]>, (change: Change<P>) => void] {
  const route = getRouteApi(`/signed-in/operators${page}`);
  const search: AddressValues<(typeof searches)[P]> = route.useSearch();
  const navigate = route.useNavigate();
  const change = (given: Change<P>) => {
    const next = Object.entries({ ...search, ...given }).filter(([, value]) => value);
    void navigate({ to: '.', search: Object.fromEntries(next), replace: true });
  };
  return [search, change];
}
