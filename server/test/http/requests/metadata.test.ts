import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { Farebox } from '../../../../client/src/index.ts';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply, TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { serveHttp, type LocalServer } from '../../lib/local-server.ts';

/** Metadata is kept with a request of any API, shown and searched, and reaches no upstream. */

let receiver: LocalServer;
let posted = '';
const { service, account } = withService(async (use) => {
  receiver = use(
    await serveHttp((req, res) => {
      req.on('data', (chunk) => (posted += chunk));
      req.on('end', () => res.end());
    }),
  );
  return { env: { FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${receiver.port}` } };
});

const header = (metadata: unknown) => ({ 'x-metadata': JSON.stringify(metadata) });
const image = '/v1/queue/fake/image';
const prompt = { prompt: 'a cat' };
const messages = [{ role: 'user', content: 'hello' }];
const chat = { model: 'fake/chat', messages };
const response = { model: 'fake/chat', input: 'hello' };
const picture = { model: 'fake/image', ...prompt };
const message = { ...chat, max_tokens: 10, metadata: { user_id: 'u' } };

function post(path: string, body: unknown, headers = {}, key = account.key): Promise<Reply> {
  return service.call('POST', path, { key, body, headers });
}

async function listed(query = '', key = account.key): Promise<any[]> {
  const reply = await service.call('GET', `/v1/requests${query}`, { key });
  assert.equal(reply.status, 200, reply.text);
  return reply.body.data;
}

const pairs = { customer: '42', Name: 'Zoë "猫"' };
const doors: [what: string, path: string, body: object, headers: object][] = [
  ['the queue', image, prompt, header(pairs)],
  ['the door of fal', '/fal/queue.fal.run/fake/image', prompt, header(pairs)],
  ['chat completions, in the header', '/v1/chat/completions', chat, header(pairs)],
  ['chat completions, in the body', '/v1/chat/completions', { ...chat, metadata: pairs }, {}],
  ['responses', '/v1/responses', { ...response, metadata: pairs }, {}],
  ['messages', '/v1/messages', message, header(pairs)],
  ['images, in the header', '/v1/images/generations', picture, header(pairs)],
  ['images, in the body', '/v1/images/generations', { ...picture, metadata: pairs }, {}],
];
for (const [what, path, body, headers] of doors)
  test(`of ${what} is on the card and in the list, and nowhere at the upstream`, async () => {
    const own = await service.account();
    // Bytes of UTF-8, as curl sends them; this client takes header bytes only as Latin-1.
    const raw = Object.entries(headers).map(([name, value]) => [
      name,
      Buffer.from(value as string).toString('latin1'),
    ]);
    const sent = post(path, body, Object.fromEntries(raw), own.key);
    if (path.startsWith('/v1/images/')) {
      await until('it is submitted', async () => (await listed('', own.key)).length > 0);
      await service.work();
      await service.wakeAll();
      await service.work();
    }
    const reply = await sent;
    assert.ok(reply.status < 300, reply.text);
    assert.equal(reply.headers.get('x-ignored-fields'), null);
    await service.work();
    const [line] = await listed('', own.key);
    assert.deepEqual(line.metadata, pairs);
    const card = await own.get(`/v1/requests/${line.request_id}`);
    assert.deepEqual(card.body.metadata, pairs);
    assert.ok(!JSON.stringify([service.fake.chats, service.fake.starts]).includes('猫'));
  });

test('is an empty object if none was given', async () => {
  const own = await service.account();
  await post(image, prompt, {}, own.key);
  await post(image, prompt, header({}), own.key);
  assert.deepEqual(
    (await listed('', own.key)).map(({ metadata }) => metadata),
    [{}, {}],
  );
});

test('of a repeat is that of the first call', async () => {
  const own = await service.account();
  const call = (customer: string) =>
    post(image, prompt, { ...header({ customer }), 'idempotency-key': 'k' }, own.key);
  const first = await call('1');
  const again = await call('2');
  assert.deepEqual(again.bytes, first.bytes);
  assert.deepEqual(
    (await listed('', own.key)).map(({ metadata }) => metadata),
    [{ customer: '1' }],
  );
});

test('is in the webhook, and stays when the request is cleared', async () => {
  const own = await service.account();
  const body = { ...prompt, webhook_url: `${receiver.url}/` };
  const { request_id } = (await post(image, body, header({ customer: '7' }), own.key)).body;
  await service.work();
  assert.deepEqual(JSON.parse(posted).metadata, { customer: '7' });
  const age = `update requests set created_at = created_at - d, started_at = started_at - d,
    completed_at = completed_at - d, expires_at = expires_at - d, wake_at = wake_at - d
    from (select interval '31 days' as d) d where id = $1`;
  await service.db.run(rawSql(age, [request_id]));
  await service.work();
  await service.app.worker!.sweep();
  const card = await own.get(`/v1/requests/${request_id}`);
  assert.deepEqual([card.body.input, card.body.metadata], [{}, { customer: '7' }]);
  const [found, ...more] = await listed('?metadata.customer=7', own.key);
  assert.deepEqual([found.request_id, more], [request_id, []]);
});

test('of the client is sent at the submit, and found by it', async () => {
  const own = await service.account();
  const farebox = new Farebox({ apiKey: own.key, baseUrl: `${service.base}/v1` });
  const { requestId } = await farebox.submit('fake/image', prompt, { metadata: pairs });
  await farebox.submit('fake/image', prompt);
  assert.deepEqual((await farebox.requests.get(requestId)).metadata, pairs);
  const { data } = await farebox.requests.list({ metadata: pairs });
  assert.deepEqual(
    data.map(({ request_id }) => request_id),
    [requestId],
  );
  const none = await farebox.requests.list({ metadata: { customer: '4' } });
  assert.deepEqual(none.data, []);
});

describe('the list', () => {
  let own: TestAccount;
  before(async () => {
    own = await service.account();
    const other = await service.account();
    await post(image, prompt, header({ customer: '1' }), other.key);
    await post(image, prompt, header({ customer: '1', env: 'test' }), own.key);
    await post(image, prompt, header({ customer: '1', env: 'live' }), own.key);
    await post(image, prompt, header({ customer: '2', 'a.b&c': '' }), own.key);
    await post(image, prompt, {}, own.key);
  });
  const cases: [query: string, envs: (string | undefined)[]][] = [
    ['?metadata.customer=1', ['live', 'test']],
    ['?metadata.customer=1&metadata.env=test', ['test']],
    ['?metadata.customer=1&limit=1', ['live']],
    ['?metadata.customer=1&status=COMPLETED', []],
    ['?metadata.a.b%26c=', [undefined]],
    ['?metadata.customer=3', []],
    ['?metadata.Customer=1', []],
  ];
  for (const [query, envs] of cases)
    test(`has for ${query} the account's own requests with these pairs`, async () => {
      const found = await listed(query, own.key);
      assert.deepEqual(
        found.map(({ metadata }) => metadata.env),
        envs,
      );
    });
});

