/**
 * Rights in the operator's API: every call with every scope, with other keys and without one, and
 * with the sessions of operators and others.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { createVouchers } from '../../kit/by-command-line.ts';
import { newKey } from '../../../src/core/account/key.ts';
import { scopes, type Scope } from '../../../src/core/account/scope.ts';
import * as operatorKeys from '../../../src/db/operator-keys.ts';
import { operatorCalls, operatorRoutes } from '../../../src/http/operator/routes.ts';
import { routes } from '../../../src/http/routes.ts';
import type { Schema } from '../../../src/http/schemas/schema.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { createAccount } from '../../../src/operations/accounts/account.ts';
import { invite } from '../../../src/operations/accounts/person.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply } from '../../kit/service.ts';
import { traces } from '../../kit/traces.ts';
import {
  before,
  operatorOf,
  person,
  stranger,
  withWebService,
  type Answer,
  type Person,
} from '../../kit/web.ts';
import {
  chargedRequest,
  heldDeposit,
  logRows,
  lost,
  operatorKey,
  secretsIn,
  submitted,
  withRows,
  type MadeKey,
} from './world.ts';

/**
 * Every call with its scope, its status and, if it changes something, its name in the log. Other
 * scopes get 403, others 401. A call of the scope `session` has no way in for keys.
 */
const matrix = `
  GET    /overview                                     read     200
  GET    /attention                                    read     200
  POST   /audit                                        read     200 books.prove
  GET    /accounts                                     read     200
  POST   /accounts                                     accounts 201 account.create
  GET    /accounts/:account_id                         read     200
  GET    /accounts/:account_id/export                  accounts 200 account.export
  POST   /accounts/:account_id/credits                 money    201 account.credit
  POST   /accounts/:account_id/adjustments             money    201 account.adjust
  POST   /accounts/:account_id/suspend                 accounts 200 account.suspend
  POST   /accounts/:account_id/resume                  accounts 200 account.resume
  PUT    /accounts/:account_id/price                   accounts 200 account.price
  PUT    /accounts/:account_id/keys-by-api             accounts 200 account.keys_by_api
  GET    /accounts/:account_id/statement               read     200
  GET    /accounts/:account_id/receipts/:transfer_id   read     200
  GET    /accounts/:account_id/keys                    read     200
  POST   /accounts/:account_id/keys                    keys     201 key.create
  PATCH  /keys/:key_id                                 keys     200 key.limits
  DELETE /keys/:key_id                                 keys     200 key.revoke
  POST   /accounts/:account_id/invitations             accounts 201 account.invite
  GET    /accounts/:account_id/people                  read     200
  PATCH  /people/:person_id                            accounts 200 person.change
  DELETE /people/:person_id                            accounts 200 person.remove
  POST   /people/:person_id/erase                      accounts 200 person.erase
  POST   /people/:person_id/sign-out                   accounts 200 person.sign_out
  POST   /people/:person_id/reset-two-factors          accounts 200 person.reset_two_factors
  GET    /requests                                     read     200
  GET    /requests/export                              read     200
  GET    /requests/:request_id                         read     200
  GET    /requests/:request_id/input                   read     200
  GET    /refusals                                     read     200
  POST   /requests/:request_id/refunds                 money    201 request.refund
  POST   /requests/:request_id/cancel                  money    200 request.cancel
  POST   /requests/:request_id/resolve                 money    200 request.resolve
  GET    /queue                                        read     200
  GET    /queue/requests                               read     200
  GET    /unknown                                      read     200
  POST   /unknown/resolve                              money    200 request.resolve_many
  GET    /transfers                                    read     200
  GET    /usage                                        read     200
  GET    /events                                       read     200
  GET    /references                                   read     200
  GET    /vouchers                                     read     200
  POST   /vouchers                                     money    201 voucher.create
  POST   /vouchers/:voucher_id/void                    money    200 voucher.void
  GET    /models                                       read     200
  GET    /models/*                                     read     200
  PATCH  /models/*                                     catalog  200 model.stop
  DELETE /models/:model_id/override                    catalog  200 model.change
  GET    /models/:model_id/history                     read     200
  GET    /upstreams                                    read     200
  GET    /upstreams/:upstream                          read     200
  PATCH  /upstreams/:upstream                          catalog  200 upstream.state
  PUT    /upstreams/:upstream/key                      catalog  200 upstream.key
  POST   /upstreams/:upstream/resume                   catalog  200 upstream.wake
  POST   /upstreams/:upstream/test                     catalog  200 upstream.test
  GET    /chains                                       read     200
  GET    /chains/sums                                  read     200
  POST   /chains/:chain/resume                         money    200 chain.resume
  POST   /chains/:chain/rescan                         money    200 chain.rescan
  GET    /deposits                                     read     200
  POST   /deposits/:deposit_id/credit                  money    200 deposit.credit
  POST   /deposits/:deposit_id/ignore                  money    200 deposit.ignore
  GET    /invitations                                  read     200
  POST   /invitations                                  accounts 201 invitation.create
  DELETE /invitations/:invitation_id                   accounts 200 invitation.withdraw
  GET    /operator-keys                                read     200
  GET    /banner                                       read     200
  PUT    /banner                                       catalog  200 banner.set
  GET    /settings                                     read     200
  GET    /log                                          read     200
  PUT    /accounts/:account_id/operator                session  200 account.operator
  POST   /people/:person_id/reset-link                 session  200 person.reset
  POST   /operator-keys                                session  200 operator_key.create
  DELETE /operator-keys/:operator_key_id               session  200 operator_key.revoke
`;

