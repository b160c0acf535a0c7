/** The log line of each call, which connects the ids of calls and requests. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../kit/until.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';

let service: Service;
let account: TestAccount;
before(async () => {
  service = await startService({ env: { FAREBOX_LOG_LEVEL: 'debug' } });
  account = await service.account();
});
after(() => service.audit().finally(() => service.stop()));

/** Makes a call and returns its line and its id. */
async function lineOf(path: string, body: object, headers = {}): Promise<Record<string, any>> {
  const reply = await service.call('POST', path, { key: account.key, body, headers });
  const call_id = reply.headers.get('x-request-id');
  const lines = () => service.log.map((text) => JSON.parse(text));
  const found = () => lines().find((line) => line.msg === 'call' && line.call_id === call_id);
  return until('the call is logged', found, 10_000);
}

const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hello' }] };
const newest = async () =>
  (await service.call('GET', '/v1/requests?limit=1', { key: account.key })).body.data[0].request_id;

const doors: [path: string, body: object][] = [
  ['/v1/queue/fake/image', { prompt: 'a cat' }],
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

test('a repeat names the request of the first call, and a refused call none', async () => {
  const headers = { 'idempotency-key': 'twice' };
  const first = await lineOf('/v1/queue/fake/image', { prompt: 'a dog' }, headers);
  const again = await lineOf('/v1/queue/fake/image', { prompt: 'a dog' }, headers);
  assert.equal(again.request_id, first.request_id);
  assert.notEqual(again.call_id, first.call_id);
  const refused = await lineOf('/v1/queue/fake/image', { prompt: 5 });
  assert.deepEqual([refused.status, refused.request_id], [400, undefined]);
});
