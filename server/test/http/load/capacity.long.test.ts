import { describe, test } from 'node:test';
import { request } from 'node:http';
import assert from 'node:assert/strict';
import { held } from '../../kit/held.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply, Service } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { traces } from '../../kit/traces.ts';
import { until } from '../../kit/until.ts';
import { exchange } from '../../kit/wire.ts';

/** The load that a process takes at once, and its behaviour when it is about to stop. */

const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
const { service, account } = withService();

async function submitted(): Promise<string> {
  const reply = await account.post('/v1/queue/fake/image', { prompt: 'x' });
  return reply.body.request_id;
}

function get(path: string, base: string): Promise<Reply> {
  return account.get(path, { base });
}

function authorized() {
  return { headers: { authorization: `Key ${account.key}` } };
}

/**
 * Waits until so many calls are open. A call counts for a moment after its caller has the reply.
 */
async function underWay(app: Service['app'], count: number): Promise<void> {
  await until(`${count} calls are under way`, async () => {
    return ((await app.metrics.inFlight.get()).values[0]?.value ?? 0) === count;
  });
}

/** A chat call that stays open until `answer` is called. */
async function heldChat(base: string): Promise<{ answer: () => void; reply: Promise<Reply> }> {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  service.fake.behave.chat = async () => {
    asked.resolve();
    await gate.promise;
    return { outcome: 'rejected', message: 'that is enough' };
  };
  const reply = account.post('/v1/chat/completions', chat, { base });
  await asked.promise;
  service.fake.behave = {};
  return { answer: gate.resolve, reply };
}

