import { createRoute, type AnyRoute } from '@tanstack/react-router';
import { byRules } from '../address.ts';
import { keysOf } from '../records.ts';
import { lazyPage } from '../components/frame/lazy-page.tsx';
import { searches, type Page } from './search.ts';

const components: Record<Page, ReturnType<typeof lazyPage>> = {
  '/operator': lazyPage(() => import('./Overview.tsx'), 'Overview'),
  '/operator/accounts': lazyPage(() => import('./accounts/Accounts.tsx'), 'Accounts'),
  '/operator/accounts/$account_id': lazyPage(() => import('./accounts/Account.tsx'), 'Account'),
  '/operator/accounts/$account_id/receipts/$transfer_id': lazyPage(
    () => import('./accounts/AccountReceipt.tsx'),
    'AccountReceipt',
  ),
  '/operator/catalog': lazyPage(() => import('./models/Catalog.tsx'), 'Catalog'),
  // A model's id contains slashes.
  '/operator/catalog/row/$': lazyPage(() => import('./models/CatalogRow.tsx'), 'CatalogRow'),
  '/operator/upstreams': lazyPage(() => import('./models/Upstreams.tsx'), 'Upstreams'),
  '/operator/upstreams/$upstream': lazyPage(() => import('./models/Upstream.tsx'), 'Upstream'),
  '/operator/requests': lazyPage(() => import('./requests/Requests.tsx'), 'Requests'),
  '/operator/requests/$request_id': lazyPage(() => import('./requests/Request.tsx'), 'Request'),
  '/operator/queue': lazyPage(() => import('./requests/Queue.tsx'), 'Queue'),
  '/operator/unknown': lazyPage(() => import('./requests/Unknown.tsx'), 'Unknown'),
  '/operator/chains': lazyPage(() => import('./chains/Chains.tsx'), 'Chains'),
  '/operator/deposits': lazyPage(() => import('./chains/Deposits.tsx'), 'Deposits'),
  '/operator/vouchers': lazyPage(() => import('./vouchers/Vouchers.tsx'), 'Vouchers'),
  '/operator/invitations': lazyPage(() => import('./accounts/Invitations.tsx'), 'Invitations'),
  '/operator/keys': lazyPage(() => import('./keys/OperatorKeys.tsx'), 'OperatorKeys'),
  '/operator/settings': lazyPage(() => import('./settings/Settings.tsx'), 'Settings'),
  '/operator/log': lazyPage(() => import('./Log.tsx'), 'Log'),
};

/** The operator console. */
export function operatorPages(parent: AnyRoute) {
  const operators = createRoute({
    getParentRoute: () => parent,
    id: 'operators',
    component: lazyPage(() => import('./accounts/Operators.tsx'), 'Operators'),
  });
  const page = (path: Page) =>
    createRoute({
      getParentRoute: () => operators,
      path,
      component: components[path],
      validateSearch: byRules(searches[path]),
    });
  return [operators.addChildren(keysOf(components).map(page))];
}
