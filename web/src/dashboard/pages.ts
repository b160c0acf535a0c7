import { createRoute, type AnyRoute } from '@tanstack/react-router';
import { strictly } from '../address.ts';
import { lazyPage } from '../components/frame/lazy-page.tsx';
import { readSearch } from './requests/request-entries.ts';
import { spendSearch, statementSearch, topUpSearch } from './money/money-search.ts';
import { keysSearch, webhooksSearch } from './search.ts';
import { usageSearch } from './usage/usage-search.ts';

type Query = Record<string, unknown>;

/** Each page, and how it reads its query. */
const pages = {
  '': [lazyPage(() => import('./overview/Overview.tsx'), 'Overview'), strictly(spendSearch)],
  '/team': [lazyPage(() => import('./team/Team.tsx'), 'Team')],
  '/settings': [lazyPage(() => import('./settings/Settings.tsx'), 'Settings')],
  '/requests': [lazyPage(() => import('./requests/Requests.tsx'), 'Requests'), readSearch],
  '/requests/$request_id': [lazyPage(() => import('./requests/Request.tsx'), 'Request')],
  '/usage': [lazyPage(() => import('./usage/Usage.tsx'), 'Usage'), usageSearch],
  '/keys': [lazyPage(() => import('./keys/Keys.tsx'), 'Keys'), strictly(keysSearch)],
  '/money': [
    lazyPage(() => import('./money/Statement.tsx'), 'Statement'),
    strictly(statementSearch),
  ],
  '/money/top-up': [lazyPage(() => import('./money/TopUp.tsx'), 'TopUp'), strictly(topUpSearch)],
  '/money/receipts/$transfer_id': [lazyPage(() => import('./money/Receipt.tsx'), 'Receipt')],
  '/money/alerts': [lazyPage(() => import('./money/Alerts.tsx'), 'Alerts')],
  '/webhooks': [
    lazyPage(() => import('./webhooks/Webhooks.tsx'), 'Webhooks'),
    strictly(webhooksSearch),
  ],
  '/docs': [lazyPage(() => import('./Docs.tsx'), 'Docs')],
} satisfies Record<string, [ReturnType<typeof lazyPage>, ((given: Query) => object)?]>;

/** The customer's pages. */
export function dashboardPages(parent: AnyRoute) {
  return Object.entries(pages).map(([path, [component, validateSearch]]) =>
    createRoute({
      getParentRoute: () => parent,
      path: `/dashboard${path}`,
      component,
      ...(validateSearch && { validateSearch }),
    }),
  );
}
