/** Pages of the studio. */
import { beside, deleteTile, opening, openTile, say, select } from './acts.ts';
import { all, type Look } from './look.ts';

/** A model whose newest result is shown. */
const canvas: Look['path'] = (life) => `/studio/sandbox/canvas/text-to-image?from=${life.image}`;

export const looks: Look[] = [
  ...all('demo', {
    studio: '/studio',
    model: canvas,
    compare: '/studio/compare',
    library: '/studio/library',
    chat: '/studio/chat',
  }),
];

export const states: Look[] = [
  ...all('demo', {
    'model-missing': '/studio/no/such/model',
    'library-none': '/studio/library?q=nothing-like-this',
    'library-failing': { path: '/studio/library', fails: /\/api\/accounts\/[^/]+\/library/ },
    'model-code': '/studio/sandbox/canvas/text-to-image?tab=code',
    'model-about': '/studio/sandbox/canvas/text-to-image?tab=about',
    'model-viewer': {
      path: canvas,
      first: opening('main [data-tile=COMPLETED]', 'main [data-opens]'),
    },
    'model-film': '/studio/sandbox/film/text-to-video',
    'compare-two':
      '/studio/compare?models=sandbox/canvas/text-to-image,sandbox/canvas/max/text-to-image',
    'library-viewer': { path: '/studio/library', first: openTile },
    'chat-said': { path: '/studio/chat', first: say('1 + 1 = 2? $e^{i\\pi}$') },
    'chat-writing': { path: '/studio/chat', first: say('sandbox:slow=600', 0) },
    'chat-settings': {
      path: '/studio/chat',
      first: (page) => page.locator('main button:has(.tabler-icon-adjustments-horizontal)').click(),
    },
    'chat-models': { path: '/studio/chat', first: opening('main input[aria-haspopup]') },
    'chat-failing': { path: '/studio/chat', fails: /\/models/ },
    'beside-empty': { path: '/studio/chat', first: beside() },
    'beside-writing': { path: '/studio/chat', first: beside(say('sandbox:slow=600', 0)) },
    'beside-said': { path: '/studio/chat', first: beside(say('Name three rivers', 2)) },
    'studio-none': '/studio?q=nothing-like-this',
    'studio-failing': { path: '/studio', fails: /\/models/ },
    'compare-failing': { path: '/studio/compare', fails: /\/models/ },
    'model-switcher': { path: canvas, first: opening('main button[aria-haspopup]') },
    'model-price': {
      path: canvas,
      first: opening('main button[aria-haspopup=dialog]:has-text("$")'),
    },
    'run-menu': { path: canvas, first: opening('main button[aria-haspopup=menu] >> nth=-1') },
    'library-models': { path: '/studio/library', first: opening('main input[aria-haspopup]') },
    'library-selecting': { path: '/studio/library', first: select },
    'library-delete': { path: '/studio/library', first: deleteTile },
  }),
  ...all('newcomer', { 'library-new': '/studio/library', 'chat-new': '/studio/chat' }),
  ...all('reader', {
    'model-reader': '/studio/sandbox/canvas/text-to-image',
    'chat-reader': '/studio/chat',
    'library-reader': '/studio/library',
  }),
  ...all('debtor', {
    'chat-suspended': '/studio/chat',
    'model-suspended': '/studio/sandbox/canvas/text-to-image',
  }),
];
