import assert from 'node:assert/strict';
import { after, beforeEach, describe, test } from 'node:test';
import type { App } from '../../../src/app.ts';
import { schemaOfSession } from '../../../src/db/schema.ts';
import { openDatabase, type Database } from '../../../src/lib/sql/sql.ts';
import { openLine, type DatabaseLine } from '../../kit/database-line.ts';
import { openEvents } from '../../kit/events.ts';
import { completion, createFake } from '../../kit/fake.ts';
import { fakeCatalog, type Reply } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { age } from '../../worker/floor.ts';

/**
 * PostgreSQL has committed, and its answer never comes: the service finds out what was done, does it
 * once, and tells its caller so.
 */

const chatBody = {
  model: 'fake/chat',
  messages: [{ role: 'user', content: 'hello' }],
  max_tokens: 100,
};
/** The cost of 5 tokens in and 2 out. */
const chatCost = 9n;
const imageCost = 10_000n;

/** An upstream that recognises no repeat, so a lost start is never sent again. */
const forgetful = createFake({ name: 'forgetful', class: 'C' });
const forgetfulRow = `
  - id: forgetful/image
    kind: image
    task: text-to-image
    name: Image of one who forgets
    description: One cent an image.
    price: { unit: image, usd: "0.01" }
    max: 4
    max_unit: images
    upstreams: [{ upstream: forgetful, model: m, cost_usd: "0.004" }]
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a cat }
`;

let line: DatabaseLine;
let db: Database;
let app: App;
let base: string;
after(async () => {
  await app.stop(1_000);
  await db.close();
  await line.close();
});
const { service, account } = withService({
  upstreams: [forgetful],
  catalog: fakeCatalog + forgetfulRow,
});
before(async () => {
  line = await openLine(service.databaseUrl);
  db = openDatabase({
    connection: line.url,
    max: 4,
    statementTimeoutMs: 5_000,
    applicationName: 'line',
    session: schemaOfSession,
  });
  ({ app, base } = await service.another({}, { db }));
  service.fake.behave.chat = () => ({
    outcome: 'reply',
    reply: completion('hi', { prompt_tokens: 5, completion_tokens: 2 }),
  });
});

/** Statements that move money. */
const books = /\btransfers\b/;

const call = (method: string, path: string, more = {}): Promise<Reply> =>
  service.call(method, path, { key: account.key, base, ...more });
const submit = (headers: Record<string, string> = {}) =>
  call('POST', '/v1/queue/fake/image', { body: { prompt: 'x' }, headers });
const work = async () => {
  await service.wakeAll();
  while ((await app.worker!.runOnce()) > 0);
};

/**
 * Runs the work while the answers of `count` commits are lost. Returns the changes in the database.
 */
async function through<T>(count: number, work: () => Promise<T>, of = books) {
  const earlier = await traces(service);
  const before = line.lostCommits;
  line.loseCommits(count, of);
  const value = await work();
  line.loseCommits(0);
  assert.ok(line.lostCommits > before, 'no answer was lost');
  const later = await traces(service);
  const left = Object.fromEntries(
    Object.entries(later).map(([name, n]) => [name, BigInt(n) - BigInt(earlier[name]!)] as const),
  );
  return { value, left };
}

