import type { QueryClient } from '@tanstack/react-query';
import { createRoute, type AnyRoute } from '@tanstack/react-router';
import { accountApi } from '../api.ts';
import type { Me } from '../api-types.ts';
import { lazyPage } from '../components/frame/lazy-page.tsx';
import { accountKey, chooseAccount } from '../session.tsx';
import { chatSearch, compareSearch, gallerySearch, librarySearch, modelSearch } from './search.ts';

/** The models come while the code of their page does. */
function askForModels({ queries, me }: { queries: QueryClient; me: Me }): void {
  const { account_id } = chooseAccount(me.accounts) ?? {};
  if (account_id === undefined) return;
  const route = 'GET /studio/models';
  void queries.prefetchQuery({
    queryKey: accountKey(account_id, route, {}),
    queryFn: () => accountApi(account_id)(route),
    staleTime: 60_000,
  });
}

/** The playground. Model ids contain slashes, so a model's page takes the rest of the path. */
export function studioPages(parent: AnyRoute) {
  const studio = createRoute({
    getParentRoute: () => parent,
    path: '/studio',
    beforeLoad: ({ context }) => askForModels(context),
  });
  const getParentRoute = () => studio;
  return [
    studio.addChildren([
      createRoute({
        getParentRoute,
        path: '/',
        validateSearch: gallerySearch,
        component: lazyPage(() => import('./Gallery.tsx'), 'Gallery'),
      }),
      createRoute({
        getParentRoute,
        path: 'chat',
        validateSearch: chatSearch,
        component: lazyPage(() => import('./chat/Chat.tsx'), 'Chat'),
      }),
      createRoute({
        getParentRoute,
        path: 'compare',
        validateSearch: compareSearch,
        component: lazyPage(() => import('./Compare.tsx'), 'Compare'),
      }),
      createRoute({
        getParentRoute,
        path: 'library',
        validateSearch: librarySearch,
        component: lazyPage(() => import('./library/Library.tsx'), 'Library'),
      }),
      createRoute({
        getParentRoute,
        path: '$',
        validateSearch: modelSearch,
        component: lazyPage(() => import('./Model.tsx'), 'Model'),
      }),
    ]),
  ];
}