describe('open calls', () => {
  test("above the limit are refused at once, except a supervisor's", async () => {
    const { app, base } = await service.another({ FAREBOX_IN_FLIGHT_MAX: '1' });
    const chatting = await heldChat(base);
    const earlier = await traces(service);
    for (const [method, path] of [
      ['GET', '/v1/models'],
      ['POST', '/v1/queue/fake/image'],
      ['GET', '/v1/none'],
    ]) {
      const reply = await service.call(method!, path!, {
        key: account.key,
        base,
        ...(method === 'POST' && { body: {} }),
      });
      assertRefused(reply, 'capacity_unavailable', { about: path! });
    }
    assert.deepEqual(await traces(service), earlier);
    for (const path of ['/livez', '/readyz', '/metrics']) {
      assert.equal((await service.call('GET', path, { base })).status, 200, path);
    }
    const whole = await exchange(
      base,
      `GET ${base}/v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(whole.replies[0]?.status, 503);
    chatting.answer();
    await chatting.reply;
    await underWay(app, 0);
    assert.equal((await get('/v1/models', base)).status, 200);
  });

  test('that only wait take no place from those that work', async () => {
    const { app, base } = await service.another({ FAREBOX_IN_FLIGHT_MAX: '4' });
    const id = await submitted();
    const path = `/v1/requests/${id}/status`;
    const start = () => get(`${path}?wait=30`, base);
    const waiting = [];
    for (let i = 0; i < 3; i++) waiting.push(await held(app, start, () => get(path, base)));
    const stream = await fetch(`${base}${path}/stream`, authorized());
    await underWay(app, 0);
    assert.equal((await get('/v1/models', base)).status, 200);
    await account.post(`/v1/requests/${id}/cancel`, undefined, { base });
    for (const { reply } of waiting) assert.equal((await reply).body.status, 'CANCELLED');
    assert.match(await stream.text(), /"CANCELLED"/);
    // If a place had been freed twice, a third call would get through.
    await underWay(app, 0);
    const chatting = [await heldChat(base), await heldChat(base)];
    assertRefused(await get('/v1/balance', base), 'rate_limited');
    for (const { answer } of chatting) answer();
    await Promise.all(chatting.map(({ reply }) => reply));
  });
});

describe('calls that wait', () => {
  test('above the limit: a stream is refused, a wait is answered at once', async () => {
    const { base } = await service.another({ FAREBOX_STREAMS_MAX: '1' });
    const path = `/v1/requests/${await submitted()}/status`;
    const first = await fetch(`${base}${path}/stream`, authorized());
    assert.equal(first.status, 200);
    assertRefused(await get(`${path}/stream`, base), 'rate_limited');
    const begun = performance.now();
    assert.equal((await get(`${path}?wait=30`, base)).body.status, 'IN_QUEUE');
    assert.ok(performance.now() - begun < 10_000, 'the wait was held');
    await first.body?.cancel();
    await until('the slot is free again', async () => {
      const reply = await fetch(`${base}${path}/stream`, authorized());
      await reply.body?.cancel();
      return reply.status === 200;
    });
  });
});

describe('a process that is about to stop', () => {
  /** A submit whose body is held back until the stop has begun. */
  async function submitDuringStop(headers: Record<string, string>, body: string): Promise<Reply> {
    const { app, base } = await service.another();
    const gate = Promise.withResolvers<void>();
    const raw = new ReadableStream({
      async start(controller) {
        controller.enqueue(Buffer.from(body.slice(0, 1)));
        await gate.promise;
        controller.enqueue(Buffer.from(body.slice(1)));
        controller.close();
      },
    });
    const type = { 'content-type': 'application/json', ...headers };
    const reply = service.call('POST', '/v1/queue/fake/image', {
      key: account.key,
      base,
      raw,
      headers: type,
    });
    await underWay(app, 1);
    const stopped = app.stop(5_000);
    gate.resolve();
    const answered = await reply;
    const begun = performance.now();
    await stopped;
    assert.ok(performance.now() - begun < 4_000, 'a connection without a call held up the stop');
    return answered;
  }

  test('finishes the call it has and takes no new job', async () => {
    const earlier = await traces(service);
    const reply = await submitDuringStop({}, '{"prompt":"x"}');
    assertRefused(reply, 'capacity_unavailable');
    assert.match(reply.body.error.message, /about to stop/);
    assert.deepEqual(await traces(service), earlier);
  });

  test('still answers the repeat of an earlier submit', async () => {
    const headers = { 'idempotency-key': 'before-the-stop' };
    const first = await account.post('/v1/queue/fake/image', { prompt: 'x' }, { headers });
    const again = await submitDuringStop(headers, '{"prompt":"x"}');
    assert.equal(again.status, 200);
    assert.equal(again.body.request_id, first.body.request_id);
  });

  test('answers waiting calls, and ends streams with an event', async () => {
    const { app, base } = await service.another();
    const path = `/v1/requests/${await submitted()}/status`;
    const stream = await fetch(`${base}${path}/stream`, authorized());
    const waiting = await held(
      app,
      () => get(`${path}?wait=60`, base),
      () => get(path, base),
    );
    const begun = performance.now();
    const stopped = app.stop(5_000);
    assert.equal((await waiting.reply).body.status, 'IN_QUEUE');
    const text = await stream.text();
    await stopped;
    assert.ok(performance.now() - begun < 4_000, 'the stop waited for its callers');
    const [first, last] = text.split('\n\n');
    assert.match(first!, /^event: status\ndata: \{.*"IN_QUEUE".*\}$/);
    assert.match(last!, /^event: end\ndata: \{"reason":"draining".*\}$/);
    await assert.rejects(fetch(`${base}/livez`));
  });
});

describe('bytes of open bodies', () => {
  const megabyte = 1024 * 1024;
  /** A body of so many bytes that reserves nothing. */
  const body = (bytes: number) =>
    `{"model_id":"fake/none","input":{},"pad":"${'x'.repeat(bytes - 46)}"}`;

  test('are limited for each account until their calls are over', async () => {
    const limit = { FAREBOX_BODIES_MAX_BYTES: String(16 * megabyte) };
    const { base } = await service.another(limit);
    const other = await service.account();
    const send = (raw: string, key = account.key) =>
      service.call('POST', '/v1/chat/completions', {
        key,
        base,
        raw,
        headers: { 'content-type': 'application/json' },
      });
    const begin = () => begun(base, account.key, Buffer.from(body(3 * megabyte)));
    let first = begin();
    const earlier = await traces(service);
    await until(
      'what has come of it counts',
      async () => {
        // This call may itself have been refused while its parts were still arriving.
        if (first.isOver()) first = begin();
        const { status } = await send(body(2 * megabyte));
        return status === 429 && !first.isOver();
        // Megabytes take a while if every core is busy.
      },
      20_000,
    );
    // The account's own share is used up, not the whole budget.
    const error = assertRefused(await send(body(2 * megabyte)), 'rate_limited', {});
    assert.match(error.message, /^The bodies of this account's open calls have \d+ bytes/);
    assert.ok(error.details.held >= 2 * megabyte);
    assert.equal((await send(body(2 * megabyte), other.key)).status, 400);
    assert.equal(await first.end(), 400);
    await until('they are given back', async () => (await send(body(2 * megabyte))).status === 400);
    assert.deepEqual(await traces(service), earlier);
  });

  test('within their limit still may not hold a million values', async () => {
    const raw = `{"pad":[${'[],'.repeat(200_000)}[]]}`;
    const headers = { 'content-type': 'application/json' };
    const { key } = account;
    const reply = await service.call('POST', '/v1/chat/completions', { key, raw, headers });
    assertRefused(reply, 'bad_request', {});
    assert.match(reply.body.error.message, /too many values; at most 100000 /);
  });
});

/** A call whose last byte is missing. `end` sends the byte and returns the status. */
function begun(base: string, key: string, bytes: Buffer) {
  let isOver = false;
  const call = request(new URL('/v1/chat/completions', base), {
    method: 'POST',
    headers: {
      authorization: `Key ${key}`,
      'content-type': 'application/json',
      'content-length': bytes.length,
    },
  });
  const status = new Promise<number>((resolve, reject) => {
    call.once('response', (reply) => {
      isOver = true;
      reply.resume();
      resolve(reply.statusCode!);
    });
    call.once('error', reject);
  });
  status.catch(() => {});
  call.write(bytes.subarray(0, -1));
  return {
    isOver: () => isOver,
    end(): Promise<number> {
      call.end(bytes.subarray(-1));
      return status;
    },
  };
}
