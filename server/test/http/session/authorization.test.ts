/** Rights: every route of the web pages with every kind of visitor. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import fastify, { type FastifyInstance } from 'fastify';
import { createAuth } from '../../../src/http/session/auth.ts';
import { FairQueue } from '../../../src/lib/fair-queue.ts';
import { ApiError } from '../../../src/core/errors.ts';
import type { Role } from '../../../src/core/account/role.ts';
import { mountWeb } from '../../../src/http/session/mount.ts';
import type { Row } from '../../../src/http/row.ts';
import { webRoutes } from '../../../src/http/session/routes.ts';
import type { WebDeps } from '../../../src/http/session/session-request.ts';
import { createLog } from '../../../src/lib/log.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { inShort } from '../../kit/long.ts';
import type { Service } from '../../kit/service.ts';
import {
  before,
  operatorOf,
  originOf,
  person,
  withWebService,
  type Person,
} from '../../kit/web.ts';

const columns = [
  'no session',
  'a revoked session',
  'somebody of another account',
  'read_only',
  'billing',
  'developer',
  'owner',
  'an operator',
  'an operator for support',
  'an operator who only reads',
  'owner of a suspended account',
] as const;
type Column = (typeof columns)[number];

/** The answers for each needed right, in the order of the columns; `ok`: the handler is reached. */
const cells = {
  //         none rev. oth. read bill dev. own. oper supp look susp
  anyone: '   ok  ok   ok   ok   ok   ok   ok   ok   ok   ok   ok',
  signed_in: '401 401  ok   ok   ok   ok   ok   ok   ok   ok   ok',
  view: '     401 401  404  ok   ok   ok   ok   404  404  404  ok',
  build: '    401 401  404  403  403  ok   ok   404  404  404  403',
  pay: '      401 401  404  403  ok   403  ok   404  404  404  403',
  own: '      401 401  404  403  403  403  ok   404  404  404  403',
  look: '     401 401  404  404  404  404  404  ok   ok   ok   404',
  support: '  401 401  404  404  404  404  404  ok   ok   403  404',
  operate: '  401 401  404  404  404  404  404  ok   403  403  404',
} as const;
type Need = keyof typeof cells;