describe('a call is refused, by the name of what is wrong, and leaves nothing', () => {
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`n${i}`, '']));
  const wrong: [what: string, metadata: unknown][] = [
    ['17 pairs', many],
    ['a number', { a: 1 }],
    ['null as a value', { a: null }],
    ['a name of 65 characters', { ['n'.repeat(65)]: '' }],
    ['an empty name', { '': 'x' }],
    ['a text of 513 characters', { a: 'x'.repeat(513) }],
    ['NUL', { a: '\0' }],
    ['half a surrogate pair', { a: '\ud800' }],
    ['a list', []],
  ];
  const calls: [what: string, path: string, body: object, headers: object, param: string][] = [
    ...wrong.flatMap(([what, metadata]): typeof calls => [
      [`${what} in the header`, image, prompt, header(metadata), 'x-metadata'],
      [`${what} in a chat`, '/v1/chat/completions', { ...chat, metadata }, {}, 'metadata'],
      [`${what} in a response`, '/v1/responses', { ...response, metadata }, {}, 'metadata'],
      [`${what} in Images`, '/v1/images/generations', { ...picture, metadata }, {}, 'metadata'],
    ]),
    ['Images', '/v1/images/generations', picture, header([]), 'x-metadata'],
    [
      'both places of Images',
      '/v1/images/generations',
      { ...picture, metadata: pairs },
      header({ a: 'b' }),
      'x-metadata',
    ],
    ['no JSON', image, prompt, { 'x-metadata': 'customer=42' }, 'x-metadata'],
    ['Latin-1', image, prompt, { 'x-metadata': '{"a":"é"}' }, 'x-metadata'],
    [
      'both places',
      '/v1/chat/completions',
      { ...chat, metadata: pairs },
      header({ a: 'b' }),
      'x-metadata',
    ],
  ];
  for (const [what, path, body, headers, param] of calls)
    test(what, async () => {
      const earlier = await traces(service);
      const error = assertRefused(await post(path, body, headers), 'bad_request');
      // Text that cannot be stored is refused in any body, and `param` is its path.
      assert.ok([param, `${param}.a`].includes(String(error.param)), String(error.param));
      assert.deepEqual(await traces(service), earlier);
    });
  for (const query of ['?metadata.=1', '?metadata.a=1&metadata.a=2', '?metadata.a=%00'])
    test(`the list ${query}`, async () => {
      const reply = await account.get(`/v1/requests${query}`);
      assert.match(String(assertRefused(reply, 'bad_request').param), /^metadata\.a?$/);
    });
});
