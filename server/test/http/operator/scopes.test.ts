/**
 * Rights in the operator's API: every call with every scope, with other keys and without one, and
 * with the sessions of operators and others.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { newKey } from '../../../src/core/account/key.ts';
import { scopes, type Scope } from '../../../src/core/account/scope.ts';
import * as operatorKeys from '../../../src/db/operator-keys.ts';
import { routes } from '../../../src/http/routes.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { invite } from '../../../src/operations/accounts/person.ts';
import { createVouchers } from '../../../src/operations/accounts/voucher.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { traces } from '../../kit/traces.ts';
import { operatorOf, person, stranger, withWebService, type Person } from '../../kit/web.ts';
import {
  chargedRequest,
  logRows,
  operatorKey,
  secretsIn,
  withRows,
  type MadeKey,
} from './world.ts';

/** Every call, with the status it has for: read, accounts, keys, money. Others get 401. */
const matrix = `
  GET    /v1/operator/accounts                           200 403 403 403
  GET    /v1/operator/accounts/:account_id               200 403 403 403
  GET    /v1/operator/accounts/:account_id/keys          200 403 403 403
  GET    /v1/operator/requests                           200 403 403 403
  GET    /v1/operator/transfers                          200 403 403 403
  GET    /v1/operator/usage                              200 403 403 403
  GET    /v1/operator/events                             200 403 403 403
  GET    /v1/operator/accounts/:account_id/statement     200 403 403 403
  GET    /v1/operator/requests/:request_id               200 403 403 403
  GET    /v1/operator/requests/:request_id/input         200 403 403 403
  GET    /v1/operator/references                         200 403 403 403
  GET    /v1/operator/vouchers                           200 403 403 403
  GET    /v1/operator/invitations                        200 403 403 403
  GET    /v1/operator/log                                200 403 403 403
  PUT    /v1/operator/accounts/:account_id/price         403 200 403 403
  PUT    /v1/operator/accounts/:account_id/keys-by-api   403 200 403 403
  POST   /v1/operator/invitations                        403 201 403 403
  DELETE /v1/operator/invitations/:invitation_id         403 200 403 403
  POST   /v1/operator/vouchers                           403 403 403 201
  POST   /v1/operator/vouchers/:voucher_id/void          403 403 403 200
  POST   /v1/operator/accounts                           403 201 403 403
  POST   /v1/operator/accounts/:account_id/suspend       403 200 403 403
  POST   /v1/operator/accounts/:account_id/resume        403 200 403 403
  POST   /v1/operator/accounts/:account_id/keys          403 403 201 403
  PATCH  /v1/operator/keys/:key_id                       403 403 200 403
  DELETE /v1/operator/keys/:key_id                       403 403 200 403
  POST   /v1/operator/accounts/:account_id/credits       403 403 403 201
  POST   /v1/operator/accounts/:account_id/adjustments   403 403 403 201
  POST   /v1/operator/requests/:request_id/refunds       403 403 403 201
`;

const rows = matrix
  .trim()
  .split('\n')
  .map((line) => {
    const [method = '', path = '', ...cells] = line.trim().split(/ +/);
    return { method, path, cells: cells.map(Number) };
  });

