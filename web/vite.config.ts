import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** The typeface comes beside the code, not after it: text that changes its face moves the page. */
const earlyFont: Plugin = {
  name: 'early-font',
  transformIndexHtml(_html, { bundle = {} }) {
    const file = Object.keys(bundle).find((name) => name.includes('inter-latin-wght-normal'));
    if (file === undefined) return [];
    const attrs = {
      rel: 'preload',
      as: 'font',
      type: 'font/woff2',
      href: `/${file}`,
      crossorigin: '',
    };
    return [{ tag: 'link', attrs, injectTo: 'head' }];
  },
};

export default defineConfig({
  plugins: [react(), earlyFont],
  // The service puts a fresh one in its place with each page.
  html: { cspNonce: '__NONCE__' },
  build: { target: 'es2023', cssCodeSplit: true, reportCompressedSize: false },
  // A service on its usual port answers what the pages ask for.
  server: { proxy: { '/api': 'http://localhost:8080', '/v1': 'http://localhost:8080' } },
});
