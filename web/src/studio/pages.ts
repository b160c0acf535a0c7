import { createRoute, type AnyRoute } from '@tanstack/react-router';
import { lazyPage } from '../components/lazy-page.tsx';

const text = (value: unknown) =>
  value === undefined || value === null || value === '' ? undefined : String(value);

/** What the address of a page may say, each as a text. */
const search = (names: string[]) => (given: Record<string, unknown>) =>
  Object.fromEntries(names.map((name) => [name, text(given[name])]));

/** The playground. Ids of models have slashes, so a model's page takes all that follows. */
export function studioPages(parent: AnyRoute) {
  const studio = createRoute({ getParentRoute: () => parent, path: '/studio' });
  const getParentRoute = () => studio;
  return [
    studio.addChildren([
      createRoute({
        getParentRoute,
        path: '/',
        validateSearch: search(['q', 'kind', 'task', 'sort']),
        component: lazyPage(() => import('./Gallery.tsx'), 'Gallery'),
      }),
      createRoute({
        getParentRoute,
        path: 'chat',
        validateSearch: search(['c', 'model']),
        component: lazyPage(() => import('./Chat.tsx'), 'Chat'),
      }),
      createRoute({
        getParentRoute,
        path: '$',
        validateSearch: search(['from', 'use']),
        component: lazyPage(() => import('./Model.tsx'), 'Model'),
      }),
    ]),
  ];
}
