import { createRoute, lazyRouteComponent, type AnyRoute } from '@tanstack/react-router';
import { readSearch } from './request-entries.ts';
import { spendSearch, statementSearch } from './money-search.ts';

/** The customer's pages. */
export function cabinetPages(parent: AnyRoute) {
  const getParentRoute = () => parent;
  return [
    createRoute({
      getParentRoute,
      path: '/cabinet',
      validateSearch: spendSearch,
      component: lazyRouteComponent(() => import('./Overview.tsx'), 'Overview'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/team',
      component: lazyRouteComponent(() => import('./Team.tsx'), 'Team'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/settings',
      component: lazyRouteComponent(() => import('./Settings.tsx'), 'Settings'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/requests',
      validateSearch: readSearch,
      component: lazyRouteComponent(() => import('./Requests.tsx'), 'Requests'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/requests/$request_id',
      component: lazyRouteComponent(() => import('./Request.tsx'), 'Request'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/keys',
      validateSearch: ({ show }) => (show === 'all' ? { show } : {}),
      component: lazyRouteComponent(() => import('./Keys.tsx'), 'Keys'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/money',
      validateSearch: statementSearch,
      component: lazyRouteComponent(() => import('./Statement.tsx'), 'Statement'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/money/top-up',
      component: lazyRouteComponent(() => import('./TopUp.tsx'), 'TopUp'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/money/alerts',
      component: lazyRouteComponent(() => import('./Alerts.tsx'), 'Alerts'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/webhooks',
      validateSearch: ({ failed }: Record<string, unknown>) =>
        failed === true ? { failed: true } : {},
      component: lazyRouteComponent(() => import('./Webhooks.tsx'), 'Webhooks'),
    }),
    ...['/cabinet/docs', '/cabinet/docs/reference'].map((path) =>
      createRoute({
        getParentRoute,
        path,
        validateSearch: ({ op }: Record<string, unknown>) => (typeof op === 'string' ? { op } : {}),
        component: lazyRouteComponent(() => import('./Docs.tsx'), 'Docs'),
      }),
    ),
  ];
}
