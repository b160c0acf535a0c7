import { connect } from 'node:net';
import { afterEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { finished } from '../../kit/finished.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { CallOptions, TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';

/**
 * A call keeps its bytes and its slot until its work is over, whether or not its caller is still there.
 * The share of an account is 4 MiB, so it has room for four large calls.
 */

const large = 'x'.repeat(1_000_000);
const url = 'https://slow.farebox-test.org/a.png';
const picture = { type: 'image_url', image_url: { url } };
const text = { type: 'text', text: large };
const messages = [{ role: 'user', content: [text, picture] }];
const block = { type: 'image', source: { type: 'url', url } };
const blocks = [{ role: 'user', content: [text, block] }];
const input = [
  {
    role: 'user',
    content: [
      { type: 'input_text', text: large },
      { type: 'input_image', image_url: url },
    ],
  },
];
const job = { prompt: 'x', image_url: url, note: large };

/** Calls that look an address up before they do anything else. */
const calls: [path: string, body: object][] = [
  ['/v1/chat/completions', { model: 'fake/chat', messages, max_tokens: 5 }],
  ['/v1/messages', { model: 'fake/chat', messages: blocks, max_tokens: 5 }],
  ['/v1/messages/count_tokens', { model: 'fake/chat', messages: blocks }],
  ['/v1/responses', { model: 'fake/chat', input }],
  ['/v1/queue/fake/image', job],
  ['/v1/images/generations', { model: 'fake/image', ...job }],
  [
    '/v1/images/edits',
    { model: 'fake/image', images: [{ image_url: url }], prompt: 'x', note: large },
  ],
  ['/fal/queue.fal.run/fake/image', job],
  ['/fal/fal.run/fake/image', job],
];
/** Repeated with an Idempotency-Key, too. */
const isRepeated = (path: string) => /chat|queue\/fake/.test(path);
const small = { model_id: 'fake/image', input: { prompt: 'x' } };
/** As large as the others; answered at once. */
const plain = { ...small, input: { ...small.input, note: large } };

let other: TestAccount;
/** Look-ups in this test. */
let asked = 0;
let gate = Promise.withResolvers<string[]>();
const { service, account } = withService({
  env: { FAREBOX_BODIES_MAX_BYTES: String(16 * 1024 * 1024) },
  lookup: () => {
    asked += 1;
    return gate.promise;
  },
});
before(async () => void (other = await service.account()));
afterEach(() => {
  open();
  asked = 0;
  gate = Promise.withResolvers();
});

/** Answers all look-ups. */
const open = () => gate.resolve(['93.184.216.34']);

const post = (path: string, body: object, { key = account.key, ...more }: CallOptions = {}) =>
  service.call('POST', path, { key, body, ...more });

/** Makes four calls and leaves while the address is looked up. */
async function leave(path: string, body: object, idempotency_key?: string) {
  const gone = new AbortController();
  const left = [1, 2, 3, 4].map((n) => {
    const headers = idempotency_key && {
      headers: { 'idempotency-key': `${idempotency_key}-${n}` },
    };
    return unanswered(path, body, { ...headers, signal: gone.signal });
  });
  await lookedUp(4);
  await noticed(left, gone);
}

function unanswered(path: string, body: object, options: CallOptions): Promise<void> {
  const reply = post(path, body, options);
  const left = assert.rejects(
    reply.then(({ text }) => assert.equal(text.slice(0, 300), 'no answer')),
    { name: 'AbortError' },
  );
  // It is awaited later, and must not end the process before.
  left.catch(() => {});
  return left;
}

const lookedUp = (calls: number) => until('the address is looked up', () => asked === calls);

/** Leaves these calls and waits until the service has noticed. */
async function noticed(
  left: Promise<unknown>[],
  gone: AbortController,
  { metrics } = service.app,
): Promise<void> {
  const over = (await finished(metrics)) + left.length;
  gone.abort();
  await Promise.all(left);
  await until('the service has noticed', async () => (await finished(metrics)) >= over);
}

async function assertHeld(): Promise<void> {
  const refused = assertRefused(await post('/v1/estimate', plain), 'rate_limited');
  assert.ok(refused.details.held >= 4_000_000, JSON.stringify(refused));
  assert.equal((await post('/v1/estimate', small)).status, 200);
  assert.equal((await post('/v1/estimate', plain, { key: other.key })).status, 200);
}

async function assertFree(): Promise<void> {
  await until('no work goes on', () => service.app.metrics.counts.inFlight === 0);
  const reply = await post('/v1/estimate', plain);
  assert.equal(reply.status, 200, reply.text);
}

const assertSettled = () =>
  until('nothing is reserved', async () => (await service.balance(account)).reserved === 0n);

describe('a caller who leaves during the address check', () => {
  for (const [path, body] of calls)
    for (const key of [undefined, ...(isRepeated(path) ? [`left-${path}`] : [])]) {
      const kept = key === undefined ? '' : ' with an Idempotency-Key';
      test(`of ${path}${kept} holds the bytes until it is over, and nothing is reserved`, async () => {
        const earlier = await traces(service);
        await leave(path, body, key);
        await assertHeld();
        open();
        await assertFree();
        assert.deepEqual(await traces(service), earlier);
      });
    }

  test('many times holds no more than the share of the account', async () => {
    const earlier = await traces(service);
    const [path, body] = calls[0]!;
    await leave(path, body);
    const gone = new AbortController();
    const more = Array.from({ length: 12 }, () => post(path, body, { signal: gone.signal }));
    for (const reply of await Promise.all(more)) assertRefused(reply, 'rate_limited');
    assert.equal(asked, 4);
    assert.equal((await post('/v1/estimate', plain, { key: other.key })).status, 200);
    open();
    await assertFree();
    assert.deepEqual(await traces(service), earlier);
  });
});

describe('a caller who leaves keeps the slots of calls that go on', () => {
  for (const [path, body] of calls)
    test(path, async () => {
      // An account gets two of three slots, and reads one body at a time.
      const { base, app } = await service.another({ FAREBOX_IN_FLIGHT_MAX: '3' });
      const balance = ({ key } = account) => service.call('GET', '/v1/balance', { key, base });
      const earlier = await traces(service);
      const gone = new AbortController();
      const left: Promise<void>[] = [];
      for (const n of [1, 2]) {
        left.push(unanswered(path, body, { base, signal: gone.signal }));
        await lookedUp(n);
      }
      await noticed(left, gone, app);
      const refused = assertRefused(await balance(), 'rate_limited');
      assert.equal(refused.details.held, 2);
      assert.equal((await balance(other)).status, 200);
      open();
      await until('the slots are free', () => app.metrics.counts.inFlight === 0);
      assert.equal((await balance()).status, 200);
      assert.deepEqual(await traces(service), earlier);
      await app.stop(0);
    });
});

test('the next call with the same Idempotency-Key is the first one', async () => {
  const [path, body] = calls[0]!;
  await leave(path, body, 'again');
  open();
  await assertFree();
  const reply = await post(path, body, { headers: { 'idempotency-key': 'again-1' } });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get('idempotent-replayed'), null);
});