/** The right that every route has to demand, written here and not read from the routes. */
const table: Record<Need, string> = {
  anyone: `
    GET / · GET /sign-in · GET /sign-up · GET /two-factor · GET /forgot · GET /reset
    GET /invitation · GET /dashboard · GET /dashboard/* · GET /cabinet · GET /cabinet/* · GET /studio · GET /studio/*
    GET /operator · GET /operator/* · GET /assets/* · GET /favicon.svg · GET /copy.js · GET /llms.txt
    GET /ru · GET /ru/models · GET /ru/models/*
    GET /docs · GET /docs/* · GET /models · GET /models/* · GET /robots.txt · GET /sitemap.txt
    GET /api/web · POST /api/sign-up · POST /api/invitation · POST /api/email · GET /email
    POST /api/confirm · GET /confirm
    POST /api/auth/sign-in/email · POST /api/auth/sign-in/social · GET /api/auth/callback/oidc
    POST /api/auth/sign-out · POST /api/auth/request-password-reset
    GET /api/auth/reset-password/:token · POST /api/auth/reset-password
    POST /api/auth/send-verification-email · GET /api/auth/verify-email
    POST /api/auth/change-password · POST /api/auth/two-factor/enable
    POST /api/auth/two-factor/verify-totp · POST /api/auth/two-factor/verify-backup-code
    POST /api/auth/two-factor/generate-backup-codes · POST /api/auth/two-factor/disable
    GET /api/auth/passkey/generate-authenticate-options
    POST /api/auth/passkey/verify-authentication
    GET /api/auth/passkey/generate-register-options · POST /api/auth/passkey/verify-registration
    GET /api/auth/passkey/list-user-passkeys · POST /api/auth/passkey/update-passkey
    POST /api/auth/passkey/delete-passkey`,
  signed_in: `
    GET /api/me · PATCH /api/me · GET /api/me/security · DELETE /api/me/sessions
    DELETE /api/me/sessions/:session_id · POST /api/me/account · POST /api/invitation/accept
    POST /api/me/email`,
  view: `
    GET account/events · GET account/requests · GET account/requests/choices
    GET account/requests/:request_id
    GET account/library · GET account/library/zip
    GET account/overview · GET account/spend · GET account/statement
    GET account/statement/lines · GET account/statement/totals · GET account/statement/export · GET account/top-up · GET account/alerts
    GET account/receipts/:transfer_id
    GET account/keys · GET account/keys/:key_id
    GET account/studio/allowance · GET account/studio/models
    POST account/studio/chat-price · GET account/v1/files/:file_id
    GET account/balance · GET account/team · POST account/leave
    GET account/webhooks · GET account/deliveries · GET account/requests/:request_id/deliveries
    GET account/events · GET account/requests · GET account/requests/choices
    GET account/requests/:request_id
    GET account/v1/balance · GET account/v1/deposits
    POST account/v1/estimate · GET account/v1/requests · GET account/v1/usage · GET account/v1/refusals
    GET account/v1/requests/:request_id
    GET account/v1/requests/:request_id/status · GET account/v1/requests/:request_id/status/stream
    GET account/v1/requests/:request_id/response · GET account/v1/files/:file_id
    GET account/studio/allowance · GET account/studio/models · POST account/studio/chat-price`,
  build: `
    POST account/v1/chat/completions · POST account/v1/queue/*
    POST account/v1/requests/:request_id/cancel · PUT account/v1/requests/:request_id/cancel
    DELETE account/v1/requests/:request_id/output · POST account/v1/files
    PUT account/requests/:request_id/favorite · DELETE account/requests/:request_id/favorite
    POST account/keys · PATCH account/keys/:key_id · POST account/keys/:key_id/rotate
    DELETE account/keys/:key_id/previous · DELETE account/keys/:key_id
    POST account/webhooks/rotate · POST account/webhooks/retire · POST account/webhooks/test
    POST account/requests/:request_id/resend`,
  pay: `
    POST account/vouchers · POST account/play-deposits
    GET account/v1/deposit-addresses · POST account/deposit-addresses · PUT account/alerts`,
  own: `
    PATCH account/account · PUT account/billed-to · PATCH account/members/:person_id · DELETE account/members/:person_id
    POST account/invitations · DELETE account/invitations/:invitation_id`,
  look: `
    GET console/overview · GET console/attention · POST console/audit · GET console/accounts
    GET console/accounts/:account_id · GET console/accounts/:account_id/statement
    GET console/accounts/:account_id/receipts/:transfer_id · GET console/accounts/:account_id/keys
    GET console/accounts/:account_id/people · GET console/requests · GET console/requests/export
    GET console/requests/:request_id · GET console/requests/:request_id/input · GET console/queue
    GET console/queue/requests · GET console/unknown · GET console/transfers · GET console/usage
    GET console/events · GET console/references · GET console/vouchers · GET console/models
    GET console/models/* · GET console/models/:model_id/history · GET console/upstreams/:upstream
    · GET console/upstreams · GET console/chains · GET console/chains/sums
    GET console/deposits · GET console/invitations · GET console/operator-keys · GET console/log
    GET console/settings · GET console/banner · GET console/refusals`,
  support: `
    POST console/accounts · POST console/accounts/:account_id/suspend · GET console/accounts/:account_id/export
    POST console/accounts/:account_id/resume · PUT console/accounts/:account_id/keys-by-api
    PATCH console/keys/:key_id · DELETE console/keys/:key_id
    POST console/accounts/:account_id/invitations
    POST console/invitations · DELETE console/invitations/:invitation_id
    PATCH console/people/:person_id · DELETE console/people/:person_id
    POST console/people/:person_id/erase · POST console/people/:person_id/sign-out · POST console/people/:person_id/reset-two-factors
    POST console/people/:person_id/reset-link`,
  operate: `
    POST console/accounts/:account_id/credits · POST console/accounts/:account_id/adjustments
    PUT console/accounts/:account_id/price · PUT console/accounts/:account_id/operator
    POST console/accounts/:account_id/keys
    POST console/requests/:request_id/refunds · POST console/requests/:request_id/cancel
    POST console/requests/:request_id/resolve · POST console/unknown/resolve
    POST console/vouchers · POST console/vouchers/:voucher_id/void · PATCH console/models/*
    DELETE console/models/:model_id/override · PATCH console/upstreams/:upstream
    PUT console/upstreams/:upstream/key
    PUT console/banner
    POST console/upstreams/:upstream/resume · POST console/upstreams/:upstream/test
    POST console/chains/:chain/resume · POST console/chains/:chain/rescan
    POST console/deposits/:deposit_id/credit · POST console/deposits/:deposit_id/ignore
    POST console/operator-keys · DELETE console/operator-keys/:operator_key_id`,
};

const nameOf = ({ method, path }: Row) => `${method} ${path}`;
const wanted = new Map<string, Need>();
for (const [need, text] of Object.entries(table)) {
  for (const [, method, path] of text.matchAll(/(\w+) (\S+)/g)) {
    const full = path!.startsWith('/')
      ? path!
      : path!.replace(/^account/, '/api/accounts/:account_id').replace(/^console/, '/api/operator');
    wanted.set(`${method} ${full}`, need as Need);
  }
}
const routes = webRoutes;
const known = () => routes.filter((route) => wanted.has(nameOf(route)));

test('the table has every route, and no unknown one', () => {
  const names = routes.map(nameOf);
  const without = names.filter((name) => !wanted.has(name));
  const gone = [...wanted.keys()].filter((name) => !names.includes(name));
  assert.deepEqual({ without, gone }, { without: [], gone: [] }, 'write them into the table above');
});

