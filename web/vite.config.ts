import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build, defineConfig, type BuildOptions, type Plugin, type Rolldown } from 'vite';
import { sharedFiles } from '../bin/chunks.mjs';

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

/** The look of the first paint stands in the document, which waits for no other file. */
const firstPaint: Plugin = {
  name: 'first-paint',
  transformIndexHtml() {
    const files = ['tokens.css', 'first-paint.css'];
    const read = (file: string) =>
      readFileSync(new URL(`src/look/${file}`, import.meta.url), 'utf8');
    return [{ tag: 'style', children: files.map(read).join('\n'), injectTo: 'head' }];
  },
};

/**
 * The first paint waits for no styles: they stand behind it. They stand before the pages, or they
 * would undo the theme, which Mantine writes there.
 */
const lateStyles: Plugin = {
  name: 'late-styles',
  transformIndexHtml: {
    order: 'post',
    handler(html) {
      const styles = html.match(/<link rel="stylesheet"[^>]*>/g) ?? [];
      const rest = styles.reduce((text, style) => text.replace(style, ''), html);
      return rest.replace('<div id="root">', `${styles.join('')}<div id="root">`);
    },
  },
};

/** The rules of the typeface, for the public pages, which the service writes. */
const siteFont: Plugin = {
  name: 'site-font',
  enforce: 'post',
  generateBundle(_options, bundle) {
    const styles = Object.values(bundle).map((each) => (each.type === 'asset' ? each.source : ''));
    const rules = styles.flatMap((text) => String(text).match(/@font-face\s*\{[^}]*\}/g) ?? []);
    // These pages show their text at once, in another face rather than moved by a late one.
    const source = rules.join('\n').replaceAll('font-display:swap', 'font-display:optional');
    this.emitFile({ type: 'asset', fileName: 'font.css', source });
  },
};

/** Preact runs the pages, which are written for React. */
const resolve = {
  alias: [
    { find: /^react$/, replacement: fileURLToPath(new URL('src/react.js', import.meta.url)) },
    { find: /^react(-dom)?(?=\/)|^react-dom$/, replacement: 'preact/compat' },
  ],
};

const usual: BuildOptions = {
  target: 'es2023',
  // These know light-dark(), whose replacement does not follow a theme that is chosen at run time.
  cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  modulePreload: { polyfill: false },
  // One file for all pages, or each loads five.
  cssCodeSplit: false,
  // For `bin/weight.mjs`.
  manifest: true,
  reportCompressedSize: false,
};

/** Groups the files that pages share. A first build, which is thrown away, shows what each loads. */
const fewFiles: Plugin = {
  name: 'few-files',
  apply: 'build',
  async config() {
    const plain = { ...usual, write: false };
    const inner = { configFile: false, logLevel: 'error', resolve, build: plain } as const;
    const { output } = (await build(inner)) as Rolldown.RolldownOutput;
    const files = sharedFiles(output.filter((each) => each.type === 'chunk'));
    const groups = [{ name: (id: string) => files.get(id) ?? null }];
    const codeSplitting = { groups, includeDependenciesRecursively: false };
    return { build: { rolldownOptions: { output: { codeSplitting } } } };
  },
};

export default defineConfig({
  resolve,
  plugins: [earlyFont, firstPaint, lateStyles, siteFont, fewFiles],
  // The service puts a fresh one in its place with each page.
  html: { cspNonce: '__NONCE__' },
  build: usual,
  // A service on its usual port answers what the pages ask for.
  server: { proxy: { '/api': 'http://localhost:8080', '/v1': 'http://localhost:8080' } },
});
