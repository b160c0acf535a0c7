import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { sql } from '../../src/lib/sql/sql.ts';
import { DiskStorage } from '../../src/storage/disk.ts';
import { assertRefused } from '../kit/refusal.ts';
import { fakeCatalog, type TestAccount } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';

/** The shared limits of all keys of an account, and their counts. */

const closedRow = `  - id: fake/closed
    kind: image
    task: text-to-image
    name: Fake image that takes its own fields only
    description: One cent an image.
    price: { unit: image, usd: "0.01" }
    upstream_model: image
    input_schema:
      type: object
      additionalProperties: false
      properties: { prompt: { type: string } }
      required: [prompt]
    example: { prompt: a cat }
`;
const { service } = withService({
  catalog: `${fakeCatalog}${closedRow}`,
  env: {
    FAREBOX_RPM: '10',
    FAREBOX_ACCOUNT_RPM: '15',
    FAREBOX_OPEN_JOBS: '4',
    FAREBOX_ACCOUNT_OPEN_JOBS: '6',
    FAREBOX_OPEN_CHATS: '2',
    FAREBOX_ACCOUNT_OPEN_CHATS: '3',
    FAREBOX_INPUT_BYTES_A_DAY: String(1024 * 1024),
    FAREBOX_ACCOUNT_CANCELS: '3',
  },
});

const list = (account: TestAccount, base = service.base) =>
  account.get('/v1/requests?limit=1', { base });
const submit = (account: TestAccount, body: object = { prompt: 'x' }, model = 'fake/image') =>
  account.post(`/v1/queue/${model}`, body);

describe('calls a minute', () => {
  test('of all keys of an account have a ceiling, exact over two servers, and the headers say so', async () => {
    const one = await service.account();
    const two = await one.another();
    const other = await service.account();
    const { base } = await service.another();
    const first = await Promise.all(Array.from({ length: 10 }, () => list(one)));
    assert.ok(first.every(({ status }) => status === 200));
    const calls = Array.from({ length: 10 }, (_, i) => list(two, i % 2 ? base : service.base));
    const replies = await Promise.all(calls);
    assert.equal(replies.filter(({ status }) => status === 200).length, 5);
    const left = replies.flatMap(({ status, headers }) =>
      status === 200 ? [Number(headers.get('ratelimit-remaining'))] : [],
    );
    assert.deepEqual(
      left.sort((a, b) => a - b),
      [0, 1, 2, 3, 4],
    );
    const refused = await list(await one.another());
    const { message, details } = assertRefused(refused, 'rate_limited');
    assert.match(message, /^All keys of this account together may make 15 calls a minute/);
    assert.equal(details.limit, 15);
    assert.equal(refused.headers.get('ratelimit-policy'), '"account-calls";q=15;w=60');
    assert.equal(refused.headers.get('retry-after'), refused.headers.get('ratelimit-reset'));
    assert.equal((await list(other)).headers.get('ratelimit-policy'), '"calls";q=10;w=60');
    await service.db.run(sql`update account_windows set started_at = now() - interval '60 s'
      where account_id = ${one.account_id}`);
    assert.equal((await list(await one.another())).status, 200);
  });

  test('a key with a higher limit than the ceiling counts alone', async () => {
    const one = await service.account();
    const large = await one.another({ rpm: 40 });
    for (let i = 0; i < 30; i++) assert.equal((await list(large)).status, 200);
    assert.equal((await list(one)).status, 200);
  });

  test('it takes nothing from other keys in the same moment either', async () => {
    const one = await service.account();
    const large = await one.another({ rpm: 40 });
    const calls = [
      ...Array.from({ length: 12 }, () => large),
      ...Array.from({ length: 5 }, () => one),
    ];
    const replies = await Promise.all(calls.map((key) => list(key)));
    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200]);
  });
});

test('open jobs of all keys of an account have a ceiling, however many come at once', async () => {
  const one = await service.account();
  const two = await one.another();
  const earlier = await traces(service);
  const replies = await Promise.all(Array.from({ length: 8 }, (_, i) => submit(i % 2 ? one : two)));
  assert.equal(replies.filter(({ status }) => status === 202).length, 6);
  const refused = replies.filter(({ status }) => status !== 202);
  for (const reply of refused) {
    const { message, details } = assertRefused(reply, 'rate_limited');
    assert.match(message, /^This account has 6 open jobs/);
    assert.equal(details.account_open_jobs_limit, 6);
  }
  const later = await traces(service);
  assert.equal(Number(later.requests) - Number(earlier.requests), 6);
  const { request_id } = replies.find(({ status }) => status === 202)!.body;
  const path = `/v1/requests/${request_id}/cancel`;
  assert.equal((await one.post(path)).status, 200);
  assert.equal((await submit(await one.another())).status, 202);
});

