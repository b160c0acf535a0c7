/** Refused calls: counted by key and code, listed one by one, and shown only to the account. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keep, listedMax } from '../../../src/db/accounts/refusals.ts';
import { leastIdAt, newId } from '../../../src/lib/id.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { limitKey } from '../../kit/keys.ts';
import type { TestAccount } from '../../kit/service.ts';
import { until } from '../../kit/until.ts';
import { operatorOf, person, withWebService } from '../../kit/web.ts';

const { service } = withWebService();

const body = { prompt: 'a cat' };
const submit = ({ key }: TestAccount, more: object = {}) =>
  service.call('POST', '/v1/queue/fake/image', { key, body: { ...body, ...more } });
const refusedOf = async (account: TestAccount, role: 'owner' | 'read_only' = 'read_only') => {
  const who = await person(service, { [account.account_id]: role });
  return async () => (await who.of(account.account_id).call('GET', '/keys')).body.refused as any[];
};
/** The account's list, once it has so many entries. */
const listOf = (account: TestAccount, count: number, query = '') =>
  until('the refused calls are listed', async () => {
    const { status, body: page } = await account.get(`/v1/refusals?limit=100${query}`);
    assert.equal(status, 200);
    return page.data.length === count && (page.data as any[]);
  });
const balanceOf = async ({ account_id }: TestAccount) => {
  const [row] = await service.db.run<{ n: bigint }>(sql`select count(*) as n from transfers
    where account_id = ${account_id}`);
  return row!.n;
};

test('refused calls are counted by key and code, in the list of keys and on the overview', async () => {
  const account = await service.account({ usd: 1, monthly_limit_usd_micro: 0n });
  const other = await service.account();
  for (let i = 0; i < 3; i++) assert.equal((await submit(account)).status, 402);
  assert.equal((await submit(account, { num_images: 99 })).status, 400);
  assert.equal((await submit(other)).status, 202);
  const refused = await refusedOf(account);
  const found = await until('they are counted', async () => {
    const rows = await refused();
    return rows.length === 2 && rows;
  });
  assert.deepEqual(found, [
    { key_id: account.key_id, name: 'test', code: 'key_limit_reached', calls: 3 },
    { key_id: account.key_id, name: 'test', code: 'unpriceable', calls: 1 },
  ]);
  const owner = await person(service, { [account.account_id]: 'owner' });
  const { body: overview } = await owner.of(account.account_id).call('GET', '/overview');
  assert.deepEqual(overview.refused, found);
  assert.deepEqual(await (await refusedOf(other))(), []);
  assert.equal(await balanceOf(account), 1n);
});

test('a burst of refused calls is one count a code, which grows, and is shown for a day', async () => {
  const account = await service.account({ usd: 0 });
  await limitKey(service.db, account.key_id, { rpm: 20 });
  const replies = await Promise.all(Array.from({ length: 60 }, () => submit(account)));
  const statuses = Map.groupBy(replies, ({ status }) => status);
  assert.deepEqual([statuses.get(402)!.length, statuses.get(429)!.length], [20, 40]);
  const refused = await refusedOf(account);
  await until('all are counted', async () => {
    const counts = Object.fromEntries((await refused()).map(({ code, calls }) => [code, calls]));
    return counts.insufficient_balance === 20 && counts.rate_limited === 40;
  });
  const rows = () =>
    service.db.run<{ calls: bigint }>(sql`select calls from refusals
      where account_id = ${account.account_id}`);
  assert.ok((await rows()).length <= 4);
  await submit(account);
  await until('one more', async () =>
    (await refused()).some(({ code, calls }) => code === 'rate_limited' && calls === 41),
  );
  await service.db.run(sql`update refusals set began_at = began_at - interval '1 day'
    where account_id = ${account.account_id}`);
  assert.deepEqual(await refused(), []);
});