/** A request of the customer that was charged. */
let charged: string;
let made: Record<Scope, MadeKey>;
let others: Record<string, string | null>;
let operator: Person;
let owner: Person;
const { service, account: customer } = withWebService();
before(async () => {
  charged = await chargedRequest(service, customer);
  operator = await operatorOf(service);
  owner = await person(service, { [customer.account_id]: 'owner' });
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

const queries: Record<string, string> = { usage: '?by=day', references: '?reference=x' };
const invitation = async () => {
  const wanted = { account_id: null, role: 'owner', invited_by: null } as const;
  return (await invite(service.db, { ...wanted, email: `new${++n}@example.com` })).id;
};
const voucher = async () => {
  const wanted = { amount: 1n, count: 1, expires_at: null, note: null };
  return (await createVouchers(service.db, wanted))[0]!.id;
};

let n = 0;
async function callOf(path: string): Promise<{ at: string; body?: object }> {
  const { key_id } = path.includes(':key_id') ? await service.account() : customer;
  const at = path
    .replace(':account_id', customer.account_id)
    .replace(':key_id', key_id)
    .replace(':request_id', charged)
    .replace(':invitation_id', path.includes(':invitation_id') ? await invitation() : '')
    .replace(':voucher_id', path.includes(':voucher_id') ? await voucher() : '');
  const bodies: [end: RegExp, body: object][] = [
    [/\/accounts$/, { email: `new${++n}@example.com` }],
    [/\/keys$/, { name: 'web' }],
    [/\/price$/, { price_ppm: 900_000 }],
    [/\/keys-by-api$/, { keys_by_api: true }],
    [/\/invitations$/, { email: `new${++n}@example.com` }],
    [/\/vouchers$/, { amount_usd_micro: '5', count: 2 }],
    [/\/keys\/:key_id$/, { rpm: 5 }],
    [/\/credits$/, { amount_usd_micro: '5', reference: `c ${++n}`, source: 'paid' }],
    [/\/refunds$/, { amount_usd_micro: '5', reference: `r ${++n}`, reason: 'a slip' }],
    [/\/adjustments$/, { amount_usd_micro: '-5', reference: `a ${++n}`, reason: 'a slip' }],
  ];
  const query = queries[path.slice('/v1/operator/'.length)] ?? '';
  const body = bodies.find(([end]) => end.test(path))?.[1];
  return { at: at + query, ...(body && { body }) };
}

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

test('the matrix has every call of the API, and no other', () => {
  const calls = routes.filter(({ path }) => path.startsWith('/operator'));
  assert.deepEqual(
    rows.map(({ method, path }) => `${method} ${path}`).sort(),
    calls.map(({ method, path }) => `${method} /v1${path}`).sort(),
  );
  for (const { who } of calls) assert.equal(who, 'operator');
});

describe('the matrix of calls and scopes', () => {
  for (const { method, path, cells } of rows) {
    test(`${method} ${path} needs its scope, and leaves nothing without it`, async () => {
      assert.equal(cells.length, scopes.length);
      for (const [i, scope] of scopes.entries()) {
        const { at, body } = await callOf(path);
        const given = method === 'GET' || body === undefined ? {} : { body };
        const earlier = await traces(service);
        const call = () => service.call(method, at, { key: made[scope].key, ...given });
        const { reply, rows: left } = await withRows(service, call);
        assert.equal(reply.status, cells[i], `${scope}: ${reply.text}`);
        assert.ok(reply.headers.has('ratelimit-remaining'));
        if (reply.status === 403) {
          const { details, message } = assertRefused(reply, 'forbidden');
          const needed = scopes[cells.findIndex((status) => status < 300)]!;
          assert.deepEqual(details, { scope: needed, scopes: [scope] });
          assert.match(message, new RegExp(`scope ${needed}.*has ${scope}`));
          assert.deepEqual(await traces(service), earlier);
        }
        const acts = reply.status < 300 && method !== 'GET';
        assert.equal(left.length, acts ? 1 : 0, `${scope}: rows in the log`);
        for (const row of left) {
          for (const secret of secretsIn(reply.body)) assert.ok(!row.text.includes(secret), secret);
          const { operator_key_id } = made[scope];
          assert.deepEqual(
            [row.operator_key_id, row.by_email, row.person_id],
            [operator_key_id, `operator key ${scope}`, null],
          );
        }
      }
    });

    test(`${method} ${path} is open to the session of an operator, and to no other`, async () => {
      const { at, body: given } = await callOf(path);
      const body = method === 'GET' ? undefined : given;
      const here = at.replace('/v1/operator', '/api/operator');
      const earlier = await traces(service);
      assert.equal((await owner.call(method, here, body)).status, 404);
      assert.equal((await stranger(service).call(method, here, body)).status, 401);
      assert.deepEqual(await traces(service), earlier);
      const { reply, rows: left } = await withRows(service, () =>
        operator.call(method, here, body),
      );
      assert.equal(reply.status, Math.min(...cells), reply.text);
      assert.deepEqual(
        left.map((row) => [row.person_id, row.by_email, row.operator_key_id]),
        method === 'GET' ? [] : [[operator.id, operator.email, null]],
      );
    });

    test(`${method} ${path} is closed to everyone else`, async () => {
      const { at, body } = await callOf(path);
      const earlier = await traces(service);
      const logged = (await logRows(service)).length;
      for (const [who, authorization] of Object.entries(others)) {
        const headers: Record<string, string> = authorization === null ? {} : { authorization };
        const given = method === 'GET' || body === undefined ? {} : { body };
        const reply = await service.call(method, at, { headers, ...given });
        assertRefused(reply, 'unauthorized', { about: who });
        assert.equal(reply.headers.get('www-authenticate'), 'Key realm="farebox"');
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
