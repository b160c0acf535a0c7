import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { usualTimes } from '../../../src/http/times.ts';
import { openEvents, type Events } from '../../kit/events.ts';
import { isLong } from '../../kit/long.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { startService, type Reply, type Service, type TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { exchange } from '../../kit/wire.ts';

/** Too many calls for a process, callers that are slow on purpose, and the view of a supervisor. */

const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hello' }], max_tokens: 1 };
const { service, account } = withService();

const gauge = async (metric: { get(): Promise<{ values: { value: number }[] }> }) =>
  (await metric.get()).values[0]?.value ?? 0;

async function submitted(): Promise<string> {
  const body = { prompt: 'x' };
  const reply = await account.post('/v1/queue/fake/image', body);
  return reply.body.request_id;
}

test('the bounds in time are those that callers are promised', () => {
  const { keepAliveMs, repeatWaitMs, webhookMs } = usualTimes;
  assert.deepEqual(
    { keepAliveMs, repeatWaitMs, webhookMs },
    { keepAliveMs: 15_000, repeatWaitMs: 10_000, webhookMs: 10_000 },
  );
});

test('many calls of an account at once, where five may be its share: five are made, the others told at once, nothing lost', async () => {
  const most = 5;
  const more = isLong ? 295 : 95;
  const { app, base } = await service.another({ FAREBOX_IN_FLIGHT_MAX: String(2 * most) });
  const gate = Promise.withResolvers<void>();
  service.fake.behave.chat = async () => {
    await gate.promise;
    return { outcome: 'rejected', message: 'that is enough' };
  };
  const earlier = await traces(service);
  const calls: Promise<Reply>[] = [];
  const call = () => account.post('/v1/chat/completions', chat, { base });
  while (calls.length < most) {
    calls.push(call());
    await until(
      'it is at work',
      () => service.fake.chats.length - Number(earlier.upstream_chats) === calls.length,
    );
  }
  try {
    const shed = await Promise.all(Array.from({ length: more }, call));
    for (const reply of shed) {
      // Refused because the process is full or, once the key is known, because the share is used
      // up.
      assertRefused(reply, reply.status === 503 ? 'capacity_unavailable' : 'rate_limited');
    }
    assert.equal((await service.call('GET', '/livez', { base })).status, 200);
    const { values } = await app.metrics.overload.get();
    assert.equal(
      values.reduce((sum, { value }) => sum + value, 0),
      more,
    );
  } finally {
    // The five calls were still open while the others got their answers.
    gate.resolve();
  }
  for (const reply of await Promise.all(calls)) assertRefused(reply, 'invalid_input');
  service.fake.behave = {};
  const later = await traces(service);
  assert.equal(Number(later.requests) - Number(earlier.requests), most);
  assert.deepEqual([later.reserved, later.charged], [earlier.reserved, earlier.charged]);
  assert.equal((await service.call('GET', '/v1/models', { base })).status, 200);
});

/** The next event, without the comments that come before it on a silent stream. */
async function told(events: Events): Promise<string> {
  let next = await events.next();
  while (next?.comment !== undefined) next = await events.next();
  return next!.data;
}

test('silent streams hold up nobody, are told a change, and are ended by a stop', async () => {
  const count = isLong ? 1_000 : 200;
  const { app, base } = await service.another({
    FAREBOX_IN_FLIGHT_MAX: '80',
    FAREBOX_STREAMS_MAX: String(2 * count),
  });
  const changing = await submitted();
  const staying = await submitted();
  const before = process.memoryUsage().rss;
  const all: Events[] = [];
  while (all.length < count) {
    const opening = Array.from({ length: 20 }, (_, i) =>
      openEvents(
        base,
        `/v1/requests/${(all.length + i) % 2 === 0 ? changing : staying}/status/stream`,
        { key: account.key },
      ),
    );
    all.push(...(await Promise.all(opening)));
  }
  for (const events of all) assert.match((await events.next())!.data, /"IN_QUEUE"/);
  assert.equal(await gauge(app.metrics.streams), count);
  await until('they leave their places', async () => (await gauge(app.metrics.inFlight)) === 0);
  // This process has both ends of each stream.
  assert.ok(process.memoryUsage().rss - before < 200 * 1024 * 1024, 'they take too much memory');
  const one = await account.get(`/v1/requests/${changing}/status/stream`, { base });
  assertRefused(one, 'rate_limited');
  assert.equal((await account.get(`/v1/requests/${staying}/status`, { base })).status, 200);
  await account.post(`/v1/requests/${changing}/cancel`, undefined, { base });
  for (const [i, events] of all.entries()) {
    if (i % 2 === 0) assert.match(await told(events), /"CANCELLED"/);
  }
  await until(
    'half of them are over',
    async () => (await gauge(app.metrics.streams)) === count / 2,
  );
  const stopped = app.stop(5_000);
  for (const events of all) {
    const last = await events.rest();
    assert.equal(await events.closed, true);
    assert.ok(last.length === 0 || last.at(-1)!.event === 'end');
  }
  await stopped;
  assert.equal(await gauge(app.metrics.streams), 0);
});

