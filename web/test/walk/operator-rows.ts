/** Pages of the console. */
import { choosing, editRow, openDialog, opening } from './acts.ts';
import { all, type Look } from './look.ts';

const account: Look['path'] = (life) => `/operator/accounts/${life.account_id}`;
/** The button beside "Credit". */
const more = 'main button[aria-haspopup=menu] >> nth=0';
const anyCall = /\/api\/operator\//;

export const looks: Look[] = [
  ...all('operator', {
    operator: '/operator',
    accounts: '/operator/accounts',
    account,
    'account-receipt': (life) =>
      `/operator/accounts/${life.account_id}/receipts/${life.transfer_id}`,
    catalog: '/operator/catalog',
    'catalog-row': '/operator/catalog/row/sandbox/canvas/text-to-image',
    'operator-requests': '/operator/requests',
    'operator-request': (life) => `/operator/requests/${life.failed}`,
    upstreams: '/operator/upstreams',
    upstream: '/operator/upstreams/sandbox',
    queue: '/operator/queue',
    unknown: '/operator/unknown',
    chains: '/operator/chains',
    deposits: '/operator/deposits?state=all',
    vouchers: '/operator/vouchers',
    invitations: '/operator/invitations',
    'operator-keys': '/operator/keys',
    'operator-settings': '/operator/settings',
    log: '/operator/log',
  }),
];

export const states: Look[] = [
  ...all('operator', {
    'operator-failing': { path: '/operator', fails: /\/api\/operator\// },
    'new-account': { path: '/operator/accounts', first: openDialog },
    'account-requests': (life) => `/operator/accounts/${life.account_id}?tab=requests`,
    'account-statement': (life) => `/operator/accounts/${life.account_id}?tab=statement`,
    'account-log': (life) => `/operator/accounts/${life.account_id}?tab=log`,
    'account-credit': { path: account, first: openDialog },
    'operator-request-done': (life) => `/operator/requests/${life.image}`,
    refund: { path: (life) => `/operator/requests/${life.image}`, first: openDialog },
    'catalog-edit': { path: '/operator/catalog', first: editRow },
    'catalog-all': '/operator/catalog?state=all',
    'upstreams-all': '/operator/upstreams?only=all',
    'new-vouchers': { path: '/operator/vouchers', first: openDialog },
    'new-operator-key': { path: '/operator/keys', first: openDialog },
    'new-invitation': { path: '/operator/invitations', first: openDialog },
    'settings-found': '/operator/settings?q=limit',
    'operator-nowhere': '/operator/nope',
    'account-missing': '/operator/accounts/01900000-0000-7000-8000-000000000000',
    'operator-request-missing': '/operator/requests/01900000-0000-7000-8000-000000000000',
    'upstream-missing': '/operator/upstreams/nope',
    'accounts-none': '/operator/accounts?q=nothing-like-this',
    'accounts-failing': { path: '/operator/accounts', fails: anyCall },
    'account-failing': { path: account, fails: anyCall },
    'account-menu': { path: account, first: opening(more) },
    'account-correct': { path: account, first: choosing(0, more) },
    'account-price': { path: account, first: choosing(1, more) },
    'account-suspend': { path: account, first: choosing(-1, more) },
    'person-actions': {
      path: account,
      first: opening('main [role=tabpanel] button[aria-haspopup=menu]'),
    },
    'account-key-revoke': {
      path: account,
      first: opening('main [role=tabpanel] button[aria-label*=website] >> nth=-1'),
    },
    'operator-requests-filter': { path: '/operator/requests', first: opening('main input') },
    'operator-requests-none': '/operator/requests?model=sandbox/none',
    'catalog-failing': { path: '/operator/catalog', fails: anyCall },
    'catalog-none': '/operator/catalog?q=nothing-like-this',
    'upstream-drain': { path: '/operator/upstreams/sandbox', first: openDialog },
    'upstream-off': {
      path: '/operator/upstreams/sandbox',
      first: opening('main button[data-variant=default] >> nth=1'),
    },
    'queue-failing': { path: '/operator/queue', fails: anyCall },
    'chain-rescan': { path: '/operator/chains', first: opening('main article button') },
    'chains-failing': { path: '/operator/chains', fails: anyCall },
    'deposit-reasons': { path: '/operator/deposits', first: opening('main input[aria-haspopup]') },
    'deposits-held': '/operator/deposits?state=held',
    'log-actions': { path: '/operator/log', first: opening('main input[aria-haspopup]') },
    'settings-none': '/operator/settings?q=nothing-like-this',
  }),
];
