import { createRoute, lazyRouteComponent, type AnyRoute } from '@tanstack/react-router';

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
    component: lazyRouteComponent(() => import('./Operators.tsx'), 'Operators'),
  });
  const page = (path: string, component: ReturnType<typeof lazyRouteComponent>) =>
    createRoute({ getParentRoute: () => operators, path, component, validateSearch: search });
  return [
    operators.addChildren([
      page(
        '/operator',
        lazyRouteComponent(() => import('./Overview.tsx'), 'Overview'),
      ),
      page(
        '/operator/accounts',
        lazyRouteComponent(() => import('./Accounts.tsx'), 'Accounts'),
      ),
      page(
        '/operator/accounts/$account_id',
        lazyRouteComponent(() => import('./Account.tsx'), 'Account'),
      ),
      page(
        '/operator/catalog',
        lazyRouteComponent(() => import('./Catalog.tsx'), 'Catalog'),
      ),
      // A model's id has slashes in it.
      page(
        '/operator/catalog/row/$',
        lazyRouteComponent(() => import('./CatalogRow.tsx'), 'CatalogRow'),
      ),
      page(
        '/operator/upstreams',
        lazyRouteComponent(() => import('./Upstreams.tsx'), 'Upstreams'),
      ),
      page(
        '/operator/queue',
        lazyRouteComponent(() => import('./Queue.tsx'), 'Queue'),
      ),
      page(
        '/operator/unknown',
        lazyRouteComponent(() => import('./Unknown.tsx'), 'Unknown'),
      ),
      page(
        '/operator/vouchers',
        lazyRouteComponent(() => import('./Vouchers.tsx'), 'Vouchers'),
      ),
      page(
        '/operator/invitations',
        lazyRouteComponent(() => import('./Invitations.tsx'), 'Invitations'),
      ),
      page(
        '/operator/log',
        lazyRouteComponent(() => import('./Log.tsx'), 'Log'),
      ),
    ]),
  ];
}
