/** Keys that manage keys, as the operator sees, traces and stops them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { changedADayMax } from '../../../src/operations/accounts/key-actions.ts';
import { placeFor } from '../../commands/cli.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { before, operatorOf, person, withWebService, type Person } from '../../kit/web.ts';

let operator: Person;
let owner: Pick<Person, 'call'>;
let manager: { key: string; key_id: string };
const { service, account } = withWebService();
before(async () => {
  operator = await operatorOf(service);
  owner = (await person(service, { [account.account_id]: 'owner' })).of(account.account_id);
  manager = (await owner.call('POST', '/keys', { name: 'platform', scope: 'keys' })).body;
});

const managed = (method: string, path = '', body?: unknown) =>
  service.call(method, `/v1/keys${path}`, { key: manager.key, body });
const ofAccount = () => `/api/operator/accounts/${account.account_id}`;

test('a key that another key made names its maker on the command line and in the console', async (t) => {
  const { key_id } = (await managed('POST', '', { name: 'Customer 1' })).body;
  const place = placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
  const { stdout } = await place.run(['key', 'list', '--account', account.account_id]);
  const [head, ...lines] = stdout.split('\n');
  const at = head!.indexOf('MADE BY');
  assert.ok(at > 0, head);
  const makerOf = (id: string) =>
    lines
      .find((line) => line.startsWith(id))!
      .slice(at)
      .split(' ')[0];
  assert.deepEqual([key_id, manager.key_id].map(makerOf), [manager.key_id, '-']);
  const { data } = (await operator.call('GET', `${ofAccount()}/keys`)).body;
  const row = data.find((each: { key_id: string }) => each.key_id === key_id);
  assert.deepEqual([row.created_by, row.created_by_name], [manager.key_id, 'platform']);
});

/** The operator's log about the account, oldest first. */
async function logged(query = 'limit=100'): Promise<Record<string, any>[]> {
  const path = `/api/operator/log?account_id=${account.account_id}&${query}`;
  return (await operator.call('GET', path)).body.data.reverse();
}

test('what a key did to other keys is in the log, with its id', async () => {
  const earlier = await logged();
  const form = { name: 'Customer 2', rpm: 40, models: ['fake/image'] };
  const { key, key_id } = (await managed('POST', '', form)).body;
  const change = { name: 'Customer 3', rpm: 50, monthly_limit_usd_micro: '7' };
  assert.equal((await managed('PATCH', `/${key_id}`, change)).status, 200);
  assert.equal((await managed('DELETE', `/${key_id}`)).status, 200);
  const rows = (await logged()).slice(earlier.length);
  const by_key_id = manager.key_id;
  const before = { monthly_limit_usd_micro: null, rpm: 40, name: 'Customer 2' };
  const limits = { monthly_limit_usd_micro: '7', rpm: 50 };
  assert.deepEqual(
    rows.map(({ by_email, action, target, details }) => [by_email, action, target, details]),
    [
      [
        'managing key',
        'key.create',
        'Customer 2',
        { by_key_id, key_id, rpm: 40, models: ['fake/image'] },
      ],
      [
        'managing key',
        'key.change',
        'Customer 2',
        { by_key_id, key_id, name: 'Customer 3', ...limits, before },
      ],
      ['managing key', 'key.revoke', 'Customer 3', { by_key_id, key_id }],
    ],
  );
  assert.equal(JSON.stringify(rows).includes(key), false, 'the secret is in the log');
});

test('a call of a managing key that changes nothing leaves no row', async () => {
  const { key_id } = (await managed('POST', '', { name: 'Customer 4' })).body;
  const limits = { monthly_limit_usd_micro: '5' };
  await managed('PATCH', `/${key_id}`, limits);
  await managed('DELETE', `/${key_id}`);
  const earlier = await logged();
  const refused = [
    await managed('POST', '', { name: 'a', rpm: 0 }),
    await managed('PATCH', `/${key_id}`, limits),
    await managed('PATCH', `/${manager.key_id}`, { name: 'a' }),
    await managed('DELETE', `/${manager.key_id}`),
  ];
  assert.deepEqual(
    refused.map(({ status }) => status),
    [400, 400, 403, 403],
  );
  const calls = [
    await managed('DELETE', `/${key_id}`),
    await managed('GET', `/${key_id}`),
    await managed('GET'),
    await owner.call('POST', '/keys', { name: 'by a person' }),
  ];
  assert.deepEqual(
    calls.map(({ status }) => status),
    [200, 200, 200, 201],
  );
  assert.deepEqual(await logged(), earlier);
});

