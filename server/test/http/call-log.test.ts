/** The log line of each call, which connects the numbers of calls with requests. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { newId } from '../../src/lib/id.ts';
import { delta, openTap, type Tap } from '../kit/tap.ts';
import { until } from '../kit/until.ts';
import { operatorOf, person, withWebService } from '../kit/web.ts';
import { operatorKey } from './operator/world.ts';

const { service, account } = withWebService();

type Line = Record<string, any>;
const lines = (): Line[] => service.log.map((text) => JSON.parse(text));
const lineAbout = (call_id: string | null): Promise<Line> =>
  until(
    'the call is logged',
    async () => lines().find((line) => line.msg === 'call' && line.call_id === call_id),
    10_000,
  );

/** Makes a call and returns its line. */
async function lineOf(path: string, body: object, headers = {}): Promise<Line> {
  const reply = await account.post(path, body, { headers });
  return lineAbout(reply.headers.get('x-request-id'));
}

/** The fields of a line but those that every line has. */
function said({ level: _level, time: _time, pid: _pid, msg: _msg, ms, ...facts }: Line): Line {
  assert.equal(typeof ms, 'number');
  return facts;
}

/** Everything that the service answers to these bytes. */
async function asked(bytes: string): Promise<string> {
  const socket = connect(Number(new URL(service.base).port), '127.0.0.1');
  socket.write(bytes);
  let text = '';
  for await (const piece of socket) text += piece;
  return text;
}

const prompt = { prompt: 'a cat' };
const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hello' }] };
const newest = async () => (await account.get('/v1/requests?limit=1')).body.data[0].request_id;

const doors: [path: string, body: object][] = [
  ['/v1/queue/fake/image', prompt],
  ['/v1/chat/completions', chat],
  ['/v1/chat/completions', { ...chat, stream: true }],
  ['/v1/responses', { model: 'fake/chat', input: 'hello' }],
];
for (const [path, body] of doors) {
  test(`a call of ${path} with ${Object.keys(body).join(', ')} names its request`, async () => {
    const { call_id, request_id } = await lineOf(path, body);
    assert.match(call_id, /^req_/);
    assert.equal(request_id, await newest());
  });
}

test('a call of /v1/images/generations names its request', async () => {
  const earlier = await newest();
  const line = lineOf('/v1/images/generations', { model: 'fake/image', prompt: 'a cat' });
  await until('the job is queued', async () => (await newest()) !== earlier, 10_000);
  await service.work();
  assert.equal((await line).request_id, await newest());
});