describe('the lost answer to the commit of', () => {
  beforeEach(work);

  test('a submit: 202, and one request is reserved for', async () => {
    const { value: reply, left } = await through(1, () => submit());
    assert.equal(reply.status, 202);
    assert.deepEqual([left.requests, left.transfers, left.reserved], [1n, 1n, imageCost]);
    const card = await call('GET', `/v1/requests/${reply.body.request_id}`);
    assert.equal(card.body.status, 'IN_QUEUE');
  });

  test('a submit with an Idempotency-Key: 202 and no replay, which its repeat is', async () => {
    const headers = { 'idempotency-key': 'lost' };
    const { value: reply, left } = await through(1, () => submit(headers));
    assert.equal(reply.status, 202);
    assert.equal(reply.headers.get('idempotent-replayed'), null);
    assert.equal(left.requests, 1n);
    const repeat = await submit(headers);
    assert.deepEqual([repeat.status, repeat.text], [200, reply.text]);
    assert.equal(repeat.headers.get('idempotent-replayed'), 'true');
  });

  test('submits of one batch, some under the same key: each has its own answer', async () => {
    const headers = { 'idempotency-key': 'lost-together' };
    const { value: replies, left } = await through(1, () =>
      Promise.all([submit(), submit(headers), submit(headers), submit(), submit(headers)]),
    );
    const statuses = replies.map(({ status }) => status).toSorted();
    assert.deepEqual(statuses, [200, 200, 202, 202, 202]);
    assert.equal(left.requests, 3n);
    assert.equal(left.reserved, 3n * imageCost);
  });

  test('a cancel: 200, and its reservation is released once', async () => {
    const { request_id } = (await submit()).body;
    const { value: reply, left } = await through(1, () =>
      call('POST', `/v1/requests/${request_id}/cancel`),
    );
    assert.equal(reply.status, 200);
    assert.deepEqual([left.transfers, left.reserved, left.charged], [1n, -imageCost, 0n]);
    assert.equal(service.fake.starts.filter((s) => s.request_id === request_id).length, 0);
  });

  test('the end of a job: it is completed and charged once, and submitted once', async () => {
    const { request_id } = (await submit()).body;
    const { left } = await through(1, work);
    assert.deepEqual([left.transfers, left.reserved, left.charged], [1n, -imageCost, imageCost]);
    assert.equal(left.upstream_starts, 1n);
    assert.equal((await call('GET', `/v1/requests/${request_id}`)).body.status, 'COMPLETED');
  });

  for (const [what, of] of [
    ['the intent to start a job: who recognises no repeat is asked once', /insert into attempts/],
    ['the handle of a job: who recognises no repeat is asked once', /set handle/],
  ] as const) {
    test(what, async () => {
      const starts = forgetful.starts.length;
      const reply = await call('POST', '/v1/queue/forgetful/image', { body: { prompt: 'x' } });
      const { left } = await through(1, work, of);
      assert.equal(forgetful.starts.length, starts + 1);
      assert.deepEqual([left.transfers, left.reserved, left.charged], [1n, -imageCost, imageCost]);
      const card = await call('GET', `/v1/requests/${reply.body.request_id}`);
      assert.deepEqual([card.body.status, card.body.error], ['COMPLETED', null]);
    });
  }

  test('a poll that found no job: it counts once', async () => {
    let looks = 0;
    service.fake.behave.poll = () => {
      looks++;
      return { state: 'missing', message: 'no such job' };
    };
    const { request_id } = (await submit()).body;
    const status = async () => (await call('GET', `/v1/requests/${request_id}/status`)).body.status;
    await through(1, work, /missing \+ 1/);
    await age(service, request_id);
    await until('it is given up', async () => {
      await work();
      return (await status()) === 'FAILED';
    });
    delete service.fake.behave.poll;
    assert.equal(looks, 3);
  });

  for (const [what, lost] of [
    ['the reservation of a chat call', 1],
    ['a chat call, both of its reservation and its charge', 2],
  ] as const) {
    test(`${what}: it is answered, called once and charged once`, async () => {
      const { value: reply, left } = await through(lost, () =>
        call('POST', '/v1/chat/completions', { body: chatBody }),
      );
      assert.equal(reply.status, 200);
      assert.equal(reply.headers.get('x-charge-usd-micro'), String(chatCost));
      assert.deepEqual(
        [left.upstream_chats, left.transfers, left.reserved, left.charged],
        [1n, 2n, 0n, chatCost],
      );
    });
  }

  test('the charge of a stream: its end says what was charged', async () => {
    service.fake.behave.chat = ({ stream }) => {
      assert.ok(stream);
      const chunk = (more: object) => ({ object: 'chat.completion.chunk', ...more });
      async function* chunks() {
        yield chunk({ choices: [{ index: 0, delta: { content: 'hi' }, finish_reason: 'stop' }] });
        yield chunk({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } });
      }
      return { outcome: 'stream', chunks: chunks() };
    };
    const body = { ...chatBody, stream: true, stream_options: { include_usage: true } };
    const { value: events, left } = await through(2, async () => {
      const opened = await openEvents(base, '/v1/chat/completions', { key: account.key, body });
      return opened.rest();
    });
    assert.equal(events.at(-1)!.data, '[DONE]');
    assert.equal(JSON.parse(events.at(-2)!.data).usage.cost_usd_micro, String(chatCost));
    assert.deepEqual([left.transfers, left.reserved, left.charged], [2n, 0n, chatCost]);
  });
});
