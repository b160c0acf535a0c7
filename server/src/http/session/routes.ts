import { dashboardRoutes } from '../dashboard/routes.ts';
import { operatorRoutes } from '../operator/routes.ts';
import type { Endpoint } from '../endpoint.ts';
import { keyedCalls } from '../routes.ts';
import { below, person, row, visitor, type Row } from '../row.ts';
import { siteRoutes } from '../site/routes.ts';
import { authPath } from './auth-library.ts';
import { authCalls } from './auth-calls.ts';
import * as confirmation from './confirmation.ts';
import * as email from './email.ts';
import * as entry from './entry.ts';
import * as pages from './pages.ts';
import * as profile from './profile.ts';
import { allowance, chatPrice, models, ownFile, studioCall, studioRead } from './studio.ts';
import type { SessionRequest, WebDeps } from './session-request.ts';

const open: Row[] = [
  row(visitor, 'GET', '/api/web', entry.settings),
  row(visitor, 'POST', '/api/sign-up', entry.signUp),
  row(visitor, 'POST', '/api/invitation', entry.invitation),
  row(visitor, 'POST', '/api/email', email.confirm),
  row(visitor, 'POST', '/api/confirm', confirmation.confirm),
  row(visitor, 'POST', `${authPath}/reset-password`, confirmation.reset),
  row(visitor, 'GET', `${authPath}/verify-email`, confirmation.formerLink),
  ...authCalls.map(([method, path]) => row(visitor, method, `${authPath}${path}`, entry.auth)),
  row(visitor, 'GET', '/assets/*', pages.asset),
  row(visitor, 'GET', '/favicon.svg', pages.asset),
  row(visitor, 'GET', '/copy.js', pages.asset),
  ...siteRoutes,
  ...pages.paths.map((path) => row(visitor, 'GET', path, pages.page)),
  ...pages.formerPaths.map((path) => row(visitor, 'GET', path, pages.redirectFormer)),
];

const [signedIn, view] = [person('signed_in'), person('view')];
const personal: Row[] = [
  row(signedIn, 'GET', '/api/me', entry.me),
  row(signedIn, 'PATCH', '/api/me', profile.rename),
  row(signedIn, 'POST', '/api/me/email', email.ask),
  row(signedIn, 'GET', '/api/me/security', profile.security),
  row(signedIn, 'DELETE', '/api/me/sessions', profile.endOtherSessions),
  row(signedIn, 'DELETE', '/api/me/sessions/:session_id', profile.endSession),
  row(signedIn, 'POST', '/api/me/account', profile.openAccount),
  row(signedIn, 'POST', '/api/invitation/accept', entry.accept),
];

/** This call shows addresses for deposits, so it needs the right `pay`. */
const payAddresses = '/deposit-addresses';

/** The API's calls for the people of an account. Calls that spend count against the studio key. */
const studioCalls: Row[] = [
  ...keyedCalls.map(({ method, path, shapes, handle }) => {
    const looks = method === 'GET' || path === '/estimate';
    const right = looks ? (path === payAddresses ? 'pay' : 'view') : 'build';
    const make = looks ? studioRead : studioCall;
    const endpoint: Endpoint<SessionRequest, WebDeps> = {
      shapes: {
        ...shapes,
        reply: shapes.reply ?? shapes.written,
        body: shapes.body ?? shapes.rawBody,
      },
      handle: (req, reply, deps) => make(handle, req, reply, deps),
    };
    return row(person(right), method, path, endpoint);
  }),
  row(view, 'GET', '/files/:file_id', ownFile),
];

/** Further calls of the studio. */
const studioOwn: Row[] = [
  row(view, 'GET', '/studio/allowance', allowance),
  row(view, 'GET', '/studio/models', models),
  row(view, 'POST', '/studio/chat-price', chatPrice),
];

/** Every call of the web pages: the router and the authorisation test read this table. */
export const webRoutes: Row[] = [
  ...open,
  ...personal,
  ...below('/api/accounts/:account_id', dashboardRoutes),
  ...below('/api/accounts/:account_id/v1', studioCalls),
  ...below('/api/accounts/:account_id', studioOwn),
  ...below('/api/operator', operatorRoutes),
];