const rows = matrix
  .trim()
  .split('\n')
  .map((line) => {
    const [method = '', path = '', scope = '', status, action] = line.trim().split(/ +/);
    return { method, path, scope, status: Number(status), action };
  });

/** A request of the customer that was charged. */
let charged: string;
let made: Record<Scope, MadeKey>;
let others: Record<string, string | null>;
let operator: Person;
let owner: Person;
/** An owner of a suspended operator's account, and a developer of one that is not. */
let suspended: Person;
let developer: Person;
const { service, account: customer } = withWebService();
before(async () => {
  charged = await chargedRequest(service, customer);
  operator = await operatorOf(service);
  owner = await person(service, { [customer.account_id]: 'owner' });
  suspended = await operatorOf(service);
  await service.db.run(sql`update accounts set status = 'suspended' where id in
      (select account_id from members where person_id = ${suspended.id})`);
  const crew = await createAccount(service.db, { email: 'crew@example.com', is_operator: true });
  developer = await person(service, { [crew.id]: 'developer' });
  const entries = scopes.map(async (scope) => [scope, await operatorKey(service, scope, [scope])]);
  made = Object.fromEntries(await Promise.all(entries));
  const revoked = await operatorKey(service, 'gone');
  await operatorKeys.revoke(service.db, revoked.operator_key_id);
  others = {
    'no key': null,
    "a customer's key": `Key ${customer.key}`,
    'a revoked operator key': `Key ${revoked.key}`,
    'an operator key that never was': `Key ${newKey(randomBytes, 'fbo_')}`,
    'an operator key of a wrong checksum': `Key ${revoked.key.slice(0, -1)}${revoked.key.endsWith('a') ? 'b' : 'a'}`,
    'an operator key without its scheme': made.read.key,
  };
});

/** Parts of a path, the query and the body of a call. */
interface CallParts {
  ids?: Record<string, string>;
  query?: string;
  body?: object;
}

let n = 0;
const email = () => `new${++n}@example.com`;
const booked = (amount: string) => ({
  amount_usd_micro: amount,
  reference: `made ${++n}`,
  reason: 'a slip',
});
const aKey = async () => ({ key_id: (await service.account()).key_id });
const aPerson = async () => {
  const { id: person_id } = await person(service, { [customer.account_id]: 'billing' });
  return { person_id };
};
const ofChain = async () => {
  await service.db.run(sql`
    insert into chains (name, chain_id, start_height, scanned_height, rescanned_height)
      values ('play', 7, 1, 9, 0) on conflict do nothing`);
  return { chain: 'play' };
};
const ofDeposit = async () => {
  await ofChain();
  return heldDeposit(service);
};

