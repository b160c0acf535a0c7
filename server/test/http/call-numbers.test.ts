/** The numbers of a call lead to its request everywhere: ours, a repeat's and the caller's own. */
import assert from 'node:assert/strict';
import { request as httpRequest } from 'node:http';
import { describe, test } from 'node:test';
import { newId } from '../../src/lib/id.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { serveHttp, type LocalServer } from '../lib/local-server.ts';
import type { Reply, TestAccount } from '../kit/service.ts';
import { completion } from '../kit/fake.ts';
import { delta, openTap, usageChunk } from '../kit/tap.ts';
import { until } from '../kit/until.ts';
import { before, person, withWebService } from '../kit/web.ts';
import { operatorKey, type MadeKey } from './operator/world.ts';

let operator: MadeKey;
let receiver: LocalServer;
let posted = '';
const { service } = withWebService(async (use) => {
  receiver = use(
    await serveHttp((req, res) => {
      req.on('data', (chunk) => (posted += chunk));
      req.on('end', () => res.end());
    }),
  );
  return { env: { FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${receiver.port}` } };
});
before(async () => {
  operator = await operatorKey(service);
  service.fake.behave.chat = (call) => {
    if (!call.stream) return { outcome: 'reply', reply: completion('hi', null) };
    const tap = openTap(call);
    tap.push(delta('hi', 'stop'));
    tap.push(usageChunk(1, 1));
    tap.end();
    return tap.outcome;
  };
});

const image = '/v1/queue/fake/image';
const prompt = { prompt: 'a cat' };
const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hello' }] };
const picture = { model: 'fake/image', ...prompt };
const trace = '4bf92f3577b34da6a3ce929d0e0e4736';

const get = (path: string, key: string) => service.call('GET', path, { key });
const listed = async (number: string, key: string): Promise<any[]> =>
  (await get(`/v1/requests?call_id=${encodeURIComponent(number)}`, key)).body.data;
const idsOf = (rows: any[]) => rows.map(({ request_id }) => request_id);
const submit = async ({ key }: TestAccount, headers = {}) => {
  const reply = await service.call('POST', image, { key, body: prompt, headers });
  assert.ok(reply.status < 300, reply.text);
  return { reply, id: reply.body.request_id, number: reply.headers.get('x-request-id')! };
};

const doors: [what: string, path: string, body: object, headers?: Record<string, string>][] = [
  ['the queue', image, prompt],
  ['the queue with Prefer', image, prompt, { prefer: 'wait=10' }],
  ['the door of fal', '/fal/queue.fal.run/fake/image', prompt],
  ["fal's run", '/fal/fal.run/fake/image', prompt],
  ['chat completions', '/v1/chat/completions', chat],
  ['a streamed chat', '/v1/chat/completions', { ...chat, stream: true }],
  ['responses', '/v1/responses', { model: 'fake/chat', input: 'hello' }],
  ['messages', '/v1/messages', { ...chat, max_tokens: 10 }],
  ['a streamed message', '/v1/messages', { ...chat, max_tokens: 10, stream: true }],
  ['images', '/v1/images/generations', picture],
];
for (const [what, path, body, more] of doors)
  test(`of ${what} are on the card, the list and at the operator, and find the request`, async () => {
    const own = await service.account();
    const caller_id = `mine-${newId()}`;
    const headers = { ...more, 'x-request-id': caller_id };
    const sent = own.post(path, body, { headers });
    const [line] = await until('it is submitted', async () => {
      // A chat that is due would be released.
      if (!('messages' in body || 'input' in body)) await service.wakeAll();
      await service.work();
      const { data } = (await get('/v1/requests', own.key)).body;
      return data.length > 0 && data[0].status !== 'IN_QUEUE' && data;
    });
    const reply = await sent;
    assert.ok(reply.status < 300, reply.text);
    const call_id = reply.headers.get('x-request-id')!;
    assert.match(call_id, /^req_[0-9a-f]{32}$/);
    if (path === '/v1/messages') assert.equal(reply.headers.get('request-id'), call_id);
    const { request_id } = line;
    const card = (await get(`/v1/requests/${request_id}`, own.key)).body;
    const [ofOperator] = (await get(`/v1/operator/requests?call_id=${call_id}`, operator.key)).body
      .data;
    for (const shown of [line, card, ofOperator])
      assert.deepEqual(
        [shown.request_id, shown.call_id, shown.caller_id],
        [request_id, call_id, caller_id],
      );
    const other = await service.account();
    for (const number of [call_id, caller_id]) {
      assert.deepEqual(idsOf(await listed(number, own.key)), [request_id]);
      assert.deepEqual(await listed(number, other.key), [], 'not for another account');
      const found = await get(`/v1/operator/requests?call_id=${number}`, operator.key);
      assert.deepEqual(idsOf(found.body.data), [request_id]);
    }
  });

test('of a call of the studio find its request', async () => {
  const own = await service.account();
  const owner = await person(service, { [own.account_id]: 'owner' });
  const answer = await owner.of(own.account_id).call('POST', `${image}`, prompt);
  assert.equal(answer.status, 202, answer.text);
  const number = answer.headers.get('x-request-id')!;
  assert.deepEqual(idsOf(await listed(number, own.key)), [answer.body.request_id]);
});

test('are in the webhook', async () => {
  const own = await service.account();
  const body = { ...prompt, webhook_url: `${receiver.url}/` };
  const headers = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
  const reply = await own.post(image, body, { headers });
  await service.work();
  const { call_id, caller_id } = JSON.parse(posted);
  assert.deepEqual([call_id, caller_id], [reply.headers.get('x-request-id'), trace]);
});

test("of a repeat are its own, and lead to the first call's request", async () => {
  const own = await service.account();
  const again = { 'idempotency-key': 'k' };
  const first = await submit(own, { ...again, 'x-request-id': 'first' });
  const repeats = [
    await submit(own, again),
    await submit(own, { ...again, 'x-request-id': 'second' }),
  ];
  assert.equal(new Set([first.number, ...repeats.map(({ number }) => number)]).size, 3);
  for (const { id, number } of repeats) {
    assert.equal(id, first.id);
    assert.deepEqual(idsOf(await listed(number, own.key)), [first.id]);
  }
  const [{ call_id, caller_id }] = await listed(first.number, own.key);
  assert.deepEqual([call_id, caller_id], [first.number, 'first']);
  assert.deepEqual(await listed('second', own.key), []);

  const spoken = () => own.post('/v1/chat/completions', chat, { headers: again2 });
  const again2 = { 'idempotency-key': 'chat' };
  const [one = '', two = ''] = [await spoken(), await spoken()].map(({ headers }) =>
    headers.get('x-request-id')!,
  );
  assert.notEqual(one, two);
  assert.deepEqual(idsOf(await listed(two, own.key)), idsOf(await listed(one, own.key)));
});

test('that many requests share find all of them, newest first, page by page', async () => {
  const [own, other] = [await service.account(), await service.account()];
  const shared = { 'x-request-id': 'every-call' };
  const made: string[] = [];
  for (let i = 0; i < 5; i++) made.unshift((await submit(own, shared)).id);
  const foreign = (await submit(other, shared)).id;
  assert.deepEqual(idsOf(await listed('every-call', own.key)), made);
  for (const [path, key, all] of [
    ['/v1/requests?call_id=every-call&limit=2', own.key, made],
    ['/v1/operator/requests?call_id=every-call&limit=2', operator.key, [foreign, ...made]],
  ] as const) {
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const { body } = await get(`${path}${cursor && `&cursor=${cursor}`}`, key);
      seen.push(...idsOf(body.data));
      if (body.next_cursor === null) break;
      cursor = body.next_cursor;
    }
    assert.deepEqual(seen, all);
  }
  await service.work();
  const failed = await get('/v1/requests?call_id=every-call&status=FAILED', own.key);
  assert.deepEqual(failed.body.data, []);
});

describe('that cannot be kept are null, and the call succeeds', () => {
  const parent = '00f067aa0ba902b7';
  const key = `fbx_${'a1B2'.repeat(9)}c3`;
  const odd: [what: string, headers: [string, string][], kept: string | null][] = [
    ['129 characters', [['x-request-id', 'x'.repeat(129)]], null],
    ['a tab inside', [['x-request-id', 'a\tb']], null],
    ['UTF-8', [['x-request-id', Buffer.from('запрос').toString('latin1')]], null],
    ['a space inside', [['x-request-id', 'a b']], null],
    ['an empty one', [['x-request-id', '']], null],
    ['a key of ours', [['x-request-id', key]], null],
    [
      'two, the first valid',
      [
        ['x-request-id', 'one'],
        ['x-request-id', 'two'],
      ],
      'one',
    ],
    [
      'two, the second valid',
      [
        ['X-Request-Id', 'a b'],
        ['X-REQUEST-ID', 'two'],
      ],
      'two',
    ],
    [
      'a number of ours of another request',
      [['x-request-id', `req_${'0'.repeat(32)}`]],
      `req_${'0'.repeat(32)}`,
    ],
    ['JSON', [['x-request-id', '"},{"level":60']], '"},{"level":60'],
    ['a trace of zeros', [['traceparent', `00-${'0'.repeat(32)}-${parent}-01`]], null],
    ['a trace in upper case', [['traceparent', `00-${trace.toUpperCase()}-${parent}-01`]], null],
    ['no trace', [['traceparent', 'garbage']], null],
    [
      'a number beside a trace',
      [
        ['traceparent', `00-${trace}-${parent}-01`],
        ['x-request-id', 'n'],
      ],
      'n',
    ],
  ];
  for (const [what, headers, kept] of odd)
    test(`${what}: ${kept ?? 'null'}`, async () => {
      const own = await service.account();
      const { status, number } = await raw(own.key, headers);
      assert.equal(status, 202);
      assert.match(number, /^req_[0-9a-f]{32}$/, 'the number of the caller never replaces ours');
      const [line] = await listed(number, own.key);
      assert.deepEqual([line.call_id, line.caller_id], [number, kept]);
      const logged = await lineOf(number);
      assert.equal(logged.caller_id ?? null, kept);
    });
});

/** A submit with exactly these headers. */
function raw(
  key: string,
  headers: [string, string][],
): Promise<{ status: number; number: string }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(service.base);
    const flat = [
      ...headers,
      ['authorization', `Key ${key}`],
      ['content-type', 'application/json'],
      ['host', 'x'],
      ['content-length', '18'],
    ].flat();
    const sent = httpRequest({
      hostname,
      port,
      path: image,
      method: 'POST',
      headers: flat,
      agent: false,
    });
    sent.on('error', reject);
    sent.on('response', (res) => {
      res.resume();
      resolve({ status: res.statusCode!, number: String(res.headers['x-request-id']) });
    });
    sent.end('{"prompt":"a cat"}');
  });
}

const lineOf = (number: string): Promise<Record<string, any>> =>
  until('the call is logged', async () =>
    service.log
      .map((text) => JSON.parse(text))
      .find(({ msg, call_id }) => msg === 'call' && call_id === number),
  );

test('of nothing find nothing, and too long ones are refused', async () => {
  const own = await service.account();
  const { id } = await submit(own);
  for (const number of [`req_${'0'.repeat(32)}`, 'req_', 'unknown', 'a b', '', 'ü'])
    assert.deepEqual(await listed(number, own.key), [], number);
  const long: Reply = await get(`/v1/requests?call_id=${'x'.repeat(129)}`, own.key);
  assert.deepEqual([long.status, long.body.error.param], [400, 'call_id']);
  assert.deepEqual(idsOf(await listed(` REQ_${id.replaceAll('-', '')} `, own.key)), [id]);
});

test('of requests that are older than the numbers are null, and lead to them all the same', async () => {
  const own = await service.account();
  const { id, number } = await submit(own);
  await service.db.run(sql`update request_inputs set numbered = null where request_id = ${id}`);
  const [line] = await listed(number, own.key);
  assert.deepEqual([line.request_id, line.call_id], [id, null]);
});

test('stay when the request is cleared', async () => {
  const own = await service.account();
  const { id, number } = await submit(own, { 'x-request-id': 'kept' });
  await service.work();
  const age = `update requests set created_at = created_at - d, started_at = started_at - d,
    completed_at = completed_at - d, expires_at = expires_at - d, wake_at = wake_at - d
    from (select interval '31 days' as d) d where id = $1`;
  await service.db.run(rawSql(age, [id]));
  await service.work();
  await service.app.worker!.sweep();
  const { body } = await get(`/v1/requests/${id}`, own.key);
  assert.deepEqual([body.input, body.call_id, body.caller_id], [{}, number, 'kept']);
  assert.deepEqual(idsOf(await listed('kept', own.key)), [id]);
});
