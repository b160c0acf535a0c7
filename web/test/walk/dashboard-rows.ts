/** Pages of an account. */
import { choosing, openDialog, opening, showSecret } from './acts.ts';
import { all, type Look } from './look.ts';

/** Every call about the account, except the stream of its events. */
const anyCall = /\/api\/accounts\/[^/]+\/(?!events)/;

export const looks: Look[] = [
  ...all('demo', {
    overview: '/dashboard',
    keys: '/dashboard/keys',
    requests: '/dashboard/requests',
    request: (life) => `/dashboard/requests/${life.image}`,
    'request-failed': (life) => `/dashboard/requests/${life.failed}`,
    usage: '/dashboard/usage',
    money: '/dashboard/money',
    'top-up': '/dashboard/money/top-up',
    receipt: (life) => `/dashboard/money/receipts/${life.transfer_id}`,
    alerts: '/dashboard/money/alerts',
    webhooks: '/dashboard/webhooks',
    team: '/dashboard/team',
    docs: '/dashboard/docs',
    settings: '/dashboard/settings',
    palette: { path: '/dashboard', first: (page) => page.keyboard.press('Control+k') },
  }),
];

export const states: Look[] = [
  ...all('demo', {
    'new-key': { path: '/dashboard/keys', first: openDialog },
    'request-missing': '/dashboard/requests/01900000-0000-7000-8000-000000000000',
    invite: { path: '/dashboard/team', first: openDialog },
    'dashboard-nowhere': '/dashboard/nope',
    'requests-failing': {
      path: '/dashboard/requests',
      fails: /\/api\/accounts\/[^/]+\/(v1\/)?requests/,
    },
    'forbidden-console': '/operator',
    'overview-table': '/dashboard?view=table',
    'requests-refused': '/dashboard/requests?status=REFUSED',
    'usage-by-key': '/dashboard/usage?by=key',
    'usage-by-metadata': '/dashboard/usage?by=metadata',
    'person-menu': { path: '/dashboard', first: opening('header button >> nth=-1') },
    'overview-failing': { path: '/dashboard', fails: anyCall },
    'key-menu': { path: '/dashboard/keys', first: opening('main button[aria-haspopup=menu]') },
    'key-edit': { path: '/dashboard/keys', first: choosing(0) },
    'key-rotate': { path: '/dashboard/keys', first: choosing(1) },
    'key-revoke': { path: '/dashboard/keys', first: choosing(-1) },
    'keys-failing': { path: '/dashboard/keys', fails: anyCall },
    'requests-filter': { path: '/dashboard/requests', first: opening('main input') },
    'requests-none': '/dashboard/requests?model=sandbox/none',
    'requests-days': '/dashboard/requests?from=2026-01-01&to=2026-12-31',
    'usage-failing': { path: '/dashboard/usage', fails: anyCall },
    'statement-export': {
      path: '/dashboard/money',
      first: opening('main button[aria-haspopup=menu]'),
    },
    'money-failing': { path: '/dashboard/money', fails: anyCall },
    'new-address': {
      path: '/dashboard/money/top-up',
      first: opening('main button[data-variant=default]'),
    },
    'top-up-failing': { path: '/dashboard/money/top-up', fails: anyCall },
    'receipt-missing': '/dashboard/money/receipts/01900000-0000-7000-8000-000000000000',
    'webhooks-failing': { path: '/dashboard/webhooks', fails: anyCall },
    'team-failing': { path: '/dashboard/team', fails: anyCall },
    'settings-failing': { path: '/dashboard/settings', fails: /\/api\/auth\/(list|passkey)/ },
    'new-passkey': {
      path: '/dashboard/settings',
      first: opening('main section:has(.tabler-icon-fingerprint) button'),
    },
  }),
  ...all('newcomer', {
    'overview-new': '/dashboard',
    'keys-new': '/dashboard/keys',
    'requests-new': '/dashboard/requests',
    'money-new': '/dashboard/money',
    'webhooks-new': '/dashboard/webhooks',
    'usage-new': '/dashboard/usage',
    'top-up-new': '/dashboard/money/top-up',
    authenticator: {
      path: '/dashboard/settings',
      first: opening('main section:has(.tabler-icon-device-mobile-code) button'),
    },
    'authenticator-secret': { path: '/dashboard/settings', first: showSecret },
  }),
  ...all('reader', {
    'overview-reader': '/dashboard',
    'keys-reader': '/dashboard/keys',
    'requests-reader': '/dashboard/requests',
    'request-reader': (life) => `/dashboard/requests/${life.image}`,
    'money-reader': '/dashboard/money',
    'top-up-reader': '/dashboard/money/top-up',
    'webhooks-reader': '/dashboard/webhooks',
    'team-reader': '/dashboard/team',
  }),
  ...all('debtor', {
    'overview-suspended': '/dashboard',
    'keys-suspended': '/dashboard/keys',
    'top-up-suspended': '/dashboard/money/top-up',
    'team-suspended': '/dashboard/team',
  }),
];