describe('the gate before the handlers', () => {
  let app: FastifyInstance;
  let account: string;
  let suspended: string;
  const visitors = new Map<Column, Person | null>();

  after(async () => {
    await app.close();
  });
  const { service } = withWebService();
  before(async () => {
    app = await openGate(service);
    account = (await service.account()).account_id;
    suspended = (await service.account()).account_id;
    for (const role of ['read_only', 'billing', 'developer', 'owner'] satisfies Role[])
      visitors.set(role, await person(service, { [account]: role }));
    const { account_id: another } = await service.account();
    visitors.set('no session', null);
    visitors.set('somebody of another account', await person(service, { [another]: 'owner' }));
    visitors.set('an operator', await operatorOf(service));
    visitors.set('an operator for support', await operatorOf(service, 'support'));
    visitors.set('an operator who only reads', await operatorOf(service, 'read_only'));
    visitors.set('owner of a suspended account', await person(service, { [suspended]: 'owner' }));
    await service.db.run(sql`update accounts set status = 'suspended' where id = ${suspended}`);
    const gone = await person(service, { [account]: 'owner' });
    await service.db.run(rawSql('delete from sessions where person_id = $1', [gone.id]));
    visitors.set('a revoked session', gone);
  });

  const pathFor = (route: Row, id: string) =>
    route.path
      .replace(':account_id', id)
      .replaceAll(/:\w+/g, '01890000-0000-7000-8000-000000000000')
      .replace('*', 'a/b');

  async function knock(route: Row, column: Column, headers: { origin?: string } = {}) {
    const id = column === 'owner of a suspended account' ? suspended : account;
    const cookie = [...(visitors.get(column)?.cookies ?? [])].map((pair) => pair.join('='));
    const { origin = route.method === 'GET' ? '' : originOf(service) } = headers;
    const reply = await app.inject({
      method: route.method,
      url: pathFor(route, id),
      headers: {
        ...(origin !== '' && { origin }),
        ...(cookie.length > 0 && { cookie: cookie.join('; ') }),
      },
    });
    const { statusCode: status } = reply;
    const { reached, code } = reply.json<{ reached?: boolean; code?: string }>();
    return reached ? 'ok' : `${status}${status === 403 && code !== 'forbidden' ? '?' : ''}`;
  }

  for (const [i, column] of columns.entries()) {
    test(`lets ${column} use their routes, and no others`, async () => {
      // One after the other, because all at once would time out waiting for a connection.
      const answers: [string, string][] = [];
      for (const route of known()) answers.push([nameOf(route), await knock(route, column)]);
      const expected = known().map((route) => {
        const need = wanted.get(nameOf(route))!;
        return [nameOf(route), cells[need].trim().split(/\s+/)[i]];
      });
      assert.deepEqual(answers, expected);
    });
  }

  for (const [what, origin] of Object.entries({
    "another site's page": { origin: 'https://evil.example' },
    'a page of the same host on another port': { origin: 'http://localhost:1' },
    'a page without an address of its own': { origin: 'null' },
    'who names no origin': { origin: '' },
  })) {
    test(`refuses every change that ${what} asks for, of the owner too`, async () => {
      const changing = routes.filter(({ method }) => method !== 'GET');
      assert.ok(changing.length > 20);
      for (const column of inShort(1, ['owner', 'an operator', 'no session'] as const)) {
        const answers = await Promise.all(changing.map((route) => knock(route, column, origin)));
        assert.deepEqual(
          answers.filter((answer) => answer !== '403'),
          [],
        );
      }
    });
  }
});

/** The real check of rights, with handlers that only say that they were reached. */
async function openGate(service: Service) {
  const secret = Buffer.from('a secret of at least thirty-two characters');
  const origin = () => originOf(service);
  const nothing = async () => {};
  const auth = createAuth({
    db: service.db,
    log: createLog('error'),
    origin,
    secrets: [secret],
    oidc: null,
    mail: null,
    admits: async () => false,
    settle: nothing,
    askToConfirm: () => {},
    meets: nothing,
    signedIn: nothing,
  });
  const app = fastify();
  app.setErrorHandler((error, _req, reply) => {
    if (!(error instanceof ApiError)) throw error;
    return reply.code(error.status).send({ code: error.code });
  });
  app.decorateRequest('belongsTo', () => {});
  const handle = async () => ({ reached: true });
  const queue = new FairQueue({ order: 1, capacity: 8, perOwner: 8, waitMs: 10_000 });
  const queues = { statements: queue, signIns: queue };
  const deps = {
    db: service.db,
    operations: {},
    auth,
    web: { origin },
    ...queues,
  } as unknown as WebDeps;
  mountWeb(
    app,
    webRoutes.map((route) => ({ ...route, handle })),
    deps,
  );
  await app.ready();
  return app;
}
