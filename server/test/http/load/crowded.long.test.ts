import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createKey } from '../../kit/keys.ts';
import { completion } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply, TestAccount } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { exchange } from '../../kit/wire.ts';

/**
 * Limits of one caller: calls on a connection, replies that are not read, open chat calls and
 * uploads.
 */

const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
const stallMs = 1_000;
// More than the buffers of both ends of a connection hold.
const largeBytes = 32 * 1024 * 1024;
const { service, account } = withService({ times: { stallMs, stallLeastBytes: largeBytes / 2 } });

async function underWay(count: number): Promise<void> {
  await until(`${count} calls are under way`, async () => {
    return ((await service.app.metrics.inFlight.get()).values[0]?.value ?? 0) === count;
  });
}

function lines(method: string, path: string, body = '', more: string[] = []): string {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: x', `Authorization: Key ${account.key}`];
  const type = ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`];
  return [...head, ...(body === '' ? [] : type), ...more, '', body].join('\r\n');
}

const chatLines = () => lines('POST', '/v1/chat/completions', JSON.stringify(chat));

function open(bytes: string, base = service.base): Socket {
  const { hostname, port } = new URL(base);
  const socket = connect({ host: hostname, port: Number(port) }).pause();
  socket.on('error', () => {});
  socket.write(bytes);
  return socket;
}

/** The model answers nobody until the returned function is called. */
function hold(): () => void {
  const gate = Promise.withResolvers<void>();
  service.fake.behave.chat = async () => {
    await gate.promise;
    return { outcome: 'rejected', message: 'that is enough' };
  };
  return gate.resolve;
}

describe('a connection', () => {
  test('has four open calls, refuses further ones, and sends all replies in order', async () => {
    const answer = hold();
    const bytes = [
      chatLines(),
      ...Array.from({ length: 6 }, () => lines('GET', '/v1/models')),
      lines('GET', '/v1/models', '', ['Connection: close']),
    ];
    const exchanged = exchange(service.base, bytes.join(''));
    await underWay(4);
    answer();
    const { replies, closed } = await exchanged;
    assert.equal(closed, true);
    const expected = [400, ...Array(3).fill(200), ...Array(4).fill(503)];
    assert.deepEqual(
      replies.map(({ status }) => status),
      expected,
    );
    for (const reply of replies.slice(4)) assertRefused(reply, 'capacity_unavailable');
    await underWay(0);
  });

  test('that ends frees all of its calls, those behind another too', async () => {
    const answer = hold();
    const socket = open(chatLines() + lines('GET', '/v1/models').repeat(3));
    await underWay(4);
    socket.destroy();
    await underWay(0);
    answer();
  });

  test('on which nobody reads the reply is closed', async () => {
    const large = completion('x'.repeat(largeBytes), null);
    service.fake.behave.chat = () => ({ outcome: 'reply', reply: large });
    const socket = open(chatLines() + lines('GET', '/v1/models').repeat(3));
    await underWay(4);
    await underWay(0);
    assert.equal(socket.destroyed, false, 'the reader left by itself');
    socket.destroy();
    service.fake.behave = {};
  });

  test('on which little is read from time to time is closed too', async () => {
    const large = completion('x'.repeat(largeBytes), null);
    service.fake.behave.chat = () => ({ outcome: 'reply', reply: large });
    const socket = open(chatLines());
    await underWay(1);
    const sip = setInterval(() => socket.read(), 10);
    await underWay(0);
    clearInterval(sip);
    assert.equal(socket.destroyed, false, 'the reader left by itself');
    socket.resume();
    await until('nothing more comes', () => socket.closed || socket.bytesRead > largeBytes);
    assert.ok(socket.bytesRead < largeBytes, 'it was sent to its end');
    socket.destroy();
    service.fake.behave = {};
  });

  test('on which a call works longer than that stays open', async () => {
    const answer = hold();
    const reply = account.post('/v1/chat/completions', chat);
    const stalled = open(chatLines());
    await underWay(2);
    const begun = performance.now();
    await until('longer than that', () => performance.now() - begun > 2 * stallMs);
    await underWay(2);
    answer();
    assertRefused(await reply, 'invalid_input');
    stalled.destroy();
    await underWay(0);
  });
});

test('many refusals are a few lines in the log, with their number', async () => {
  const { base } = await service.another({ FAREBOX_IN_FLIGHT_MAX: '1' });
  const asked = service.fake.chats.length;
  const answer = hold();
  const held = account.post('/v1/chat/completions', chat, { base });
  const told = (reply: Reply) => assertRefused(reply, 'capacity_unavailable');
  await until('the slot is taken', () => service.fake.chats.length > asked);
  for (let i = 0; i < 40; i++) told(await service.call('GET', '/v1/models', { base }));
  const lines = service.log.filter((each) => each.includes('"in_flight":'));
  assert.equal(lines.length, 1, lines.join(''));
  const [line] = lines;
  assert.ok(line?.includes('calls refused: this process is full'), line);
  assert.ok(!line?.includes('stack'), line);
  answer();
  await held;
});

test('a key has a limited number of open chat calls, without effect on other keys', async () => {
  const { base } = await service.another({ FAREBOX_OPEN_CHATS: '2' });
  const other = await service.account();
  const call = ({ key }: TestAccount, headers: Record<string, string> = {}) =>
    service.call('POST', '/v1/chat/completions', { key, body: chat, base, headers });
  const answer = hold();
  const asked = service.fake.chats.length;
  // The second call only waits for the first.
  const headers = { 'idempotency-key': 'once' };
  const waiting = [call(account, headers), call(account, headers)];
  await until('both are open', () => service.fake.chats.length === asked + 1);
  const refused = await until('the bound is met', async () => {
    const reply = await account.post('/v1/chat/completions', {}, { base });
    return reply.status === 429 && reply;
  });
  const { details } = assertRefused(refused, 'rate_limited');
  assert.deepEqual(details, { open_chats_limit: 2 });
  assert.equal(refused.headers.get('retry-after'), '5');
  const balance = await service.balance(account);
  assertRefused(await call(account), 'rate_limited');
  assert.deepEqual(await service.balance(account), balance);
  assert.equal(service.fake.chats.length, asked + 1);
  const theirs = call(other);
  await until('the other key is served', () => service.fake.chats.length === asked + 2);
  answer();
  await Promise.all([...waiting, theirs]);
  service.fake.behave = {};
  assert.equal((await call(account)).status, 200);
});

describe('uploads that come slowly', () => {
  const text = { 'content-type': 'text/plain' };
  const upload = (key: string, base: string) =>
    service.call('POST', '/v1/files', { key, base, raw: 'a text', headers: text });
  const begin = (key: string, base: string) => {
    const head = ['POST /v1/files HTTP/1.1', 'Host: x', `Authorization: Key ${key}`];
    const type = ['Content-Type: text/plain', 'Content-Length: 5000', '', 'a text'];
    return open([...head, ...type].join('\r\n'), base);
  };
  const refusal = (key: string, base: string, status: number) =>
    until(`the answer is ${status}`, async () => {
      const reply = await upload(key, base);
      return reply.status === status && reply;
    });

  test('of one account are limited over all its keys, without effect on other accounts', async () => {
    const { base } = await service.another({ FAREBOX_OPEN_UPLOADS: '2' });
    const other = await service.account();
    const { account_id } = account;
    const { key } = await createKey(service.db, { account_id, name: 'two' });
    const sockets = [begin(account.key, base), begin(account.key, base)];
    const refused = await refusal(account.key, base, 429);
    const { details } = assertRefused(refused, 'rate_limited');
    assert.deepEqual(details, { open_uploads_limit: 2 });
    assert.equal(refused.headers.get('retry-after'), '5');
    const earlier = await traces(service);
    assertRefused(await upload(key, base), 'rate_limited');
    assert.deepEqual(await traces(service), earlier, 'nothing stays of what was refused');
    assert.equal((await upload(other.key, base)).status, 201);
    sockets[0]!.destroy();
    await refusal(account.key, base, 201);
    for (const socket of sockets) socket.destroy();
  });

  test('take a quarter of all places at most, and other calls have the rest', async () => {
    const { base } = await service.another({ FAREBOX_IN_FLIGHT_MAX: '8' });
    const [first, second, third] = [account, await service.account(), await service.account()];
    const sockets = [begin(first.key, base), begin(second.key, base)];
    const refused = await refusal(third.key, base, 503);
    assertRefused(refused, 'capacity_unavailable');
    const earlier = await traces(service);
    assertRefused(await upload(first.key, base), 'capacity_unavailable');
    assert.deepEqual(await traces(service), earlier);
    assert.equal((await service.call('GET', '/v1/models', { base })).status, 200);
    for (const socket of sockets) socket.destroy();
    await refusal(third.key, base, 201);
  });
});

test('the id of a call says nothing about how many there were', async () => {
  const seen = new Map<string, number>();
  for (let i = 0; i < 20; i++) {
    const { headers } = await service.call('GET', '/v1/models');
    const [, time, counter] = /^req_(\w{12})7(\w{11})\w{8}$/.exec(headers.get('x-request-id')!)!;
    // Ids of one millisecond are in order; every other one begins anywhere.
    seen.set(time!, Number.parseInt(counter!, 16));
  }
  const counters = [...seen.values()].sort((one, other) => one - other);
  assert.ok(counters.length > 5, 'too few moments');
  for (const [i, counter] of counters.slice(1).entries())
    assert.ok(counter - counters[i]! > 1_000, `${counter} follows ${counters[i]}`);
});
