import type { FastifyReply, FastifyRequest } from 'fastify';
import { dashboardRoutes } from '../dashboard/routes.ts';
import { operatorRoutes } from '../operator/routes.ts';
import { keyedCalls } from '../routes.ts';
import { siteRoutes } from '../site/routes.ts';
import { authPath } from './auth-library.ts';
import { authCalls } from './auth-calls.ts';
import type { Endpoint } from './endpoint.ts';
import * as confirmation from './confirmation.ts';
import * as email from './email.ts';
import { row, type Need, type VisitHandler, type VisitRow, type WebMethod } from './endpoint.ts';
import * as entry from './entry.ts';
import * as pages from './pages.ts';
import * as profile from './profile.ts';
import { allowance, chatPrice, models, ownFile, studioCall, studioRead } from './studio.ts';
import type { WebDeps } from './visit.ts';

type OpenHandler = (req: FastifyRequest, reply: FastifyReply, deps: WebDeps) => Promise<unknown>;

export type WebRoute = { method: WebMethod; path: string } & (
  | { need: 'anyone'; handler: OpenHandler | Endpoint<FastifyRequest> }
  | { need: Exclude<Need, 'anyone'>; handler: VisitHandler | Endpoint }
);

const open: [WebMethod, string, OpenHandler | Endpoint<FastifyRequest>][] = [
  ['GET', '/api/web', entry.settings],
  ['POST', '/api/sign-up', entry.signUp],
  ['POST', '/api/invitation', entry.invitation],
  ['POST', '/api/email', email.confirm],
  ['POST', '/api/confirm', confirmation.confirm],
  ['POST', `${authPath}/reset-password`, confirmation.reset],
  ['GET', `${authPath}/verify-email`, confirmation.formerLink],
  ...authCalls.map(([method, path]): [WebMethod, string, OpenHandler] => [
    method,
    `${authPath}${path}`,
    entry.auth,
  ]),
  ['GET', '/assets/*', pages.asset],
  ['GET', '/favicon.svg', pages.asset],
  ...siteRoutes.map(([path, handler]): [WebMethod, string, OpenHandler] => ['GET', path, handler]),
  ...pages.paths.map((path): [WebMethod, string, OpenHandler] => ['GET', path, pages.page]),
  ...pages.formerPaths.map((path): [WebMethod, string, OpenHandler] => ['GET', path, pages.moved]),
];

const personal: VisitRow[] = [
  row('GET', '/api/me', 'signed_in', entry.me),
  row('PATCH', '/api/me', 'signed_in', profile.rename),
  row('POST', '/api/me/email', 'signed_in', email.ask),
  row('GET', '/api/me/security', 'signed_in', profile.security),
  row('DELETE', '/api/me/sessions', 'signed_in', profile.endOtherSessions),
  row('DELETE', '/api/me/sessions/:session_id', 'signed_in', profile.endSession),
  row('POST', '/api/me/account', 'signed_in', profile.openAccount),
  row('POST', '/api/invitation/accept', 'signed_in', entry.accept),
];

/** Every call of the web pages: the router and the authorisation test read this table. */
export function webRoutes(): WebRoute[] {
  return [
    ...open.map(openRoute),
    ...rows('', personal),
    ...rows('/api/accounts/:account_id', dashboardRoutes),
    ...rows('/api/accounts/:account_id/v1', studioRows()),
    ...rows('/api/accounts/:account_id', studioOwn),
    ...rows('/api/operator', operatorRoutes),
  ];
}

function openRoute([method, path, handler]: (typeof open)[number]): WebRoute {
  return { method, path, need: 'anyone', handler };
}

/** This call shows addresses for deposits, so it needs the right `pay`. */
const payAddresses = '/deposit-addresses';

/** The API's calls for the people of an account. Calls that spend count against the studio key. */
function studioRows(): VisitRow[] {
  const calls = keyedCalls.map(([method, path, , { shapes, handle }]): VisitRow => {
    const looks = method === 'GET' || path === '/estimate';
    const [right, make] = looks
      ? ([path === payAddresses ? 'pay' : 'view', studioRead] as const)
      : (['build', studioCall] as const);
    const call: Endpoint = {
      shapes: { ...shapes, reply: shapes.reply ?? shapes.written },
      handle: (visit, reply, deps) => make(handle, visit, reply, deps),
    };
    return [method, path, right, call];
  });
  return [...calls, row('GET', '/files/:file_id', 'view', ownFile)];
}

/** Further calls of the studio, below /api/accounts/:account_id. */
const studioOwn: VisitRow[] = [
  row('GET', '/studio/allowance', 'view', allowance),
  row('GET', '/studio/models', 'view', models),
  row('POST', '/studio/chat-price', 'view', chatPrice),
];

function rows(prefix: string, table: readonly VisitRow[]): WebRoute[] {
  return table.map(([method, path, need, handler]) => {
    return { method, path: `${prefix}${path}`, need, handler };
  });
}