test('open chats of all keys of an account have a ceiling', async () => {
  const one = await service.account();
  const two = await one.another();
  const gate = Promise.withResolvers<void>();
  service.fake.behave.chat = async () => {
    await gate.promise;
    return { outcome: 'rejected', message: 'that is enough' };
  };
  const body = { model: 'fake/chat', messages: [{ role: 'user', content: 'hello' }] };
  const asked = service.fake.chats.length;
  const call = ({ key }: TestAccount) =>
    service.call('POST', '/v1/chat/completions', { key, body, base: service.base });
  const open = [call(one), call(one), call(two)];
  await until('they are at the model', () => service.fake.chats.length === asked + 3);
  try {
    const { message } = assertRefused(await call(two), 'rate_limited');
    assert.match(message, /^All keys of this account together may have 3 chat calls open/);
    assert.equal(service.fake.chats.length, asked + 3);
  } finally {
    gate.resolve();
  }
  for (const reply of await Promise.all(open)) assertRefused(reply, 'invalid_input');
  service.fake.behave = {};
});

describe('the stored bytes of inputs', () => {
  test('of a closed row: only what it knows, and a repeat still finds its first', async () => {
    const account = await service.account();
    const body = { prompt: 'x', junk: 'y'.repeat(1000) };
    const headers = { 'idempotency-key': 'closed' };
    const call = () => account.post('/v1/queue/fake/closed', body, { headers });
    const { request_id } = (await call()).body;
    const card = await account.get(`/v1/requests/${request_id}`);
    assert.deepEqual(card.body.input, { prompt: 'x' });
    assert.equal((await call()).status, 200);
  });

  test('of one day has a ceiling, which the next day lifts', async () => {
    const account = await service.account();
    const large = { prompt: 'x', junk: 'y'.repeat(400_000) };
    for (let i = 0; i < 2; i++) assert.equal((await submit(account, large)).status, 202);
    const earlier = await traces(service);
    const { details } = assertRefused(await submit(account, large), 'rate_limited');
    assert.equal(details.account_bytes_a_day, 1024 * 1024);
    assert.deepEqual(await traces(service), earlier);
    assert.equal((await submit(account)).status, 202, 'a small one fits');
    await service.db.run(sql`update balances set kept_on = kept_on - 1
      where account_id = ${account.account_id}`);
    assert.equal((await submit(account, large)).status, 202);
  });
});

test('cancels are limited an hour, and a refused one leaves its job', async () => {
  const account = await service.account();
  const cancel = async () => {
    const { request_id } = (await submit(account)).body;
    const path = `/v1/requests/${request_id}`;
    const reply = await account.post(`${path}/cancel`);
    return { reply, path };
  };
  for (let i = 0; i < 3; i++) assert.equal((await cancel()).reply.status, 200);
  const key = (await account.another()).key;
  const { reply, path } = await cancel();
  assertRefused(reply, 'rate_limited');
  const status = await service.call('GET', `${path}/status`, { key });
  assert.equal(status.body.status, 'IN_QUEUE');
});

test('an old backlog refuses submits of its own account, and of no other', async () => {
  const behind = await service.account({ rpm: 1_000_000, open_jobs: 1_000 });
  const other = await service.account();
  await submit(behind);
  await service.db.run(sql`update requests set created_at = now() - interval '1 hour'
       where account_id = ${behind.account_id} and status = 'IN_QUEUE'`);
  await until('it shows', async () => (await submit(behind)).status === 503);
  assertRefused(await submit(behind), 'capacity_unavailable');
  assert.equal((await submit(other)).status, 202);
});

describe('uploads', () => {
  const upload = (account: TestAccount, raw = Buffer.from('some text')) =>
    account.upload(raw, 'text/plain');

  test('are for accounts that ever had money', async () => {
    const poor = await service.account({ usd: 0 });
    assertRefused(await upload(poor), 'insufficient_balance');
    const [row] = await service.db.run<{ count: bigint }>(sql`select count(*) from files
      where account_id = ${poor.account_id}`);
    assert.equal(row!.count, 0n);
    assert.equal((await upload(await service.account())).status, 201);
  });

  test('take at most as much of the disk as they leave free', async (t) => {
    const account = await service.account();
    const spare = 512 * 1024 * 1024;
    t.mock.method(DiskStorage.prototype, 'freeBytes', async () => spare + 300_000);
    assert.equal((await upload(account, Buffer.alloc(100_000, 'x'))).status, 201);
    const { details } = assertRefused(
      await upload(account, Buffer.alloc(150_000, 'x')),
      'payload_too_large',
    );
    assert.equal(details.max_bytes_in_all, 200_000);
    const other = await service.account();
    assert.equal((await upload(other, Buffer.alloc(120_000, 'x'))).status, 201);
  });
});

test('an input names at most eight hosts', async () => {
  const account = await service.account();
  const urls = Array.from({ length: 9 }, (_, i) => `https://h${i}.example.com/a.png`);
  const error = assertRefused(await submit(account, { prompt: 'x', urls }), 'invalid_input');
  assert.match(
    error.message,
    /\/urls\/8 is on another host, but the addresses of one input may be on at most 8 hosts;/,
  );
});