/** For the calls that need more than ids of an account and of a request that was charged. */
const given: Record<string, () => CallParts | Promise<CallParts>> = {
  'POST /accounts': () => ({ body: { email: email() } }),
  'POST /accounts/:account_id/credits': () => {
    const { reason: _, ...credit } = booked('5');
    return { body: { ...credit, source: 'paid' } };
  },
  'POST /accounts/:account_id/adjustments': () => ({ body: booked('-5') }),
  'PUT /accounts/:account_id/price': () => ({ body: { price_ppm: 900_000 } }),
  'PUT /accounts/:account_id/keys-by-api': () => ({ body: { keys_by_api: true } }),
  'PUT /accounts/:account_id/operator': () => ({ body: { is_operator: false } }),
  'GET /accounts/:account_id/receipts/:transfer_id': async () => {
    const [paid] = await service.db.run<{ id: string }>(sql`
      select id from transfers where account_id = ${customer.account_id} and source = 'paid'`);
    return { ids: { transfer_id: paid!.id } };
  },
  'POST /accounts/:account_id/keys': () => ({ body: { name: 'web' } }),
  'PATCH /keys/:key_id': async () => ({ ids: await aKey(), body: { rpm: 5 } }),
  'DELETE /keys/:key_id': async () => ({ ids: await aKey() }),
  'POST /accounts/:account_id/invitations': () => ({ body: { email: email(), role: 'billing' } }),
  'PATCH /people/:person_id': async () => ({ ids: await aPerson(), body: { name: 'Ann' } }),
  'DELETE /people/:person_id': async () => ({ ids: await aPerson() }),
  'POST /people/:person_id/erase': async () => ({ ids: await aPerson() }),
  'POST /people/:person_id/sign-out': async () => ({ ids: await aPerson() }),
  'POST /people/:person_id/reset-two-factors': async () => ({ ids: await aPerson() }),
  'POST /people/:person_id/reset-link': async () => ({ ids: await aPerson() }),
  'POST /requests/:request_id/refunds': () => ({ body: booked('5') }),
  'POST /requests/:request_id/cancel': async () => ({
    ids: { request_id: await submitted(service, customer) },
  }),
  'POST /requests/:request_id/resolve': async () => ({
    ids: { request_id: await lost(service, customer) },
    body: { outcome: 'ran', cost_usd_micro: '7' },
  }),
  'POST /unknown/resolve': async () => {
    await lost(service, customer);
    const since = new Date(Date.now() - 3_600_000).toISOString();
    return { body: { upstream: 'fake', since, outcome: 'did_not_run' } };
  },
  'GET /usage': () => ({ query: '?by=day' }),
  'GET /references': () => ({ query: '?reference=x' }),
  'POST /vouchers': () => ({ body: { amount_usd_micro: '5', count: 2 } }),
  'POST /vouchers/:voucher_id/void': async () => {
    const wanted = { amount: 1n, count: 1, expires_at: null, note: null };
    const [voucher] = await createVouchers(service.db, wanted);
    return { ids: { voucher_id: voucher!.id } };
  },
  'GET /models/*': () => ({ ids: { '*': 'fake/image' } }),
  'PATCH /models/*': () => ({
    ids: { '*': 'fake/film/text-to-video' },
    body: { status: 'stopped', reason: 'it costs too much' },
  }),
  'DELETE /models/:model_id/override': () => ({ ids: { model_id: 'fake/image' } }),
  'GET /models/:model_id/history': () => ({ ids: { model_id: 'fake/film/text-to-video' } }),
  'GET /upstreams/:upstream': () => ({ ids: { upstream: 'fake' } }),
  'PATCH /upstreams/:upstream': () => ({ ids: { upstream: 'fake' }, body: { state: 'on' } }),
  'PUT /upstreams/:upstream/key': () => ({ ids: { upstream: 'fake' }, body: { key: null } }),
  'POST /upstreams/:upstream/resume': () => ({ ids: { upstream: 'fake' } }),
  'POST /upstreams/:upstream/test': () => ({ ids: { upstream: 'fake' } }),
  'POST /chains/:chain/resume': async () => ({ ids: await ofChain() }),
  'POST /chains/:chain/rescan': async () => ({ ids: await ofChain(), body: { from_height: 5 } }),
  'POST /deposits/:deposit_id/credit': async () => ({ ids: await ofDeposit() }),
  'POST /deposits/:deposit_id/ignore': async () => ({
    ids: await ofDeposit(),
    body: { reason: 'not a payment' },
  }),
  'POST /invitations': () => ({ body: { email: email() } }),
  'DELETE /invitations/:invitation_id': async () => {
    const wanted = { account_id: null, role: 'owner', invited_by: null } as const;
    const { id: invitation_id } = await invite(service.db, { ...wanted, email: email() });
    return { ids: { invitation_id } };
  },
  'PUT /banner': () => ({ body: { en: 'Slow today', ru: 'Сегодня медленно' } }),
  'POST /operator-keys': () => ({ body: { name: 'billing', scopes: ['money', 'read'] } }),
  'DELETE /operator-keys/:operator_key_id': async () => ({
    ids: { operator_key_id: (await operatorKey(service, 'old', ['read'])).operator_key_id },
  }),
};

