import { createRoute, type AnyRoute } from '@tanstack/react-router';
import { lazyPage } from '../components/frame/lazy-page.tsx';
import { chatSearch, gallerySearch, modelSearch } from './search.ts';

/** The playground. Model ids contain slashes, so a model's page takes the rest of the path. */
export function studioPages(parent: AnyRoute) {
  const studio = createRoute({ getParentRoute: () => parent, path: '/studio' });
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
        path: '$',
        validateSearch: modelSearch,
        component: lazyPage(() => import('./Model.tsx'), 'Model'),
      }),
    ]),
  ];
}
