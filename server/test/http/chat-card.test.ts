import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';

/** The card of a finished call: tokens, charge, links. */

let service: Service;
let account: TestAccount;
before(async () => {
  service = await startService();
  account = await service.account();
});
after(async () => {
  await service.audit();
  await service.stop();
});

const body = { model: 'fake/chat', messages: [{ role: 'user', content: 'x' }], max_tokens: 10 };
const read = async (path: string) =>
  (await service.call('GET', path, { key: account.key })).body as any;

test('the card of a chat has its tokens, and nothing of what was said', async () => {
  const chat = await service.call('POST', '/v1/chat/completions', { key: account.key, body });
  const id = chat.body.id.replace('chatcmpl-', '');
  const card = await read(`/v1/requests/${id}`);
  assert.deepEqual(card.usage, chat.body.usage);
  assert.equal(card.usage.cost_usd_micro, card.charged_usd_micro);
  assert.deepEqual(await read(`/v1/requests/${id}/response`), { usage: chat.body.usage });
  assert.ok(!JSON.stringify(card).includes('hello'));
});

test('a repeated chat says that this call was charged nothing', async () => {
  const headers = { 'idempotency-key': 'once' };
  const call = () =>
    service.call('POST', '/v1/chat/completions', { key: account.key, body, headers });
  const [first, again] = [await call(), await call()];
  assert.equal(first.headers.get('x-charge-usd-micro'), '9');
  assert.equal(again.headers.get('x-charge-usd-micro'), '0');
  assert.equal(again.text, first.text);
});

test('links to outputs leave the card when their time is over', async () => {
  const submitted = await service.call('POST', '/v1/queue/fake/image', {
    key: account.key,
    body: { prompt: 'x' },
  });
  await service.work();
  await service.wakeAll();
  await service.work();
  const path = `/v1/requests/${submitted.body.request_id}`;
  assert.equal((await read(path)).output_urls.length, 1);
  await service.db.run(
    rawSql(
      `update requests set started_at = started_at - interval '25 h', created_at = created_at - interval '25 h',
       completed_at = completed_at - interval '25 h' where id = $1`,
      [submitted.body.request_id],
    ),
  );
  const card = await read(path);
  assert.deepEqual(card.output_urls, []);
  assert.equal(card.status, 'COMPLETED');
});
