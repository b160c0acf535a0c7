import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql, sql } from '../../../../src/lib/sql/sql.ts';
import type { ChatCall } from '../../../../src/upstreams/upstream.ts';
import { completion, type SaidReply } from '../../../kit/fake.ts';
import { finished } from '../../../kit/finished.ts';
import { assertRefused } from '../../../kit/refusal.ts';
import { fakeCatalog, shortChatRow, type Service } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { assertTokensCharged } from '../../../kit/tokens.ts';
import { until } from '../../../kit/until.ts';

/**
 * Chat without streaming whose caller leaves before the reply. A prompt token costs one micro-USD
 * and a completion token two.
 */

const path = '/v1/chat/completions';
const body = {
  model: 'fake/chat',
  messages: [{ role: 'user', content: 'hello' }],
  max_tokens: 100,
};
const finishes = { ...body, model: 'fake/drain/chat' };
const reported: SaidReply = {
  outcome: 'reply',
  reply: completion('hi', { prompt_tokens: 5, completion_tokens: 2 }),
};
const charged = [9n, 'COMPLETED', null];
const unreported: SaidReply = { outcome: 'reply', reply: completion('hi', null) };
const free = [0n, 'FAILED', 'outcome_unknown'];

after(() => assertTokensCharged(service));
const { service, account } = withService({
  catalog: `${fakeCatalog}${shortChatRow('fake/short', false)}${shortChatRow('fake/short/thinks', true)}`,
});

interface HeldCall {
  call: ChatCall;
  answer: (outcome: SaidReply) => void;
  /** The account's balance before the call. */
  earlier: bigint;
}

/** Makes a call that the upstream holds. `deaf`: the upstream ignores the signal. */
async function hold(make: () => void, { deaf = false } = {}): Promise<HeldCall> {
  const { available: earlier } = await service.balance(account);
  const asked = Promise.withResolvers<Omit<HeldCall, 'earlier'>>();
  service.fake.behave.chat = (call) =>
    new Promise((answer, reject) => {
      if (!deaf) call.signal.addEventListener('abort', () => reject(call.signal.reason));
      asked.resolve({ call, answer });
    });
  make();
  const held = await asked.promise;
  service.fake.behave = {};
  return { ...held, earlier };
}

interface SendOptions {
  key?: string;
  base?: string;
  signal?: AbortSignal;
}

function send(sent: object, { key, base = service.base, signal }: SendOptions = {}) {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  return account.post(path, sent, { base, headers, ...(signal && { signal }) });
}

/** A call whose caller leaves while the upstream holds it. */
async function left(
  sent: object,
  { app, ...more }: SendOptions & { deaf?: boolean; app?: Service['app'] } = {},
): Promise<HeldCall> {
  const gone = new AbortController();
  let reply = Promise.resolve();
  const make = () => void (reply = assert.rejects(send(sent, { ...more, signal: gone.signal })));
  const held = await hold(make, more);
  assert.equal(held.call.signal.aborted, false);
  await noticed(async () => {
    gone.abort();
    await reply;
  }, app);
  return held;
}

/** Runs `leave` and waits until the service has noticed that the caller left. */
async function noticed(leave: () => Promise<void>, { metrics } = service.app): Promise<void> {
  const earlier = await finished(metrics);
  await leave();
  await until('the service has noticed', async () => (await finished(metrics)) > earlier);
}

/** The money that the account lost, once nothing is reserved, and the end of the newest request. */
async function settled({ earlier }: HeldCall): Promise<unknown[]> {
  await until('the call is settled', async () => (await service.balance(account)).reserved === 0n);
  const [row] = await service.db.run<{ status: string; error_code: string | null }>(sql`
    select status, error_code from requests where account_id = ${account.account_id}
      order by id desc limit 1`);
  const { available } = await service.balance(account);
  return [earlier - available, row!.status, row!.error_code];
}

