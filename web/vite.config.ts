import { fileURLToPath } from 'node:url';
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

/** The rules of the typeface, for the public pages, which the service writes. */
const siteFont: Plugin = {
  name: 'site-font',
  enforce: 'post',
  generateBundle(_options, bundle) {
    const styles = Object.values(bundle).map((each) => (each.type === 'asset' ? each.source : ''));
    const rules = styles.flatMap((text) => String(text).match(/@font-face\s*\{[^}]*\}/g) ?? []);
    this.emitFile({ type: 'asset', fileName: 'font.css', source: rules.join('\n') });
  },
};

/** Preact runs the pages, which are written for React. */
const resolve = {
  alias: [
    { find: /^react$/, replacement: fileURLToPath(new URL('src/react.js', import.meta.url)) },
    { find: /^react(-dom)?(?=\/)|^react-dom$/, replacement: 'preact/compat' },
  ],
};

export default defineConfig({
  resolve,
  plugins: [earlyFont, siteFont],
  // The service puts a fresh one in its place with each page.
  html: { cspNonce: '__NONCE__' },
  build: {
    target: 'es2023',
    // These know light-dark(), whose replacement does not follow a theme that is chosen at run time.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    cssCodeSplit: true,
    reportCompressedSize: false,
  },
  // A service on its usual port answers what the pages ask for.
  server: { proxy: { '/api': 'http://localhost:8080', '/v1': 'http://localhost:8080' } },
});
