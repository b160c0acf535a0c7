import { createRoute, type AnyRoute } from '@tanstack/react-router';
import { anyText, byRules, strictly } from '../address.ts';
import { lazyPage } from '../components/frame/lazy-page.tsx';
import { readSearch } from './requests/request-entries.ts';
import { spendSearch, statementSearch } from './money/money-search.ts';

/** The customer's pages. */
export function cabinetPages(parent: AnyRoute) {
  const getParentRoute = () => parent;
  return [
    createRoute({
      getParentRoute,
      path: '/cabinet',
      validateSearch: strictly(spendSearch),
      component: lazyPage(() => import('./overview/Overview.tsx'), 'Overview'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/team',
      component: lazyPage(() => import('./team/Team.tsx'), 'Team'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/settings',
      component: lazyPage(() => import('./settings/Settings.tsx'), 'Settings'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/requests',
      validateSearch: strictly(readSearch),
      component: lazyPage(() => import('./requests/Requests.tsx'), 'Requests'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/requests/$request_id',
      component: lazyPage(() => import('./requests/Request.tsx'), 'Request'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/keys',
      validateSearch: strictly(({ show, create }) => ({
        ...(show === 'all' && { show }),
        ...(create === true && { create }),
      })),
      component: lazyPage(() => import('./keys/Keys.tsx'), 'Keys'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/money',
      validateSearch: strictly(statementSearch),
      component: lazyPage(() => import('./money/Statement.tsx'), 'Statement'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/money/top-up',
      component: lazyPage(() => import('./money/TopUp.tsx'), 'TopUp'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/money/alerts',
      component: lazyPage(() => import('./money/Alerts.tsx'), 'Alerts'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/webhooks',
      validateSearch: strictly(({ failed }) => (failed === true ? { failed } : {})),
      component: lazyPage(() => import('./webhooks/Webhooks.tsx'), 'Webhooks'),
    }),
    ...['/cabinet/docs', '/cabinet/docs/reference'].map((path) =>
      createRoute({
        getParentRoute,
        path,
        validateSearch: byRules({ op: anyText }),
        component: lazyPage(() => import('./Docs.tsx'), 'Docs'),
      }),
    ),
  ];
}
