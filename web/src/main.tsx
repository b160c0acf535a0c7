import '@fontsource-variable/inter/wght.css';
import '@mantine/core/styles.css';
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
import { chosenLanguage } from './words.ts';

// Before there is text that needs it: what is drawn in another face first moves when it comes.
void document.fonts.load("1em 'Inter Variable'", chosenLanguage() === 'ru' ? 'aя' : 'a');

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A service of one's own is reached without the internet; where it is not, pages say so.
      networkMode: 'always',
      refetchOnReconnect: true,
      // What the service refuses it would refuse again.
      retry: (count, error) => count < 2 && !(error instanceof ApiFailure && error.status < 500),
    },
  },
});
const router = createPages(queries);

signedOut.addEventListener('signed-out', () => {
  queries.clear();
  void router.invalidate();
});

/** The nonce with which this document may style itself. */
const nonce = document.querySelector<HTMLMetaElement>('meta[property=csp-nonce]')?.nonce ?? '';
// Where dialogs, which lock the page's scrolling with a style, look for it.
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
