/** Models that an operator stopped: the effects, the end of a stop, and where it is shown. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { createFake, type Fake } from '../../kit/fake.ts';
import type { Reply } from '../../kit/service.ts';
import { until } from '../../kit/until.ts';
import { before, operatorOf, withWebService, type Person } from '../../kit/web.ts';

const text = (id: string, routes: string) => `
  - { id: ${id}, kind: text, task: chat, name: ${id}, price: { unit: 1M tokens, input_usd: "1", output_usd: "2" },
      context_tokens: 1000, max_output_tokens: 100, upstreams: [${routes}] }`;
const image = (id: string, model: string) => `
  - { id: ${id}, kind: image, task: text-to-image, name: ${id}, price: { unit: image, usd: "0.01" },
      input_schema: { type: object, properties: { prompt: { type: string } } }, example: { prompt: a cat },
      upstreams: [{ upstream: fake, model: ${model} }] }`;
const first = '{ upstream: fake, model: m-chat }';
const second = '{ upstream: other, model: m-chat }';
const catalog = `owned_by: test
models:${text('t/one', first)}${text('t/two', `${first}, ${second}`)}${image('t/image', 'm-image')}${image('t/same', 'm-image')}
`;

let fake: Fake;
let operator: Person;
const other = createFake({ name: 'other' });
const { service, account: customer } = withWebService(async () => ({
  catalog,
  upstreams: [other],
  account: { usd: 10 },
}));
before(async () => {
  ({ fake } = service);
  operator = await operatorOf(service);
});
beforeEach(() => {
  for (const each of [fake, other]) Object.assign(each, { behave: {}, chats: [], starts: [] });
});

const asOperator = async (method: 'GET' | 'POST' | 'PATCH', path: string, body?: object) => {
  const reply = await operator.call(method, `/api/operator${path}`, body);
  assert.equal(reply.status, 200, reply.text);
  return reply.body;
};
const stop = (id: string) => asOperator('PATCH', `/models/${id}`, { status: 'stopped' });
const resume = (id: string) => asOperator('PATCH', `/models/${id}`, { status: 'live' });
const chat = (model: string): Promise<Reply> => {
  const body = { model, messages: [{ role: 'user', content: 'hi' }] };
  return customer.post('/v1/chat/completions', body);
};
const submit = (model: string): Promise<Reply> =>
  customer.post(`/v1/queue/${model}`, { prompt: 'a cat' });
const becomes = (status: number, ask: () => Promise<Reply>) =>
  until(`it is answered with ${status}`, async () => (await ask()).status === status);
const attention = async (): Promise<{ what: string; count: number; of: string[] }[]> =>
  (await asOperator('GET', '/attention')).data;
const told = () =>
  service.log
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'call failed')
    .map(({ err }) => err.message as string);

describe('a stopped model', () => {
  test('stays stopped when another one of the same route is stopped and resumed', async () => {
    await stop('t/two');
    await becomes(503, () => chat('t/two'));
    assert.equal((await chat('t/one')).status, 200, 'the other one of its route is sold');
    await stop('t/one');
    await becomes(503, () => chat('t/one'));
    await resume('t/one');
    await becomes(200, () => chat('t/one'));
    const calls = fake.chats.length + other.chats.length;
    assert.equal((await chat('t/two')).status, 503);
    assert.equal(fake.chats.length + other.chats.length, calls, 'no upstream was called for it');
    await resume('t/two');
    await becomes(200, () => chat('t/two'));
  });

  test('stays stopped when the pauses of its upstream and of its model are ended', async () => {
    await stop('t/image');
    await becomes(503, () => submit('t/image'));
    fake.behave.chat = () => ({ outcome: 'not_accepted', why: 'credential', message: '401' });
    await chat('t/one');
    await becomes(503, () => chat('t/one'));
    await asOperator('POST', '/upstreams/fake/resume', {});
    await asOperator('POST', '/upstreams/fake/resume', { model: 'm-image' });
    fake.behave = {};
    await becomes(200, () => chat('t/one'));
    assert.equal((await submit('t/image')).status, 503);
    await resume('t/image');
    await becomes(202, () => submit('t/image'));
    await service.work();
  });

  test('starts no waiting or repeated request, and all of them when it is resumed', async () => {
    fake.behave.start = () => ({ outcome: 'not_accepted', message: 'not now' });
    const retried = (await submit('t/image')).body.request_id as string;
    await service.work();
    const waiting = (await submit('t/image')).body.request_id as string;
    await stop('t/image');
    fake.behave = {};
    fake.starts.length = 0;
    await service.wakeAll();
    await service.work();
    assert.deepEqual(fake.starts, []);
    const queue = await asOperator('GET', '/queue/requests');
    assert.deepEqual(
      new Map(queue.data.map((row: any) => [row.request_id, row.waits_for.what])),
      new Map([
        [waiting, 'stopped'],
        [retried, 'stopped'],
      ]),
    );
    const { status } = await submit('t/same');
    assert.equal(status, 202, 'the other one of its route');
    await service.work();
    assert.equal(fake.starts.length, 1);
    await resume('t/image');
    await service.wakeAll();
    await service.work();
    assert.equal(fake.starts.length, 3);
    for (const id of [retried, waiting]) {
      const path = `/v1/requests/${id}/status`;
      const { body } = await customer.get(path);
      assert.equal(body.status, 'COMPLETED');
    }
  });

  test('shows in the catalog, in *Needs attention* and in the log, and not as a pause', async () => {
    await stop('t/image');
    await stop('t/image');
    await becomes(503, () => submit('t/image'));
    const causes = told().filter((cause) => cause.includes('t/image'));
    assert.deepEqual(causes, ['t/image: stopped by the operator'], 'a line a minute');
    const { data } = await asOperator('GET', '/models');
    const shown = data.filter(({ stopped }: any) => stopped !== null);
    assert.deepEqual(
      shown.map(({ id, state }: any) => [id, state]),
      [['t/image', 'stopped']],
    );
    const row = await asOperator('GET', '/models/t/image');
    assert.deepEqual(row.stopped, shown[0].stopped);
    const { since, by } = row.stopped;
    assert.equal(by, operator.email);
    assert.ok(Math.abs(Date.now() - Date.parse(since)) < 60_000, since);
    assert.deepEqual(await attention(), [{ what: 'models_stopped', count: 1, of: ['t/image'] }]);
    const upstreams = await asOperator('GET', '/upstreams');
    for (const { paused_models, paused_until } of upstreams.data)
      assert.deepEqual([paused_models, paused_until], [[], null]);
    assert.deepEqual(
      await service.db.run(rawSql('select name from upstreams where paused_until > now()')),
      [],
    );
    await resume('t/image');
    assert.deepEqual(await attention(), []);
    await becomes(202, () => submit('t/image'));
    await service.work();
  });
});
