import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.css';
import './look/mantine.css';
import './app.css';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode, useLayoutEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiFailure, signedOut } from './api.ts';
import { createPages } from './app.tsx';
import { Beside } from './components/frame/beside.tsx';
import { theme } from './theme.ts';
import { chosenLanguage, translate } from './i18n.ts';

/** Longer than a font takes that comes beside the scripts; pages can be read without it. */
const fontMaxMs = 2_000;
/** Loaded before the text: a late font would shift the layout. */
const font = Promise.race([
  document.fonts.load("1em 'Inter Variable'", chosenLanguage() === 'ru' ? 'aя' : 'a'),
  new Promise((resolve) => setTimeout(resolve, fontMaxMs)),
]).catch(() => null);

/**
 * Calls are made even if the browser reports being offline: a self-hosted service may be reachable
 * without the internet. If it is not, the pages show that.
 */
const networkMode = 'always';

const queries = new QueryClient({
  defaultOptions: {
    mutations: { networkMode },
    queries: {
      staleTime: 5_000,
      networkMode,
      refetchOnReconnect: true,
      // Refused calls are not repeated, because the service would refuse them again.
      retry: (count, error) => count < 2 && !(error instanceof ApiFailure && error.status < 500),
    },
  },
});
const router = createPages(queries);

signedOut.addEventListener('signed-out', () => {
  queries.clear();
  void router.invalidate();
});

// The code of the page comes while the calls before it are under way.
for (const { routeId } of router.matchRoutes(router.latestLocation))
  void router.loadRouteChunk(router.routesById[routeId]!);

/** The nonce that allows this document's own styles. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
// The scroll lock of dialogs looks for the nonce here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

// Menus and lists that open are drawn into it; everything on a page belongs to a landmark.
const floating = Object.assign(document.createElement('section'), {
  ariaLabel: translate('common:floating'),
});
floating.setAttribute('data-mantine-shared-portal-node', 'true');
floating.dataset.portal = 'true';
document.body.append(floating);

// Until the page's own code is there, the first paint of the document stays. Awaited in a function,
// because the pages import parts of this module.
void Promise.all([router.load(), font]).then(() =>
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
        <Beside />
        <AfterFirst />
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  ),
);

/** Takes the first paint away when the page stands in its place. */
function AfterFirst() {
  useLayoutEffect(() => document.querySelector('.first')?.remove(), []);
  return null;
}
