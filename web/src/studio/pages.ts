import { createRoute, type AnyRoute } from '@tanstack/react-router';
import { anyText, byRules, oneOf } from '../address.ts';
import { lazyPage } from '../components/frame/lazy-page.tsx';
import { kinds, sorts } from './form/wish.ts';

/** The playground. Model ids contain slashes, so a model's page takes the rest of the path. */
export function studioPages(parent: AnyRoute) {
  const studio = createRoute({ getParentRoute: () => parent, path: '/studio' });
  const getParentRoute = () => studio;
  return [
    studio.addChildren([
      createRoute({
        getParentRoute,
        path: '/',
        validateSearch: byRules({
          q: anyText,
          kind: oneOf(kinds),
          task: anyText,
          sort: oneOf(sorts),
        }),
        component: lazyPage(() => import('./Gallery.tsx'), 'Gallery'),
      }),
      createRoute({
        getParentRoute,
        path: 'chat',
        validateSearch: byRules({ c: anyText, model: anyText }),
        component: lazyPage(() => import('./chat/Chat.tsx'), 'Chat'),
      }),
      createRoute({
        getParentRoute,
        path: '$',
        validateSearch: byRules({ from: anyText, use: anyText }),
        component: lazyPage(() => import('./Model.tsx'), 'Model'),
      }),
    ]),
  ];
}