describe('row says on_disconnect: stop', () => {
  test('the upstream is stopped, and nothing is charged', async () => {
    const asked = service.fake.chats.length;
    const held = await left(body);
    assert.equal(held.call.signal.aborted, true);
    assert.deepEqual(await settled(held), free);
    assert.equal(service.fake.chats.length, asked + 1, 'the upstream was called again');
  });

  test('the key can open another call', async () => {
    const { base, app } = await service.another({ FAREBOX_OPEN_CHATS: '1' });
    const gone = new AbortController();
    const reply = Promise.withResolvers<unknown>();
    const held = await hold(() =>
      reply.resolve(assert.rejects(send(body, { base, signal: gone.signal }))),
    );
    assert.equal((await send(body, { base })).status, 429);
    gone.abort();
    await reply.promise;
    const next = await until('the slot is free', async () => {
      const each = await send(body, { base });
      return each.status !== 429 && each;
    });
    assert.equal(next.status, 200, next.text);
    assert.equal(held.call.signal.aborted, true);
    await app.stop(0);
  });

  test('many callers who leave do not pause the upstream', async () => {
    for (let i = 0; i < 12; i++) assert.deepEqual(await settled(await left(body)), free);
    assert.equal((await send(body)).status, 200);
  });

  test('a reply that still comes is charged by its usage; without usage it is free', async () => {
    const withUsage = await left(body, { deaf: true });
    withUsage.answer(reported);
    assert.deepEqual(await settled(withUsage), charged);
    const without = await left(body, { deaf: true });
    without.answer(unreported);
    assert.deepEqual(await settled(without), [0n, 'COMPLETED', null]);
  });
});

describe('row says on_disconnect: finish', () => {
  test('the upstream is read to its reply, which is charged by its usage', async () => {
    const held = await left(finishes);
    assert.equal(held.call.signal.aborted, false);
    held.answer(reported);
    assert.deepEqual(await settled(held), charged);
  });

  test('a reply without usage is charged by its bound, not by what can be counted', async () => {
    const held = await left(finishes);
    held.answer(unreported);
    // 148 tokens at most for the prompt, two for "hi".
    assert.deepEqual(await settled(held), [152n, 'COMPLETED', null]);
  });

  test("the caller's bytes count until the upstream has answered", async () => {
    const limit = { FAREBOX_BODIES_MAX_BYTES: String(16 * 1024 * 1024) };
    const { base, app } = await service.another(limit);
    const url = `data:image/png;base64,${'A'.repeat(1_150_000)}`;
    const content = [{ type: 'image_url', image_url: { url } }];
    const large = { ...finishes, messages: [{ role: 'user', content }] };
    // An account's share of all bytes is 4 MiB.
    const calls: HeldCall[] = [];
    for (let i = 0; i < 3; i++) calls.push(await left(large, { base, app }));
    assertRefused(await send(large, { base }), 'rate_limited');
    for (const { answer } of calls) answer(reported);
    assert.equal((await settled(calls[0]!)).at(1), 'COMPLETED');
    await until('the bytes are given back', async () => {
      return (await send(large, { base })).status === 200;
    });
    await app.stop(0);
  });

  test('no other route is called for a caller who has left', async () => {
    const asked = service.fake.chats.length;
    const held = await left(finishes);
    held.answer({ outcome: 'not_accepted', why: 'busy', message: 'busy' });
    assert.deepEqual(await settled(held), [0n, 'FAILED', 'upstream_failed']);
    assert.equal(service.fake.chats.length, asked + 1);
    await service.db.run(rawSql('delete from upstreams'));
  });

  for (const [row, end] of [
    ['short', [148n, 'COMPLETED', null]],
    ['short/thinks', [148n + 200n, 'COMPLETED', null]],
  ] as const) {
    test(`${row}: no reply comes in the row's time, and the bound is charged`, async () => {
      const held = await left({ ...body, model: `fake/${row}` });
      assert.equal(held.call.signal.aborted, false);
      assert.deepEqual(await settled(held), end);
      assert.equal(held.call.signal.aborted, true);
    });
  }

  test('beyond the account’s share of such calls the bound is charged at once', async () => {
    const { base, app } = await service.another({ FAREBOX_DRAINING_CHATS: '2' });
    const first = await left({ ...finishes, max_tokens: 99 }, { base, app });
    const second = await left(finishes, { base, app });
    await until('one of them is let go', () => second.call.signal.aborted);
    assert.equal(first.call.signal.aborted, false);
    first.answer(reported);
    assert.deepEqual(await settled(first), [148n + 9n, 'COMPLETED', null]);
    await app.stop(0);
  });

  test('beyond that share what no upstream took costs nothing', async () => {
    const { base, app } = await service.another({ FAREBOX_DRAINING_CHATS: '2' });
    const first = await left(finishes, { base, app });
    const second = await left(finishes, { base, app, deaf: true });
    await until('one of them is let go', () => second.call.signal.aborted);
    second.answer({ outcome: 'not_accepted', why: 'busy', message: 'busy' });
    first.answer(reported);
    const [cost] = await settled(first);
    assert.equal(cost, 9n, 'the first alone');
    await service.db.run(rawSql('delete from upstreams'));
    await app.stop(0);
  });

  test('a caller who stays until the time is up pays nothing', async () => {
    let reply: Promise<{ status: number }>;
    const held = await hold(() => void (reply = send({ ...body, model: 'fake/short' })));
    assert.equal((await reply!).status, 502);
    assert.deepEqual(await settled(held), free);
  });
});

