import { test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql, sql } from '../../../../src/lib/sql/sql.ts';
import { completion } from '../../../kit/fake.ts';
import { assertRefused } from '../../../kit/refusal.ts';
import { withService } from '../../../kit/with-service.ts';

/** The card of a finished call: tokens, charge, links. */

const { service, account } = withService();

const body = { model: 'fake/chat', messages: [{ role: 'user', content: 'x' }], max_tokens: 10 };
const read = async (path: string) => (await account.get(path)).body as any;

test('the card of a chat has its tokens, and no text', async () => {
  const chat = await account.post('/v1/chat/completions', body);
  const id = chat.body.id.replace('chatcmpl-', '');
  const card = await read(`/v1/requests/${id}`);
  assert.deepEqual(card.usage, chat.body.usage);
  assert.equal(card.usage.cost_usd_micro, card.charged_usd_micro);
  assert.deepEqual(await read(`/v1/requests/${id}/response`), { usage: chat.body.usage });
  assert.ok(!JSON.stringify(card).includes('hello'));
});

const detailed = {
  prompt_tokens: 100,
  completion_tokens: 10,
  prompt_tokens_details: { cached_tokens: 60 },
  completion_tokens_details: { reasoning_tokens: 7 },
};
const doors: [what: string, path: string, body: object][] = [
  ['a chat', '/v1/chat/completions', body],
  ['a streamed chat', '/v1/chat/completions', { ...body, stream: true }],
  ['a response', '/v1/responses', { model: 'fake/chat', input: 'x' }],
  ['a streamed response', '/v1/responses', { model: 'fake/chat', input: 'x', stream: true }],
  ['a message', '/v1/messages', body],
  ['a streamed message', '/v1/messages', { ...body, stream: true }],
];

async function* streamed() {
  const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'chat' };
  const choice = { index: 0, delta: { role: 'assistant', content: 'hi' } };
  yield { ...head, choices: [{ ...choice, finish_reason: 'stop' }] };
  yield { ...head, choices: [], usage: detailed };
}

/** Deletes the reply of a request, as the sweep does after thirty days. */
async function clear(id: string): Promise<void> {
  const old = `completed_at - interval '31 days'`;
  await service.db.run(
    rawSql(
      `update requests set created_at = ${old}, started_at = ${old}, completed_at = ${old},
        wake_at = null where id = $1`,
      [id],
    ),
  );
  await service.app.worker!.sweep();
}

for (const [what, path, sent] of doors)
  test(`the tokens of ${what} stay on its card when the reply is deleted`, async () => {
    const own = await service.account();
    service.fake.behave.chat = ({ stream }) =>
      stream
        ? { outcome: 'stream', chunks: streamed() }
        : { outcome: 'reply', reply: completion('hi', detailed) };
    const reply = await own.post(path, sent);
    service.fake.behave = {};
    assert.equal(reply.status, 200, reply.text);
    const [line] = (await own.get('/v1/requests')).body.data;
    const card = async () => (await own.get(`/v1/requests/${line.request_id}`)).body;
    const before = await card();
    const usage = { ...detailed, total_tokens: 110, cost_usd_micro: before.charged_usd_micro };
    assert.deepEqual(before.usage, usage);
    await clear(line.request_id);
    const { usage: left, input, charged_usd_micro } = await card();
    assert.deepEqual([left, input, charged_usd_micro], [usage, {}, before.charged_usd_micro]);
    const gone = await own.get(`/v1/requests/${line.request_id}/response`);
    assertRefused(gone, 'expired');
  });

test('a chat that failed has no tokens, and neither has an image', async () => {
  service.fake.behave.chat = () => ({ outcome: 'not_accepted', message: 'full' });
  await account.post('/v1/chat/completions', body);
  service.fake.behave = {};
  const [line] = (await read('/v1/requests')).data;
  assert.equal(line.status, 'FAILED');
  assert.equal('usage' in (await read(`/v1/requests/${line.request_id}`)), false);
  const [counted] = await service.db.run<{ n: bigint }>(sql`
    select count(*) as n from request_results s join requests r on r.id = s.request_id
      where (r.kind = 'text' and r.status = 'COMPLETED') <> (s.input_tokens is not null)`);
  assert.equal(Number(counted!.n), 0);
});

test('a repeated chat says that this call was charged nothing', async () => {
  const headers = { 'idempotency-key': 'once' };
  const call = () => account.post('/v1/chat/completions', body, { headers });
  const [first, again] = [await call(), await call()];
  assert.equal(first.headers.get('x-charge-usd-micro'), '9');
  assert.equal(again.headers.get('x-charge-usd-micro'), '0');
  assert.equal(again.text, first.text);
});

test('links to outputs are removed from the card when they expire', async () => {
  const submitted = await account.post('/v1/queue/fake/image', { prompt: 'x' });
  await service.work();
  await service.wakeAll();
  await service.work();
  const path = `/v1/requests/${submitted.body.request_id}`;
  assert.equal((await read(path)).output_urls.length, 1);
  await service.db.run(sql`
    update requests set started_at = started_at - interval '25 h', created_at = created_at - interval '25 h',
       completed_at = completed_at - interval '25 h' where id = ${submitted.body.request_id}`);
  const card = await read(path);
  assert.deepEqual(card.output_urls, []);
  assert.equal(card.status, 'COMPLETED');
});