/** A call of a row: its path below the prefix, and its body. */
async function callOf({ method, path }: { method: string; path: string }) {
  const { ids = {}, query = '', body } = (await given[`${method} ${path}`]?.()) ?? {};
  const { account_id } = customer;
  const all: Record<string, string> = { account_id, request_id: charged, ...ids };
  const at = path.replaceAll(/:(\w+)|\*/g, (rest, name = rest) => all[name]!);
  return { at: at + query, body };
}

/** Texts that may have several lines, or that name something which exists. */
const otherTexts = new Set([
  'PUT /upstreams/:upstream/key key',
  'POST /unknown/resolve upstream',
  'POST /upstreams/:upstream/resume model',
  'POST /deposits/:deposit_id/credit account',
  'PUT /banner en',
  'PUT /banner ru',
]);
const ofLine = ({ type, format, pattern, enum: values, description }: Schema) =>
  type === 'string' && !(format ?? pattern ?? values) && description !== 'An e-mail address.';

for (const { method, path, shapes } of operatorRoutes)
  for (const [field, schema] of Object.entries<Schema>(shapes.body?.properties ?? {})) {
    const name = `${method} ${path} ${field}`;
    if (!ofLine(schema) || otherTexts.has(name)) continue;
    test(`the text of ${name} is one line, without invisible characters`, async () => {
      for (const text of ['two\nlines', 'a\u202eb', 'a\u2028b']) {
        const { at, body } = await callOf({ method, path });
        const more = field === 'status_note' ? { status: 'stopped' } : {};
        const credit = name === 'POST /accounts reference' ? { credit_usd_micro: '5' } : {};
        const sent = { ...body, ...more, ...credit, [field]: text };
        const call = () => operator.call(method, `/api/operator${at}`, sent);
        const { reply, rows: left } = await withRows(service, call);
        assert.equal(reply.status, 400, `${JSON.stringify(text)}: ${JSON.stringify(reply.body)}`);
        assert.deepEqual(left, []);
      }
    });
  }

/** Changes that an owner of the service need not make, because they only concern money. */
const ofMoney = new Set(
  ['credits', 'adjustments', 'price'].map((name) => `/accounts/:account_id/${name}`),
);