const secret = 'sk-live-0123456789abcdef0123456789';
/** A call, and its entry in the list. */
const doors: [
  what: string,
  method: string,
  path: string,
  sent: object | undefined,
  entry: { status: number; code: string; path: string; model_id: string | null; reason?: string },
][] = [
  [
    'the queue',
    'POST',
    '/v1/queue/fake/image',
    { prompt: secret, num_images: 99 },
    { status: 400, code: 'unpriceable', path: '/v1/queue/fake/image', model_id: 'fake/image' },
  ],
  [
    'the queue, for a model that does not exist',
    'POST',
    `/v1/queue/${secret}`,
    body,
    { status: 400, code: 'unknown_model', path: '/v1/queue/*', model_id: null },
  ],
  [
    'the estimate',
    'POST',
    '/v1/estimate',
    { model_id: 'fake/image', input: { prompt: secret, num_images: 99 } },
    { status: 400, code: 'unpriceable', path: '/v1/estimate', model_id: 'fake/image' },
  ],
  [
    'chat completions',
    'POST',
    '/v1/chat/completions',
    { model: 'fake/chat', messages: secret },
    { status: 400, code: 'bad_messages', path: '/v1/chat/completions', model_id: 'fake/chat' },
  ],
  [
    'messages',
    'POST',
    '/v1/messages',
    { model: secret, max_tokens: 1, messages: [{ role: 'user', content: secret }] },
    { status: 400, code: 'unknown_model', path: '/v1/messages', model_id: null },
  ],
  [
    "fal's queue",
    'POST',
    '/fal/queue.fal.run/fake/image',
    { prompt: secret, num_images: 99 },
    {
      status: 400,
      code: 'unpriceable',
      path: '/fal/queue.fal.run/fake/image',
      model_id: 'fake/image',
    },
  ],
  [
    "Replicate's predictions",
    'POST',
    '/replicate/v1/models/fake/image/predictions',
    { input: { prompt: secret, num_images: 99 } },
    {
      status: 400,
      code: 'unpriceable',
      path: '/replicate/v1/models/fake/image',
      model_id: 'fake/image',
    },
  ],
  [
    'the images of OpenAI',
    'POST',
    '/v1/images/generations',
    { model: 'fake/image', prompt: secret, n: 99 },
    {
      status: 400,
      code: 'unpriceable',
      path: '/v1/images/generations',
      model_id: 'fake/image',
    },
  ],
  [
    'a request of nobody',
    'GET',
    '/v1/requests/0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10',
    undefined,
    {
      status: 404,
      code: 'not_found',
      path: '/v1/requests/0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10',
      model_id: null,
    },
  ],
  [
    'a list with an unknown filter',
    'GET',
    `/v1/requests?api_key=${secret}`,
    undefined,
    { status: 400, code: 'bad_request', path: '/v1/requests', model_id: null },
  ],
  [
    'a call of another scope',
    'GET',
    '/v1/keys',
    undefined,
    { status: 403, code: 'forbidden', path: '/v1/keys', model_id: null },
  ],
];

for (const [what, method, path, sent, expected] of doors)
  test(`${what} leaves a refused call with its number, and nothing that the caller wrote`, async () => {
    const account = await service.account();
    const moved = await balanceOf(account);
    const reply = await service.call(method, path, { key: account.key, body: sent });
    assert.ok(reply.status >= 400 && reply.status < 500, reply.text);
    const [entry] = await listOf(account, 1);
    const { at, reason, ...told } = entry;
    assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000);
    assert.ok(reason === null || typeof reason === 'string');
    assert.deepEqual(told, {
      call_id: reply.headers.get('x-request-id'),
      key_id: account.key_id,
      ...expected,
    });
    assert.equal(JSON.stringify(entry).includes(secret), false);
    assert.equal(await balanceOf(account), moved);
  });

test('calls that went well, and those without a known key, are not listed', async () => {
  const account = await service.account();
  assert.equal((await submit(account)).status, 202);
  assert.equal((await service.call('GET', '/v1/balance', { key: 'fbx_unknown' })).status, 401);
  assert.equal((await service.call('GET', '/v1/nothing', { key: account.key })).status, 404);
  assert.equal((await account.get('/v1/requests/none')).status, 404);
  const [{ code, path }] = await listOf(account, 1);
  assert.deepEqual([code, path], ['not_found', '/v1/requests/:request_id']);
});

test('the list is filtered, read page by page, and its filters are checked', async () => {
  const account = await service.account({ usd: 0 });
  for (let i = 0; i < 3; i++) await submit(account);
  await account.get('/v1/requests/none');
  await service.call('POST', '/v1/queue/fake/film/text-to-video', { key: account.key, body });
  const all = await listOf(account, 5);
  assert.deepEqual(
    all.map(({ at }) => at),
    all
      .map(({ at }) => at)
      .toSorted()
      .toReversed(),
  );
  await listOf(account, 4, '&code=insufficient_balance');
  await listOf(account, 3, '&model_id=fake/image');
  await listOf(account, 5, `&key_id=${account.key_id}`);
  await listOf(account, 0, `&key_id=${newId()}`);
  await listOf(account, 0, '&to=2026-01-01');
  await listOf(account, 5, '&from=2026-01-01T00:00:00Z');
  const pages: string[] = [];
  for (let cursor = ''; ;) {
    const { body: page } = await account.get(`/v1/refusals?limit=2${cursor}`);
    pages.push(...page.data.map(({ call_id }: any) => call_id));
    if (page.next_cursor === null) break;
    cursor = `&cursor=${page.next_cursor}`;
  }
  assert.deepEqual(
    pages,
    all.map(({ call_id }) => call_id),
  );
  for (const [query, param] of [
    ['code=nonsense', 'code'],
    ['limit=101', 'limit'],
    ['status=402', 'status'],
    ['from=yesterday', 'from'],
    ['cursor=x', 'cursor'],
    ['model_id=', 'model_id'],
  ]) {
    const { status, body: refused } = await account.get(`/v1/refusals?${query}`);
    assert.deepEqual([status, refused.error.param], [400, param], query);
  }
});

