import { Skeleton } from '@mantine/core';
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  Outlet,
  parseSearchWith,
  redirect,
  stringifySearchWith,
} from '@tanstack/react-router';
import { Suspense } from 'react';
import { dashboardPages } from './dashboard/pages.ts';
import { Failure } from './components/Failure.tsx';
import { entrySearch } from './entry/search.ts';
import { lazyPage } from './components/frame/lazy-page.tsx';
import { operatorPages } from './operator/pages.ts';
import { ownPath } from './own-path.ts';
import { webQuery } from './entry/signing-in.ts';
import { homeOf, meQuery } from './session.tsx';
import { studioPages } from './studio/pages.ts';

/** Every route of the pages. Each page loads its code when it is first visited. */

const frame = () => import('./components/frame/SignedIn.tsx');
const NotFound = lazyPage(frame, 'NotFound');

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: () => (
    <Suspense>
      <NotFound />
    </Suspense>
  ),
});

/** Pages for signed-in users. Others are sent to sign in, and come back afterwards. */
export const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  beforeLoad: async ({ context, location }) => {
    const [me] = await Promise.all([
      context.queries.ensureQueryData(meQuery),
      // Before the first page, so that a banner moves nothing.
      context.queries.ensureQueryData(webQuery).catch(() => null),
    ]);
    if (me === null) throw redirect({ to: '/sign-in', search: { to: location.href } });
    return { me };
  },
  component: lazyPage(frame, 'SignedIn'),
});

const entryPages = (
  [
    ['/sign-in', lazyPage(() => import('./entry/SignIn.tsx'), 'SignIn')],
    ['/sign-up', lazyPage(() => import('./entry/SignUp.tsx'), 'SignUp')],
    ['/two-factor', lazyPage(() => import('./entry/TwoFactor.tsx'), 'TwoFactor')],
    ['/forgot', lazyPage(() => import('./entry/Reset.tsx'), 'Forgot')],
    ['/reset', lazyPage(() => import('./entry/Reset.tsx'), 'Reset')],
    ['/confirm', lazyPage(() => import('./entry/Confirm.tsx'), 'Confirm')],
    ['/email', lazyPage(() => import('./entry/NewEmail.tsx'), 'NewEmail')],
    ['/invitation', lazyPage(() => import('./entry/Invitation.tsx'), 'Invitation')],
  ] as const
).map(([path, component]) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: entrySearch,
    beforeLoad: async ({ context: { queries }, search: { to, error } }) => {
      // A signed-in user need not see these pages, unless there is an error to show.
      const isOpen = path !== '/sign-in' || error !== undefined;
      const [me] = await Promise.all([
        isOpen ? null : queries.ensureQueryData(meQuery),
        // They decide about the form, which then has its size at once.
        queries.ensureQueryData(webQuery).catch(() => null),
      ]);
      if (me) throw redirect({ href: ownPath(to) });
    },
    component,
  }),
);

const home = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: async ({ context }) => {
    const me = await context.queries.ensureQueryData(meQuery);
    throw redirect({ to: me ? homeOf(me) : '/sign-in' });
  },
});

export function createPages(queries: QueryClient) {
  const parts = [...dashboardPages(signedIn), ...studioPages(signedIn), ...operatorPages(signedIn)];
  return createRouter({
    routeTree: root.addChildren([home, ...entryPages, signedIn.addChildren(parts)]),
    context: { queries },
    defaultPreload: 'intent',
    // The chat scrolls to its end by itself.
    scrollRestoration: ({ location }) => location.pathname !== '/studio/chat',
    // Query values stay texts, because each page parses its own.
    parseSearch: parseSearchWith((text) => text),
    stringifySearch: stringifySearchWith(JSON.stringify),
    defaultPendingComponent: () => <Skeleton h="60vh" />,
    defaultErrorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
  });
}
