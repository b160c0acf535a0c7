/** Pages that need no account. */
import { refuse } from './acts.ts';
import { all, type Look } from './look.ts';

const site = Object.fromEntries(
  (
    [
      ['front', '/', 'en'],
      ['front-ru', '/ru', 'ru'],
      ['site-models', '/models', 'en'],
      ['site-models-ru', '/ru/models', 'ru'],
      ['site-model', '/models/sandbox/canvas/text-to-image', 'en'],
      ['site-model-ru', '/ru/models/sandbox/canvas/text-to-image', 'ru'],
      ['site-docs', '/docs', 'en'],
      ['site-conventions', '/docs/api/conventions', 'en'],
      ['site-chat', '/docs/api/chat', 'en'],
      ['site-found', '/docs?q=idempotency', 'en'],
    ] as const
  ).map(([name, path, only]) => [name, { path, only }]),
);

export const looks: Look[] = [
  ...all('nobody', {
    ...site,
    'sign-in': '/sign-in',
    'sign-up': '/sign-up',
    forgot: '/forgot',
    reset: '/reset?token=shown',
    'two-factor': '/two-factor',
    email: '/email?token=shown',
    confirm: '/confirm?token=shown',
    invitation: (life) => life.invitation,
    nowhere: '/no/such/page',
  }),
];

export const states: Look[] = [
  ...all('nobody', {
    'sign-in-refused': { path: '/sign-in', first: refuse },
    'sign-in-failed': '/sign-in?error=unable_to_get_user_info',
    'site-nowhere': { path: '/models/no/such/model', only: 'en' },
    'site-nowhere-ru': { path: '/ru/models/no/such/model', only: 'ru' },
    'site-none': { path: '/models?q=nothing-like-this', only: 'en' },
    'site-none-ru': { path: '/ru/models?q=nothing-like-this', only: 'ru' },
    'site-found-none': { path: '/docs?q=nothing-like-this', only: 'en' },
  }),
];