describe('those who run the service are spared', () => {
  const ofOthers = operatorRoutes
    .filter(({ method, path }) => method !== 'GET' || path === '/accounts/:account_id/export')
    .filter(({ path }) => /:(?:account|key|person)_id/.test(path) && !ofMoney.has(path))
    .filter((route) => !('right' in route && route.right === 'own'));
  test('by each call that changes an account, a key or a person, or exports all of one, and by no other', () => {
    const spared = operatorRoutes.filter((route) => 'spares' in route);
    assert.deepEqual(spared, ofOthers);
  });

  for (const { method, path, ...route } of ofOthers)
    test(`${method} ${path} by support, and by a key with every scope`, async () => {
      const { account_id, key_id } = await service.account();
      await service.db.run(sql`update accounts set is_operator = true where id = ${account_id}`);
      await person(service, { [account_id]: 'owner' });
      const support = await person(service, { [account_id]: 'developer' });
      await service.db.run(sql`
        update members set operator_role = 'support' where person_id = ${support.id}`);
      const target = await person(service, { [account_id]: 'billing' });
      const ids = { account_id, key_id, person_id: target.id };
      const { body } = (await given[`${method} ${path}`]?.()) ?? {};
      const at = path.replaceAll(/:(\w+)/g, (_, name: keyof typeof ids) => ids[name].toUpperCase());
      const [earlier, logged] = [await traces(service), (await logRows(service)).length];
      const bySupport = await support.call(method, `/api/operator${at}`, body);
      const isMoney = 'right' in route && route.right === 'money';
      const reason = isMoney ? 'operator_role_too_low' : 'operator_account';
      assert.equal(bySupport.body.error?.details?.reason, reason, bySupport.text);
      const { key } = await operatorKey(service, 'all of them');
      const byKey = await service.call(method, `/v1/operator${at}`, { key, ...(body && { body }) });
      if (![404, 405].includes(byKey.status))
        assert.equal(byKey.body.error?.details?.reason, 'operator_account', byKey.text);
      assert.deepEqual(await traces(service), earlier);
      assert.equal((await logRows(service)).length, logged);
    });
});

test('a key may come in each way that openapi.json lists', async () => {
  const { paths, security, components } = (await service.call('GET', '/v1/openapi.json')).body;
  const ways = (key: string): Record<string, Record<string, string>> => ({
    'Authorization: Key': { authorization: `Key ${key}` },
    'Authorization: Bearer': { authorization: `Bearer ${key}` },
    'x-api-key': { 'x-api-key': key },
    none: {},
  });
  const listed = (path: string): string[] =>
    (paths[path].get.security ?? security).map((each: object) => {
      const [scheme = 'none'] = Object.keys(each);
      const { type, name } = components.securitySchemes[scheme] ?? {};
      if (type === 'http') return 'Authorization: Bearer';
      return name === 'Authorization' ? 'Authorization: Key' : (name ?? scheme);
    });
  const calls = { '/models': customer.key, '/balance': customer.key };
  for (const [path, key] of Object.entries({ ...calls, '/operator/accounts': made.read.key })) {
    const taken: string[] = [];
    for (const [way, headers] of Object.entries(ways(key))) {
      const { status } = await service.call('GET', `/v1${path}`, { headers });
      if (status === 200) taken.push(way);
    }
    assert.deepEqual(listed(path).sort(), taken.sort(), path);
  }
});

test('the matrix has every call of the API and of the console, and no other', () => {
  const named = (calls: { method: string; path: string }[]) =>
    calls.map(({ method, path }) => `${method} ${path}`).sort();
  const ofKeys = rows.filter(({ scope }) => scope !== 'session');
  assert.deepEqual(named(ofKeys), named(operatorCalls));
  assert.deepEqual(named(rows), named(operatorRoutes));
  assert.deepEqual(
    routes.filter(({ path }) => path.startsWith('/operator')).map(({ who }) => who),
    operatorCalls.map(() => 'operator'),
  );
});

/** The console's words for details, and the names of those that it hides or formats. */
const logWords = ['log-texts.ts', 'LogList.tsx']
  .map((file) => readFileSync(new URL(`../../../../web/src/operator/${file}`, import.meta.url)))
  .join('\n');