test('changes by a managing key are limited a day; revoking is not', async () => {
  const { key_id } = (await managed('POST', '', { name: 'Customer 5' })).body;
  await service.db.run(sql`insert into operator_log (id, seq, by_email, action, account_id)
        select id, (select max(seq) from operator_log) + n, 'managing key', 'key.change', ${account.account_id}
        from unnest(${Array.from({ length: changedADayMax }, () => newId())}::uuid[]) with ordinality as d (id, n)`);
  const reply = await managed('PATCH', `/${key_id}`, { name: 'Customer 6' });
  const { details } = assertRefused(reply, 'rate_limited');
  assert.equal(details.limit, changedADayMax);
  assert.ok(Number(reply.headers.get('retry-after')) > 80_000);
  assert.equal((await managed('GET', `/${key_id}`)).body.name, 'Customer 5');
  assert.equal((await managed('DELETE', `/${key_id}`)).status, 200);
});

test('an account that may not manage keys by API is refused with every key, until it may again', async (t) => {
  const place = placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
  const { account_id } = account;
  const { key, key_id } = (await managed('POST', '', { name: 'Customer 7' })).body;
  const calls = () => [
    managed('POST', '', { name: 'Customer 8' }),
    managed('GET'),
    managed('GET', `/${key_id}`),
    managed('PATCH', `/${key_id}`, { name: 'Customer 9' }),
    managed('DELETE', `/${key_id}`),
  ];
  const another = () => owner.call('POST', '/keys', { name: 'another', scope: 'keys' });
  const off = await place.run(['account', 'keys-by-api', account_id, 'off', '--json']);
  assert.deepEqual([off.code, off.json.keys_by_api], [0, false], off.stderr);
  const refused = await Promise.all([...calls(), another()]);
  for (const { status, body } of refused) {
    const { code, message, details } = body.error;
    assert.deepEqual([status, code, details], [403, 'forbidden', { reason: 'keys_by_api_off' }]);
    assert.match(message, /does not let this account manage keys by API\. Ask the operator\.$/);
  }
  // Keys that spend still work, and people can still make and revoke keys.
  assert.equal((await service.call('GET', '/v1/requests', { key })).status, 200);
  assert.equal((await owner.call('POST', '/keys', { name: 'by a person' })).status, 201);
  const shown = (await operator.call('GET', ofAccount())).body;
  assert.equal(shown.keys_by_api, false);
  const { data } = (await operator.call('GET', `${ofAccount()}/keys`)).body;
  assert.equal(data.find((row: { key_id: string }) => row.key_id === key_id).name, 'Customer 7');
  assert.match((await place.run(['account', 'show', account_id])).stdout, /^keys by API  off$/m);

  const on = await operator.call('PUT', `${ofAccount()}/keys-by-api`, { keys_by_api: true });
  assert.deepEqual([on.status, on.body], [200, { keys_by_api: true }]);
  assert.deepEqual([(await managed('GET')).status, (await another()).status], [200, 201]);
  const rows = await logged('action=account.keys_by_api');
  assert.deepEqual(
    rows.map(({ by_email, details }) => [by_email, details]),
    [
      ['command line', { keys_by_api: false, before: { keys_by_api: true } }],
      [operator.email, { keys_by_api: true, before: { keys_by_api: false } }],
    ],
  );
  const wrong = await place.run(['account', 'keys-by-api', account_id, 'maybe']);
  assert.equal(wrong.code, 2);
});

test('a limit of the operator on a managing key is that of each key that it makes later', async (t) => {
  const place = placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
  const earlier = (await managed('POST', '', { name: 'Customer 10' })).body;
  const said = await place.run(['key', 'limit', manager.key_id, '--limit-usd', '0.01']);
  const ceiling =
    "Keys that the account's people or keys make from now on: at most 0.01 USD a month.";
  assert.deepEqual([said.code, said.stderr], [0, `${ceiling}\n`]);
  const later = [
    (await managed('POST', '', { name: 'Customer 11' })).body,
    (await managed('POST', '', { name: 'Customer 12' })).body,
  ];
  assert.deepEqual(
    later.map((key) => key.monthly_limit_usd_micro),
    ['10000', '10000'],
  );
  for (const { key } of later) {
    const form = { key, body: { prompt: 'a cat' } };
    assert.equal((await service.call('POST', '/v1/queue/fake/image', form)).status, 202);
    assertRefused(await service.call('POST', '/v1/queue/fake/image', form), 'key_limit_reached');
  }
  const kept = (await managed('GET', `/${earlier.key_id}`)).body;
  assert.equal(kept.monthly_limit_usd_micro, null);
  const more = { name: 'Customer 13', monthly_limit_usd_micro: '10001' };
  assertRefused(await managed('POST', '', more), 'bad_request');
});
