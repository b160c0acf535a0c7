import { createRoute, type AnyRoute } from '@tanstack/react-router';
import { anyText, byRules, oneOf } from '../address.ts';
import { lazyPage } from '../components/lazy-page.tsx';
import { kinds } from '../studio/wish.ts';
import { offered } from './search.ts';

/** The pages of who runs the service. */
export function operatorPages(parent: AnyRoute) {
  const operators = createRoute({
    getParentRoute: () => parent,
    id: 'operators',
    component: lazyPage(() => import('./Operators.tsx'), 'Operators'),
  });
  const page = (
    path: string,
    component: ReturnType<typeof lazyPage>,
    rules: Parameters<typeof byRules>[0] = {},
  ) =>
    createRoute({
      getParentRoute: () => operators,
      path,
      component,
      validateSearch: byRules(rules),
    });
  return [
    operators.addChildren([
      page(
        '/operator',
        lazyPage(() => import('./Overview.tsx'), 'Overview'),
        { days: oneOf(offered.periods) },
      ),
      page(
        '/operator/accounts',
        lazyPage(() => import('./Accounts.tsx'), 'Accounts'),
        { q: anyText, only: oneOf(offered.accounts) },
      ),
      page(
        '/operator/accounts/$account_id',
        lazyPage(() => import('./Account.tsx'), 'Account'),
        { tab: oneOf(offered.tabs), status: oneOf(offered.statuses) },
      ),
      page(
        '/operator/catalog',
        lazyPage(() => import('./Catalog.tsx'), 'Catalog'),
        { q: anyText, kind: oneOf(kinds), state: oneOf(offered.rows), upstream: anyText },
      ),
      // A model's id has slashes in it.
      page(
        '/operator/catalog/row/$',
        lazyPage(() => import('./CatalogRow.tsx'), 'CatalogRow'),
      ),
      page(
        '/operator/upstreams',
        lazyPage(() => import('./Upstreams.tsx'), 'Upstreams'),
        { only: oneOf(offered.upstreams) },
      ),
      page(
        '/operator/requests/$request_id',
        lazyPage(() => import('./Request.tsx'), 'Request'),
      ),
      page(
        '/operator/queue',
        lazyPage(() => import('./Queue.tsx'), 'Queue'),
        {
          upstream: anyText,
          status: oneOf(offered.open),
          older: oneOf(offered.ages),
          account: anyText,
        },
      ),
      page(
        '/operator/unknown',
        lazyPage(() => import('./Unknown.tsx'), 'Unknown'),
        { state: oneOf(offered.doubts) },
      ),
      page(
        '/operator/vouchers',
        lazyPage(() => import('./Vouchers.tsx'), 'Vouchers'),
      ),
      page(
        '/operator/invitations',
        lazyPage(() => import('./Invitations.tsx'), 'Invitations'),
      ),
      page(
        '/operator/log',
        lazyPage(() => import('./Log.tsx'), 'Log'),
        { by: anyText, action: anyText, account: anyText },
      ),
    ]),
  ];
}