test('a line has the method of the caller, also one that no address knows', async () => {
  for (const method of ['PROPFIND', 'LINK', 'TRACE']) {
    const text = await asked(
      `${method} /v1/models HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
    );
    assert.match(text, /^HTTP\/1\.1 405 /);
    const [, call_id] = /x-request-id: (\S+)/i.exec(text)!;
    const line = await lineAbout(call_id!);
    assert.deepEqual([line.method, line.route, line.status], [method, '/v1/models', 405]);
  }
});

test('a line has the numbers, the account, key, request and model, and nothing else', async () => {
  const { account_id, key_id } = account;
  const headers = { 'x-request-id': 'mine' };
  const path = '/v1/queue/fake/image?webhook_url=https://example.com/secret-hook';
  const line = await lineOf(path, { prompt: 'a private cat' }, headers);
  const request_id = await newest();
  const who = { account_id, key_id, request_id };
  assert.deepEqual(said(line), {
    call_id: `req_${request_id.replaceAll('-', '')}`,
    caller_id: 'mine',
    method: 'POST',
    route: '/v1/queue/*',
    status: 202,
    ...who,
    model_id: 'fake/image',
  });
  const status = await service.call('GET', `/v1/requests/${request_id}/status`, account);
  const call_id = status.headers.get('x-request-id');
  const route = '/v1/requests/:request_id/status';
  assert.deepEqual(said(await lineAbout(call_id)), {
    call_id,
    method: 'GET',
    route,
    status: 200,
    ...who,
  });
  assert.doesNotMatch(service.log.join(''), /private|secret-hook/);
});

test('a repeat names the request of the first call, and a refused call none', async () => {
  const headers = { 'idempotency-key': 'twice' };
  const first = await lineOf('/v1/queue/fake/image', { prompt: 'a dog' }, headers);
  const again = await lineOf('/v1/queue/fake/image', { prompt: 'a dog' }, headers);
  assert.equal(again.request_id, first.request_id);
  assert.notEqual(again.call_id, first.call_id);
  const refused = await lineOf('/v1/queue/fake/image', { prompt: 5 });
  assert.deepEqual([refused.status, refused.request_id], [400, undefined]);
  const poor = await service.account({ usd: 0 });
  const reply = await poor.post('/v1/queue/fake/image', prompt);
  assert.equal(reply.status, 402);
  const { status, request_id, account_id } = await lineAbout(reply.body.error.request_id);
  assert.deepEqual([status, request_id, account_id], [402, undefined, poor.account_id]);
});

describe('a refused call has a line under the number in its error', () => {
  const none = newId();
  const refused: [method: string, path: string, key: string | null, route: string][] = [
    ['GET', '/v1/balance', `fbx_${'0'.repeat(38)}`, '/v1/balance'],
    ['GET', '/v1/balance', null, '/v1/balance'],
    ['GET', `/v1/requests/${none}`, 'own', '/v1/requests/:request_id'],
    ['DELETE', '/v1/balance', 'own', '/v1/balance'],
    ['GET', '/v1/secret-path?key=hidden-key', 'own', 'none'],
    ['GET', '/v1/%E0%A4%A', null, 'none'],
    ['POST', '/v1/operator/accounts', 'own', '/v1/operator/accounts'],
  ];
  for (const [method, path, given, route] of refused)
    test(`${method} ${path} with ${given ?? 'no'} key`, async () => {
      const key = given === 'own' ? account.key : given;
      const reply = await service.call(method, path, { key });
      assert.ok(reply.status >= 400);
      const call_id = reply.body.error.request_id;
      assert.equal(call_id, reply.headers.get('x-request-id'));
      const line = await lineAbout(call_id);
      assert.deepEqual([line.method, line.route, line.status], [method, route, reply.status]);
      assert.doesNotMatch(JSON.stringify(line), /hidden-key|secret-path|E0/);
    });

  test('what is not HTTP', async () => {
    const { hostname, port } = new URL(service.base);
    const answer = await new Promise<string>((resolve) => {
      let text = '';
      const socket = connect(Number(port), hostname, () => socket.write('no HTTP\r\n\r\n'));
      socket.on('data', (bytes) => (text += bytes)).on('end', () => resolve(text));
    });
    const [, call_id] = /x-request-id: (\S+)/.exec(answer)!;
    const { route, status } = await lineAbout(call_id!);
    assert.deepEqual([route, status], ['none', 400]);
  });
});

test('calls of the pages and of operator keys name the account and the operator key', async () => {
  const owner = await person(service, { [account.account_id]: 'owner' });
  const page = await owner.of(account.account_id).call('GET', '/keys');
  assert.equal(page.status, 200, page.text);
  const line = await lineAbout(page.headers.get('x-request-id'));
  assert.equal(line.account_id, account.account_id);
  const operator = await operatorOf(service);
  const console_ = await operator.call('GET', `/api/operator/accounts/${account.account_id}`);
  assert.equal(console_.status, 200, console_.text);
  await lineAbout(console_.headers.get('x-request-id'));
  const { key, operator_key_id } = await operatorKey(service);
  const listed = await service.call('GET', '/v1/operator/requests', { key });
  const byKey = await lineAbout(listed.headers.get('x-request-id'));
  assert.deepEqual([byKey.operator_key_id, byKey.key_id], [operator_key_id, undefined]);
});

test('a stream has one line, at its end; a caller who leaves is told apart', async () => {
  let tap: Tap | undefined;
  service.fake.behave.chat = (call) => (tap = openTap(call)).outcome;
  const body = { ...chat, stream: true };
  const leave = new AbortController();
  const begin = (signal?: AbortSignal) =>
    fetch(`${service.base}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Key ${account.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    });
  const about = (id: string | null) => lines().filter(({ call_id }) => call_id === id);

  const sent = begin();
  await until('it is asked', async () => tap, 10_000);
  tap!.push(delta('hi'));
  const reply = await sent;
  const id = reply.headers.get('x-request-id');
  assert.deepEqual(about(id), [], 'nothing yet');
  tap!.push(delta(null, 'stop'));
  tap!.end();
  await reply.text();
  const { status, cut } = await lineAbout(id);
  assert.deepEqual([status, cut, about(id).length], [200, undefined, 1]);

  tap = undefined;
  const left = begin(leave.signal);
  await until('it is asked', async () => tap, 10_000);
  tap!.push(delta('hi'));
  const begun = await left;
  leave.abort();
  await begun.text().catch(() => {});
  assert.equal((await lineAbout(begun.headers.get('x-request-id'))).cut, true);
  tap!.end();
  service.fake.behave = {};
});

test('health checks, metrics, pages and preflights leave no line at the usual level', async () => {
  const quiet = ['/livez', '/readyz', '/metrics', '/', '/docs/api', '/sign-in'];
  const replies = await Promise.all(
    quiet.map((path) => fetch(`${service.base}${path}`, { redirect: 'manual' })),
  );
  const asked = await fetch(`${service.base}/v1/balance`, { method: 'OPTIONS' });
  const last = await account.get('/v1/balance');
  await lineAbout(last.headers.get('x-request-id'));
  const numbers = new Set([...replies, asked].map(({ headers }) => headers.get('x-request-id')));
  assert.equal(numbers.size, quiet.length + 1);
  assert.deepEqual(
    lines().filter(({ call_id }) => numbers.has(call_id)),
    [],
  );
});