describe('a caller who leaves', () => {
  const chat = { model: 'fake/chat', messages: [{ role: 'user', content: large }], max_tokens: 5 };

  /** Makes four chat calls and leaves once they have all `arrived`. */
  async function leaveOnce(arrived: () => Promise<boolean> | boolean, body: object = chat) {
    const gone = new AbortController();
    const left = [1, 2, 3, 4].map(() =>
      post('/v1/chat/completions', body, { signal: gone.signal }).catch(() => null),
    );
    await until('the calls have come so far', arrived);
    await noticed(left, gone);
  }

  test('in the middle of the body holds nothing afterwards', async () => {
    const { key } = await service.account();
    const estimate = async () => (await post('/v1/estimate', plain, { key })).status;
    const { hostname, port } = new URL(service.base);
    const begin = () => {
      const socket = connect({ host: hostname, port: Number(port) });
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Key ${key}\r\n` +
          `content-type: application/json\r\ncontent-length: 9000000\r\n\r\n"${large.repeat(4)}`,
      );
      return socket.resume();
    };
    let socket = begin();
    await until('the bytes are held', async () => {
      // An estimate in the middle of the body may have taken its room.
      if (socket.bytesRead > 0) socket = begin();
      return (await estimate()) === 429;
    });
    socket.destroy();
    await until('the bytes are free', async () => (await estimate()) === 200);
  });

  test('during the reservation holds the bytes until it is made and released', async () => {
    const released = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const lock = service.db.tx(async (tx) => {
      await tx.run(sql`select 1 from balances where account_id = ${account.account_id} for update`);
      locked.resolve();
      await released.promise;
    });
    await locked.promise;
    const earlier = await service.balance(account);
    const chats = service.fake.chats.length;
    const body = { ...chat, messages: [{ role: 'user', content: [text, picture] }] };
    open();
    await leaveOnce(async () => {
      const waiting = rawSql(`select count(*) as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`);
      const [row] = await service.db.run<{ n: bigint }>(waiting);
      return row!.n > 0n && asked === 4;
    }, body);
    released.resolve();
    await lock;
    await assertFree();
    await assertSettled();
    assert.deepEqual(await service.balance(account), earlier);
    assert.equal(service.fake.chats.length, chats);
  });

  test('while the model answers holds the bytes until it has', async () => {
    for (const stream of [false, true]) {
      const answered = Promise.withResolvers<void>();
      let atModel = 0;
      service.fake.behave.chat = async () => {
        atModel += 1;
        await answered.promise;
        return { outcome: 'rejected', message: 'no' };
      };
      await leaveOnce(() => atModel === 4, { ...chat, stream });
      await assertHeld();
      answered.resolve();
      await assertFree();
      service.fake.behave = {};
    }
    await assertSettled();
  });

  test('in the middle of a stream holds the bytes until it is settled', async () => {
    const ended = Promise.withResolvers<void>();
    let begun = 0;
    const chunk = (content: string, finish_reason: string | null) => ({
      choices: [{ index: 0, delta: { content }, finish_reason }],
    });
    service.fake.behave.chat = async () => ({
      outcome: 'stream',
      chunks: (async function* () {
        yield chunk('he', null);
        begun += 1;
        await ended.promise;
        yield { ...chunk('llo', 'stop'), usage: { prompt_tokens: 5, completion_tokens: 2 } };
      })(),
    });
    await leaveOnce(() => begun === 4, { ...chat, model: 'fake/drain/chat', stream: true });
    await assertHeld();
    ended.resolve();
    await assertFree();
    service.fake.behave = {};
    await assertSettled();
  });
});
