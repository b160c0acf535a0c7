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