/** Makes the call and checks what it left in the log. */
async function succeeds(
  { status, action }: (typeof rows)[number],
  by: object,
  call: () => Promise<Reply | Answer>,
): Promise<void> {
  const { reply, rows: left } = await withRows(service, call);
  assert.equal(reply.status, status, reply.text);
  assert.deepEqual(
    left.map((row) => row.action),
    action === undefined ? [] : [action],
  );
  for (const row of left) {
    assert.partialDeepStrictEqual(row, by);
    for (const name of Object.keys(row.details ?? {}))
      assert.match(logWords, new RegExp(`^ {4}${name}:|'${name}'`, 'm'), `no words for ${name}`);
    for (const secret of secretsIn(reply.body ?? reply.text))
      assert.ok(!row.text.includes(secret), secret);
  }
}

describe('the matrix of calls and scopes', () => {
  for (const row of rows) {
    const { method, path, scope } = row;
    const isForKeys = scope !== 'session';
    const bodyOf = (body?: object) => (method === 'GET' || body === undefined ? {} : { body });

    test(`${method} ${path} needs its scope, and leaves nothing without it`, async () => {
      const { at, body } = await callOf(row);
      const call = (key: string) =>
        service.call(method, `/v1/operator${at}`, { key, ...bodyOf(body) });
      const [earlier, logged] = [await traces(service), (await logRows(service)).length];
      for (const other of scopes.filter((each) => each !== scope)) {
        const reply = await call(made[other].key);
        if (isForKeys) {
          const { details, message } = assertRefused(reply, 'forbidden');
          assert.ok(reply.headers.has('ratelimit-remaining'));
          assert.deepEqual(details, { scope, scopes: [other] });
          assert.match(message, new RegExp(`scope ${scope}.*has ${other}`));
        } else assert.ok([404, 405].includes(reply.status), reply.text);
      }
      assert.deepEqual(await traces(service), earlier);
      assert.equal((await logRows(service)).length, logged);
      const key = scopes.includes(scope as Scope) && made[scope as Scope];
      if (!key) return;
      const { operator_key_id } = key;
      const by = { operator_key_id, by_email: `operator key ${scope}`, person_id: null };
      await succeeds(row, by, () => call(key.key));
    });

    test(`${method} ${path} is open to the session of an operator, and to no other`, async () => {
      const { at, body: wanted } = await callOf(row);
      const { body } = bodyOf(wanted);
      const here = `/api/operator${at}`;
      const [earlier, logged] = [await traces(service), (await logRows(service)).length];
      for (const other of [owner, suspended, developer])
        assert.equal((await other.call(method, here, body)).status, 404);
      assert.equal((await stranger(service).call(method, here, body)).status, 401);
      assert.deepEqual(await traces(service), earlier);
      assert.equal((await logRows(service)).length, logged);
      const by = { person_id: operator.id, by_email: operator.email, operator_key_id: null };
      await succeeds(row, by, () => operator.call(method, here, body));
    });

    test(`${method} ${path} is closed to everyone else`, async () => {
      const { at, body } = await callOf(row);
      const earlier = await traces(service);
      const logged = (await logRows(service)).length;
      for (const [who, authorization] of Object.entries(others)) {
        const headers: Record<string, string> = authorization === null ? {} : { authorization };
        const call = { headers, ...bodyOf(body) };
        const reply = await service.call(method, `/v1/operator${at}`, call);
        if (isForKeys) {
          assertRefused(reply, 'unauthorized', { about: who });
          assert.equal(reply.headers.get('www-authenticate'), 'Key realm="farebox"');
        } else assert.ok([404, 405].includes(reply.status), reply.text);
      }
      assert.deepEqual(await traces(service), earlier);
      assert.equal((await logRows(service)).length, logged);
    });
  }
});