describe('with an Idempotency-Key', () => {
  for (const sent of [body, finishes]) {
    test(`${sent.model} goes on, and a repeat gets the reply without a second charge`, async () => {
      const key = `left-${sent.model}`;
      const held = await left(sent, { key });
      assert.equal(held.call.signal.aborted, false);
      const asked = service.fake.chats.length;
      const repeat = send(sent, { key });
      held.answer(reported);
      const again = await repeat;
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
      assert.equal(again.body.choices[0].message.content, 'hi');
      assert.deepEqual((await send(sent, { key })).body, again.body);
      const [cost] = await settled(held);
      assert.equal(cost, 9n);
      assert.equal(service.fake.chats.length, asked);
    });
  }
});

describe('a caller who keeps the connection has not left', () => {
  test('a call on a connection that has served others, and serves more', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<Socket>();
    const chat = () =>
      new Promise<number>((resolve, reject) => {
        const req = request(`${service.base}${path}`, {
          method: 'POST',
          agent,
          headers: { authorization: `Key ${account.key}`, 'content-type': 'application/json' },
        });
        req.once('socket', (socket) => sockets.add(socket));
        req.once('error', reject);
        req.once('response', (res) => {
          res.resume();
          res.once('end', () => resolve(res.statusCode!));
        });
        req.end(JSON.stringify(body));
      });
    for (let i = 0; i < 2; i++) {
      let status = Promise.resolve(0);
      const held = await hold(() => void (status = chat()));
      assert.equal(held.call.signal.aborted, false, 'all of its body has come, and no more');
      held.answer(reported);
      assert.equal(await status, 200);
      assert.deepEqual(await settled(held), charged);
      assert.equal(held.call.signal.aborted, false);
    }
    assert.equal(sockets.size, 1);
    agent.destroy();
  });
});

describe('the end of a connection', () => {
  /** The bytes of one call on a socket. */
  function lines(): string {
    const text = JSON.stringify(body);
    const head = [`POST ${path} HTTP/1.1`, 'Host: x', `Authorization: Key ${account.key}`];
    const type = ['Content-Type: application/json', `Content-Length: ${text.length}`];
    return [...head, ...type, '', text].join('\r\n');
  }

  function open(bytes: string): Socket {
    const { hostname, port } = new URL(service.base);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.write(bytes);
    return socket;
  }

  test('of which the caller closes one half counts as leaving at once', async () => {
    let socket: Socket;
    const held = await hold(() => (socket = open(lines())));
    let got = '';
    socket!.on('data', (bytes) => (got += String(bytes)));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    assert.equal(held.call.signal.aborted, false);
    socket!.end();
    await closed;
    assert.equal(got, '');
    assert.deepEqual(await settled(held), free);
    assert.equal(held.call.signal.aborted, true);
  });

  test('also ends the calls that wait for their turn on it', async () => {
    const { available: earlier } = await service.balance(account);
    const calls: ChatCall[] = [];
    service.fake.behave.chat = (call) =>
      new Promise((_, reject) => {
        call.signal.addEventListener('abort', () => reject(call.signal.reason));
        calls.push(call);
      });
    const socket = open(lines() + lines());
    await until('both are under way', () => calls.length === 2);
    service.fake.behave = {};
    assert.ok(calls.every(({ signal }) => !signal.aborted));
    socket.destroy();
    await until('both are let go', () => calls.every(({ signal }) => signal.aborted));
    await until('both are settled', async () => (await service.balance(account)).reserved === 0n);
    assert.equal((await service.balance(account)).available, earlier);
  });
});
