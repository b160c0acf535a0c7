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
import { dashboardPages } from './dashboard/pages.ts';
import { Failure } from './components/Failure.tsx';
import { entrySearch } from './entry/search.ts';
import { lazyPage } from './components/frame/lazy-page.tsx';
import { NotFound } from './components/frame/NotFound.tsx';
import { Shell } from './components/frame/Shell.tsx';
import { operatorPages } from './operator/pages.ts';
import { ownPath } from './own-path.ts';
import { homeOf, meQuery, useMe } from './session.tsx';
import { studioPages } from './studio/pages.ts';

/** Every route of the pages. Each page loads its code when it is first visited. */

const root = createRootRouteWithContext<{ queries: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
});

/** Pages for signed-in users. Others are sent to sign in, and come back afterwards. */
export const signedIn = createRoute({
  getParentRoute: () => root,
  id: 'signed-in',
  beforeLoad: async ({ context, location }) => {
    const me = await context.queries.ensureQueryData(meQuery);
    if (me === null) throw redirect({ to: '/sign-in', search: { to: location.href } });
    return { me };
  },
  component: function SignedIn() {
    const me = useMe();
    return me ? (
      <Shell me={me}>
        <Outlet />
      </Shell>
    ) : null;
  },
});

const entry = () => import('./entry/Entry.tsx');

const entryPages = (
  [
    ['/sign-in', 'SignIn'],
    ['/sign-up', 'SignUp'],
    ['/two-factor', 'TwoFactor'],
    ['/forgot', 'Forgot'],
    ['/reset', 'Reset'],
    ['/confirm', 'Confirm'],
    ['/email', 'NewEmail'],
    ['/invitation', 'Invitation'],
  ] as const
).map(([path, name]) =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: entrySearch,
    // A signed-in user need not see these pages, unless there is an error to show.
    beforeLoad: async ({ context, search: { to, error } }) => {
      if (path !== '/sign-in' || error !== undefined) return;
      if (await context.queries.ensureQueryData(meQuery)) throw redirect({ href: ownPath(to) });
    },
    component: lazyPage(entry, name),
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
