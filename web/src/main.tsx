import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.css';
import './look/tokens.css';
import './look/mantine.css';
import './app.css';
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiFailure, signedOut } from './api.ts';
import { createPages } from './app.tsx';
import { Beside } from './components/frame/beside.tsx';
import { theme } from './theme.ts';
import { chosenLanguage, translate } from './i18n.ts';

// Loaded before the text: a late font would shift the layout.
void document.fonts.load("1em 'Inter Variable'", chosenLanguage() === 'ru' ? 'aя' : 'a');

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

/** The nonce that allows this document's own styles. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
// The scroll lock of dialogs looks for the nonce here.
Object.assign(globalThis, { __webpack_nonce__: nonce });

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <Beside />
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
