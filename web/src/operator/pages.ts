import { createRoute, type AnyRoute } from '@tanstack/react-router';
import { lazyPage } from '../components/lazy-page.tsx';

const text = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
/** What these pages keep in their address. */
const search = (given: Record<string, unknown>) => ({
  q: text(given.q),
  only: text(given.only),
  days: text(given.days),
  tab: text(given.tab),
  by: text(given.by),
  action: text(given.action),
  account: text(given.account),
  kind: text(given.kind),
  state: text(given.state),
  upstream: text(given.upstream),
  status: text(given.status),
  older: text(given.older),
});

/** The pages of who runs the service. */
export function operatorPages(parent: AnyRoute) {
  const operators = createRoute({
    getParentRoute: () => parent,
    id: 'operators',
    component: lazyPage(() => import('./Operators.tsx'), 'Operators'),
  });
  const page = (path: string, component: ReturnType<typeof lazyPage>) =>
    createRoute({ getParentRoute: () => operators, path, component, validateSearch: search });
  return [
    operators.addChildren([
      page(
        '/operator',
        lazyPage(() => import('./Overview.tsx'), 'Overview'),
      ),
      page(
        '/operator/accounts',
        lazyPage(() => import('./Accounts.tsx'), 'Accounts'),
      ),
      page(
        '/operator/accounts/$account_id',
        lazyPage(() => import('./Account.tsx'), 'Account'),
      ),
      page(
        '/operator/catalog',
        lazyPage(() => import('./Catalog.tsx'), 'Catalog'),
      ),
      // A model's id has slashes in it.
      page(
        '/operator/catalog/row/$',
        lazyPage(() => import('./CatalogRow.tsx'), 'CatalogRow'),
      ),
      page(
        '/operator/upstreams',
        lazyPage(() => import('./Upstreams.tsx'), 'Upstreams'),
      ),
      page(
        '/operator/requests/$request_id',
        lazyPage(() => import('./Request.tsx'), 'Request'),
      ),
      page(
        '/operator/queue',
        lazyPage(() => import('./Queue.tsx'), 'Queue'),
      ),
      page(
        '/operator/unknown',
        lazyPage(() => import('./Unknown.tsx'), 'Unknown'),
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
      ),
    ]),
  ];
}
