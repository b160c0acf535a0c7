import { createRoute, lazyRouteComponent, type AnyRoute } from '@tanstack/react-router';

/** The customer's pages. */
export function cabinetPages(parent: AnyRoute) {
  const getParentRoute = () => parent;
  return [
    createRoute({
      getParentRoute,
      path: '/cabinet',
      component: lazyRouteComponent(() => import('./Overview.tsx'), 'Overview'),
    }),
    createRoute({
      getParentRoute,
      path: '/cabinet/keys',
      validateSearch: ({ show }) => (show === 'all' ? { show } : {}),
      component: lazyRouteComponent(() => import('./Keys.tsx'), 'Keys'),
    }),
  ];
}