test('a flood of refused calls grows the list by a bound, is counted whole, and hides no other code', async () => {
  const account = await service.account({ usd: 0 });
  const count = listedMax * 3;
  await Promise.all(Array.from({ length: count }, () => submit(account)));
  await account.get('/v1/requests/none');
  const listed = await until('both codes are listed', async () => {
    const { body: page } = await account.get('/v1/refusals?limit=100');
    return page.data.some(({ code }: any) => code === 'not_found') && (page.data as any[]);
  });
  const money = listed.filter(({ code }: any) => code === 'insufficient_balance');
  assert.ok(money.length <= listedMax, String(money.length));
  const refused = await refusedOf(account);
  await until('all are counted', async () =>
    (await refused()).some(({ code, calls }) => code === 'insufficient_balance' && calls === count),
  );
  // Processes that write at once give no place twice, and none beyond the bound.
  const call = (n: number) => ({
    id: newId(),
    account_id: account.account_id,
    key_id: account.key_id,
    call_id: `req_${n}`,
    created_at: new Date(),
    model_id: null,
    path: '/v1/usage',
    status: 400,
    code: 'bad_request' as const,
    reason: null,
  });
  await Promise.all(
    [1, 2, 3, 4].map((n) =>
      service.db.tx((tx) =>
        keep(
          tx,
          Array.from({ length: 7 }, (_, i) => call(10 * n + i)),
        ),
      ),
    ),
  );
  await listOf(account, listedMax, '&code=bad_request');
});

test('accounts see their own refused calls, the operator those of all', async () => {
  const [account, other] = [await service.account({ usd: 0 }), await service.account({ usd: 0 })];
  for (const each of [account, other]) await submit(each);
  const [own] = await listOf(account, 1);
  await listOf(other, 1);
  const who = await person(service, { [account.account_id]: 'read_only' });
  const seen = await who.of(account.account_id).call('GET', '/v1/refusals');
  assert.deepEqual(seen.body.data, [own]);
  assert.equal((await who.of(other.account_id).call('GET', '/v1/refusals')).status, 404);
  const operator = await operatorOf(service);
  const read = async (query: string) =>
    (await operator.call('GET', `/api/operator/refusals?limit=100${query}`)).body.data as any[];
  const ids = new Set((await read('')).map(({ account_id }) => account_id));
  assert.ok(ids.has(account.account_id) && ids.has(other.account_id));
  const { account_id } = account;
  const [told] = await read(`&account_id=${account_id}`);
  assert.deepEqual(told, { ...own, account_id, account_email: told.account_email });
  assert.match(told.account_email, /@/);
});

test('refused calls and counts are deleted after seven days', async () => {
  const account = await service.account({ usd: 0 });
  await submit(account);
  await listOf(account, 1);
  const rows = () =>
    service.db.run(sql`
      select code from refused_calls where account_id = ${account.account_id}
      union all select code from refusals where account_id = ${account.account_id}`);
  let moved = 0;
  const move = (hours: number) => {
    moved += hours;
    return service.db.run(sql`
      with counts as (
        update refusals set began_at = began_at - ${hours}::int * interval '1 hour'
        where account_id = ${account.account_id}
      )
      update refused_calls set id = ${leastIdAt(Date.now() - moved * 3_600_000)},
        created_at = created_at - ${hours}::int * interval '1 hour',
        began_at = began_at - ${hours}::int * interval '1 hour'
      where account_id = ${account.account_id}`);
  };
  await move(7 * 24 - 2);
  await service.app.worker!.sweep();
  assert.equal((await rows()).length, 2);
  await move(4);
  assert.deepEqual((await account.get('/v1/refusals')).body.data, []);
  await service.app.worker!.sweep();
  assert.equal((await rows()).length, 0);
});

test('refusals on the pages are not counted', async () => {
  const account = await service.account({ usd: 0 });
  const who = await person(service, { [account.account_id]: 'owner' });
  const tried = await who.of(account.account_id).call('POST', '/v1/queue/fake/image', body);
  assert.equal(tried.status, 402);
  assert.equal((await submit(account)).status, 402);
  const refused = await refusedOf(account);
  const rows = await until('the call of the key is counted', async () => {
    const all = await refused();
    return all.length > 0 && all;
  });
  assert.deepEqual(
    rows.map(({ key_id, calls }) => [key_id, calls]),
    [[account.key_id, 1]],
  );
});