test('each door says which key it takes', async () => {
  const at = '/v1/operator/accounts';
  const wrong = assertRefused(await customer.get(at), 'unauthorized');
  assert.match(wrong.message, /account's key.*operator key; it begins with fbo_/);
  const none = assertRefused(await service.call('GET', at), 'unauthorized');
  assert.match(none.message, /Send an operator key as "Authorization: Key fbo_/);
  for (const path of ['/v1/balance', '/v1/requests', `/v1/operator/../balance`]) {
    const reply = await service.call('GET', path, { key: made.read.key });
    const { message } = assertRefused(reply, 'unauthorized');
    assert.match(message, /operator key, which works only below \/v1\/operator/);
  }
});

test('a key with several scopes may make the calls of each', async () => {
  const two = await operatorKey(service, 'two', ['money', 'read', 'money']);
  const [row] = await operatorKeys.list(service.db, { below_id: null, limit: 1 });
  assert.deepEqual(row!.scopes, ['read', 'money']);
  assert.equal((await service.call('GET', '/v1/operator/usage?by=day', two)).status, 200);
  const at = `/v1/operator/accounts/${customer.account_id}/suspend`;
  assertRefused(await service.call('POST', at, two), 'forbidden');
});

test('a first credit with a new account needs the scope of money, too', async () => {
  const body = {
    email: 'paid@example.com',
    credit_usd_micro: '5000000',
    reference: 'a first payment',
  };
  const call = (key: MadeKey) =>
    withRows(service, () => service.call('POST', '/v1/operator/accounts', { key: key.key, body }));
  const earlier = await traces(service);
  const poor = await call(made.accounts);
  assert.equal(assertRefused(poor.reply, 'forbidden').details.scope, 'money');
  assertRefused((await call(made.money)).reply, 'forbidden');
  assert.deepEqual(await traces(service), earlier);
  const both = await call(await operatorKey(service, 'both', ['accounts', 'money']));
  assert.equal(both.reply.status, 201, both.reply.text);
  assert.deepEqual(both.rows.map(({ action }) => action).sort(), [
    'account.create',
    'account.credit',
  ]);
  const taken = await operatorKey(service, 'again', ['accounts', 'money']);
  const again = { ...body, email: 'other@example.com', credit_usd_micro: '5000001' };
  const reply = await service.call('POST', '/v1/operator/accounts', {
    key: taken.key,
    body: again,
  });
  assertRefused(reply, 'idempotency_conflict');
  const { body: found } = await operator.call('GET', '/api/operator/accounts?q=other@example.com');
  assert.deepEqual(found.data, [], 'an account without its credit');
});

test('a revoked key is refused from the next call on', async () => {
  const key = await operatorKey(service, 'short');
  assert.equal((await service.call('GET', '/v1/operator/accounts', key)).status, 200);
  await operatorKeys.revoke(service.db, key.operator_key_id);
  const reply = await service.call('GET', '/v1/operator/accounts', key);
  assert.match(assertRefused(reply, 'unauthorized').message, /invalid or has been revoked/);
});

test('calls a minute are counted over all processes, and refused above the limit', async () => {
  const key = await operatorKey(service, 'busy');
  const { base } = await service.another({ FAREBOX_RPM: '3' });
  const remaining: string[] = [];
  for (let i = 0; i < 3; i++) {
    const reply = await service.call('GET', '/v1/operator/accounts', { ...key, base });
    assert.equal(reply.status, 200, reply.text);
    remaining.push(reply.headers.get('ratelimit-remaining')!);
  }
  assert.deepEqual(remaining, ['2', '1', '0']);
  const logged = (await logRows(service)).length;
  const body = { email: 'busy@example.com' };
  const refused = await service.call('POST', '/v1/operator/accounts', { ...key, body, base });
  const { details } = assertRefused(refused, 'rate_limited');
  assert.equal(details.limit, 3);
  assert.equal((await logRows(service)).length, logged);
  const other = await operatorKey(service, 'calm');
  assert.equal(
    (await service.call('GET', '/v1/operator/accounts', { ...other, base })).status,
    200,
  );
  await service.db.run(sql`update operator_key_windows set started_at = now() - interval '61 s'
    where key_id = ${key.operator_key_id}`);
  const again = await service.call('POST', '/v1/operator/accounts', { ...key, body, base });
  assert.equal(again.status, 201, again.text);
});

test('the database has no operator key in clear', async () => {
  const rows = await service.db.run<{ text: string }>(sql`select k::text as text
    from operator_keys k union all select l::text from operator_log l`);
  for (const { key } of Object.values(made))
    for (const { text } of rows) assert.ok(!text.includes(key.slice(8, 30)), text);
});