describe('callers that take their time', () => {
  let strict: Service;
  let caller: TestAccount;
  before(async () => {
    const times = { headersMs: 200, connectionsCheckMs: 50, bodyMs: 200, lingerMs: 50 };
    strict = await startService({ times });
    caller = await strict.account();
  });
  after(() => strict.stop());

  const slow: [name: string, bytes: string, status: number][] = [
    ['half a head', 'GET /v1/models HTTP/1.1\r\nhost: x\r\nx-a: ', 408],
    ['half a first line', 'GET /v1/mo', 408],
  ];
  for (const [name, bytes, status] of slow) {
    test(`${name}, and no more: cut off`, async () => {
      const { replies, closed } = await exchange(strict.base, bytes);
      assert.equal(closed, true, 'the connection was kept');
      assert.deepEqual(
        replies.map((reply) => [reply.status, reply.body.error.code]),
        [[status, 'bad_request']],
      );
    });
  }

  test('a connection on which nothing is said: cut off', async () => {
    assert.equal((await exchange(strict.base, '')).closed, true);
  });

  test('a body that comes byte by byte: cut off, whatever comes in time', async () => {
    const earlier = await traces(strict);
    for (const path of ['/v1/chat/completions', '/v1/queue/fake/image', '/v1/estimate']) {
      const socket = dripping(
        `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Key ${caller.key}\r\n` +
          'content-type: application/json\r\ncontent-length: 100000\r\n\r\n{"prompt":"',
      );
      const begun = performance.now();
      const text = await closedText(socket);
      assert.match(text, /^HTTP\/1\.1 400 [^]*too slowly/, path);
      assert.ok(performance.now() - begun < 10_000);
    }
    assert.deepEqual(await traces(strict), earlier);
  });

  test('a hundred of them at once: cut off, and others are served meanwhile', async () => {
    const all = Array.from({ length: 100 }, () => exchange(strict.base, slow[0]![1]));
    assert.equal((await strict.call('GET', '/v1/models')).status, 200);
    assert.ok((await Promise.all(all)).every(({ closed }) => closed));
  });

  function dripping(head: string): Socket {
    const { hostname, port } = new URL(strict.base);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(head);
    const timer = setInterval(() => socket.write('x'), 10);
    socket.once('close', () => clearInterval(timer));
    return socket;
  }

  function closedText(socket: Socket): Promise<string> {
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString()));
    return new Promise((resolve) => socket.once('close', () => resolve(text)));
  }
});

describe('/metrics', () => {
  const token = 'a token for the metrics';
  const read = (base: string, authorization?: string) =>
    service.call('GET', '/metrics', { base, headers: authorization ? { authorization } : {} });

  test('tells what an operator has to know, and no secret', async () => {
    await account.post('/v1/chat/completions', chat);
    await submitted();
    await service.work();
    const reply = await read(service.base);
    assert.equal(reply.status, 200);
    assert.match(reply.headers.get('content-type')!, /^text\/plain\b/);
    const lines = [
      /^farebox_http_request_seconds_count\{route="\/v1\/chat\/completions",status="200"\} [1-9]\d*$/m,
      /^farebox_worker_step_seconds_count\{step="start",result="ok"\} [1-9]\d*$/m,
      /^farebox_batch_size_count\{batch="books"\} [1-9]\d*$/m,
      /^farebox_open_streams 0$/m,
      /^farebox_in_flight_calls \d+$/m,
      /^# TYPE farebox_books_ok gauge$/m,
      /^# TYPE farebox_overload_total counter$/m,
      /^# TYPE farebox_fenced_writes_total counter$/m,
      /^farebox_process_resident_memory_bytes \d+$/m,
    ];
    // The text is long, so a failure shows only the missing line.
    for (const line of lines) assert.ok(line.test(reply.text), String(line));
    assert.equal(/fbx_|whsec_|example\.com|secret/.exec(reply.text), null);
    // A route, never a path: each id in a path would be a series of its own.
    assert.equal(/route="[^"]*[0-9a-f]{8}-/.exec(reply.text), null);
  });

  test('with a token: for whoever has it, on this machine too', async () => {
    const { base } = await service.another({ FAREBOX_METRICS_TOKEN: token });
    assert.equal((await read(base, `Bearer ${token}`)).status, 200);
    const wrong = [
      undefined,
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      `Key ${token}`,
      `bearer ${token}`,
      token,
      'Bearer ',
    ];
    for (const authorization of wrong) {
      assertRefused(await read(base, authorization), 'forbidden', { about: authorization });
    }
  });

  test('not for a page that a browser on this machine has open under a name of its own', async () => {
    const { port } = new URL(service.base);
    const ask = (host: string) =>
      exchange(service.base, `GET /metrics HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    for (const host of [`evil.example:${port}`, `127.0.0.1.evil.example:${port}`, 'localhost.evil'])
      assert.equal((await ask(host)).replies[0]?.status, 403, host);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, 'localhost'])
      assert.equal((await ask(host)).replies[0]?.status, 200, host);
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((entry) => entry && !entry.internal && entry.family === 'IPv4')?.address;
  const skip = outside === undefined && 'this machine has no address but its own loop';
  test('without a token: for this machine’s own callers only', { skip }, async () => {
    const open = await service.another({ HOST: '0.0.0.0' });
    const { port } = new URL(open.base);
    assert.equal((await read(open.base)).status, 200);
    const far = `http://${outside}:${port}`;
    assertRefused(await read(far), 'forbidden');
    const headers = {
      'x-forwarded-for': '127.0.0.1',
      'x-real-ip': '127.0.0.1',
      forwarded: 'for=127.0.0.1',
    };
    assertRefused(await service.call('GET', '/metrics', { base: far, headers }), 'forbidden');
    assert.equal((await service.call('GET', '/livez', { base: far })).status, 200);
  });
});
