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
const film = `
  - { id: t/film, kind: video, task: text-to-video, name: t/film, price: { unit: sec, usd: "0.01" }, max: 10, max_unit: seconds,
      input_schema: { type: object, properties: { prompt: { type: string }, duration_seconds: { type: number } } },
      example: { prompt: a cat }, upstreams: [{ upstream: fake, model: m-film }] }`;
const image = (id: string, model: string) => `
  - { id: ${id}, kind: image, task: text-to-image, name: ${id}, price: { unit: image, usd: "0.01" },
      input_schema: { type: object, properties: { prompt: { type: string } } }, example: { prompt: a cat },
      upstreams: [{ upstream: fake, model: ${model} }] }`;
const first = '{ upstream: fake, model: m-chat }';
const second = '{ upstream: other, model: m-chat }';
const catalog = `owned_by: test
models:${text('t/one', first)}${text('t/two', `${first}, ${second}`)}${image('t/image', 'm-image')}${image('t/same', 'm-image')}${film}
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

const hi = [{ role: 'user', content: 'hi' }];
const ask = { prompt: 'a cat' };
/** Every door to a model: its path, the model, and a body that would be accepted. */
const doors: [path: string, model: string, body: object][] = [
  ['/v1/queue/t/image', 't/image', ask],
  ['/v1/queue/t/film', 't/film', { ...ask, duration_seconds: 2 }],
  ['/v1/chat/completions', 't/two', { model: 't/two', messages: hi }],
  ['/v1/chat/completions', 't/two', { model: 't/two', messages: hi, stream: true }],
  ['/v1/responses', 't/one', { model: 't/one', input: 'hi' }],
  ['/v1/responses', 't/one', { model: 't/one', input: 'hi', stream: true }],
  ['/v1/messages', 't/two', { model: 't/two', max_tokens: 9, messages: hi }],
  ['/v1/images/generations', 't/image', { model: 't/image', ...ask }],
  ['/v1/videos', 't/film', { model: 't/film', ...ask }],
  ['/fal/queue.fal.run/t/image', 't/image', ask],
  ['/fal/fal.run/t/image', 't/image', ask],
  ['/replicate/v1/models/t/image/predictions', 't/image', { input: ask }],
];
const notes = { 'with a note': 'back on Monday, 9:00', 'without a note': null };

describe('every door to a stopped model refuses and tells not to retry', () => {
  for (const [named, status_note] of Object.entries(notes)) {
    test(named, async () => {
      for (const id of new Set(doors.map(([, model]) => model)))
        await asOperator('PATCH', `/models/${id}`, { status: 'stopped', status_note });
      const secondOf = await service.another();
      const bases = [service.base, secondOf.base];
      try {
        for (const base of bases)
          for (const [path, , body] of doors)
            await until(`${path} sees the stop`, async () => {
              return (await customer.post(path, body, { base })).status >= 400;
            });
        await service.work();
        Object.assign(fake, { chats: [], starts: [] });
        const transfers = await service.transfers();
        for (const base of bases)
          for (const [path, , body] of doors) {
            const told = `${path} ${JSON.stringify(body)}`;
            const reply = await customer.post(path, body, { base });
            assert.equal(reply.status, 503, `${told}: ${reply.text}`);
            assert.equal(reply.headers.get('x-should-retry'), 'false', told);
            assert.equal(reply.headers.get('retry-after'), null, told);
            assert.match(reply.text, /The operator has stopped this model/, told);
            assert.equal(reply.text.includes('back on Monday'), status_note !== null, told);
            if (path.startsWith('/v1/messages')) continue;
            const { code, details } = reply.body.error;
            assert.deepEqual(
              [code, details.reason, details.status_note],
              ['capacity_unavailable', 'stopped', status_note],
              told,
            );
          }
        assert.equal(await service.transfers(), transfers);
        assert.deepEqual([fake.starts, fake.chats], [[], []]);
        await until('the other process shows it', async () => {
          const { body } = await customer.get('/v1/models/t/film', { base: secondOf.base });
          return body.status === 'stopped' && body.status_note === status_note;
        });
      } finally {
        await secondOf.app.stop(0);
      }
      for (const id of new Set(doors.map(([, model]) => model))) await resume(id);
    });
  }

  test('its price is still told, and its entry says that it is stopped', async () => {
    const before = await customer.get('/v1/models');
    const entries = (list: Reply) =>
      Object.fromEntries(list.body.data.map((entry: any) => [entry.id, entry]));
    assert.equal(entries(before)['t/image'].status, 'live');
    assert.equal('status_note' in entries(before)['t/image'], false);
    await asOperator('PATCH', '/models/t/image', { status: 'stopped', status_note: 'moving' });
    const after = await customer.get('/v1/models');
    const { status, status_note } = entries(after)['t/image'];
    assert.deepEqual([status, status_note], ['stopped', 'moving'], 'at once in this process');
    assert.equal(entries(after)['t/same'].status, 'live');
    assert.notEqual(after.headers.get('etag'), before.headers.get('etag'));
    const priced = await customer.post('/v1/estimate', { model_id: 't/image', input: ask });
    assert.deepEqual([priced.status, priced.body.price_usd_micro], [200, '10000']);
    await resume('t/image');
    const live = entries(await customer.get('/v1/models'))['t/image'];
    assert.deepEqual([live.status, 'status_note' in live], ['live', false]);
  });

  test('a note can be changed alone and removed, and is refused for a live model', async () => {
    await asOperator('PATCH', '/models/t/image', { status: 'stopped', status_note: 'one' });
    const patch = async (body: object) =>
      (await asOperator('PATCH', '/models/t/image', body)) as any;
    assert.equal((await patch({ status_note: 'two' })).status_note, 'two');
    assert.equal((await patch({ status: 'stopped' })).status_note, 'two', 'a repeat keeps it');
    assert.equal((await patch({ status_note: null })).status_note, null);
    const { status, status_note } = await patch({ status: 'live' });
    assert.deepEqual([status, status_note], ['live', null]);
    for (const body of [{ status_note: 'x' }, { status: 'live', status_note: 'x' }]) {
      const reply = await operator.call('PATCH', '/api/operator/models/t/image', body);
      assert.deepEqual(
        [reply.status, reply.body.error.details.reason],
        [400, 'note_of_live_model'],
        JSON.stringify(body),
      );
    }
  });
});
