import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';

import type { StreamReply } from '../../src/lib/outbound/fetch.ts';
import { StreamedReply } from '../../src/lib/outbound/streamed-reply.ts';
import { assertFault, client, head, http, readAll, streamLimits, tcp, text } from './outbound.ts';

describe('stream', () => {
  test('hands chunks over as they come, not when the reply ends', async () => {
    let more = (): void => {};
    const server = await http((_req, res) => {
      res.write('one');
      more = () => res.end('two');
    });
    const reply = await client().stream({ url: server.url, ...streamLimits });
    assert.equal(reply.status, 200);
    const body = reply.body[Symbol.asyncIterator]();
    assert.equal(text((await body.next()).value), 'one');
    more();
    assert.equal(text((await body.next()).value), 'two');
    assert.equal((await body.next()).done, true);
    assert.equal((await body.next()).done, true);
  });

  test('brings a large body whole and in order', async () => {
    const large = Buffer.alloc(8 * 1024 * 1024, 'abcdefghijklmnopqrstuvwxyz0123456');
    const server = await http((_req, res) => res.end(large));
    const reply = await client().stream({
      url: server.url,
      idleTimeoutMs: 5000,
      maxBytes: large.length,
    });
    assert.ok(Buffer.from(await readAll(reply)).equals(large));
  });

  test('too_large: by its announced length, before a byte of it is read', async () => {
    const server = await http((_req, res) => res.end('x'.repeat(101)));
    await assertFault(
      client().stream({ url: server.url, idleTimeoutMs: 5000, maxBytes: 100 }),
      'too_large',
      true,
      200,
    );
  });

  test('too_large: by the bytes that really come, after those within the limit', async () => {
    const gone = Promise.withResolvers<void>();
    const server = await http((_req, res) => {
      res.on('close', () => gone.resolve());
      const drip = setInterval(() => res.write('x'.repeat(40)), 1);
      res.on('close', () => clearInterval(drip));
    });
    const reply = await client().stream({ url: server.url, idleTimeoutMs: 5000, maxBytes: 100 });
    let received = 0;
    const reading = (async () => {
      for await (const chunk of reply.body) received += chunk.length;
    })();
    await assertFault(reading, 'too_large', true, 200);
    assert.ok(received > 0 && received <= 100, `${received} bytes`);
    await gone.promise;
  });

  test('timeout: silence is bounded, before the head and between chunks', async () => {
    const server = await http((req, res) => {
      if (req.url === '/amid') res.write('one');
    });
    const call = { maxBytes: 100 };
    const never = client().stream({ url: `${server.url}/never`, idleTimeoutMs: 60, ...call });
    await assertFault(never, 'timeout', true);
    // Long enough for the sent bytes to arrive on a busy machine.
    const amid = { url: `${server.url}/amid`, idleTimeoutMs: 1500, ...call };
    const reply = await client().stream(amid);
    await assertFault(readAll(reply), 'timeout', true, 200);
  });

  test('slow single bytes outlive the idle limit, but not the deadline', async () => {
    const server = await http((_req, res) => {
      const drip = setInterval(() => res.write('.'), 10);
      res.on('close', () => clearInterval(drip));
    });
    const call = { url: server.url, idleTimeoutMs: 1000, timeoutMs: 1600, maxBytes: 1e6 };
    const begun = performance.now();
    const reply = await client().stream(call);
    await assertFault(readAll(reply), 'timeout', true, 200);
    const ranMs = performance.now() - begun;
    assert.ok(ranMs > 1500 && ranMs < 10_000, `${ranMs} ms`);
  });

  test('reset: the bytes before the break are handed over first', async () => {
    const server = await tcp((socket) => {
      socket.once('data', () => socket.end(`${head('content-length: 100\r\n')}hello`));
    });
    const reply = await client().stream({ url: server.url, ...streamLimits });
    const body = reply.body[Symbol.asyncIterator]();
    assert.equal(text((await body.next()).value), 'hello');
    await assertFault(body.next(), 'reset', true, 200);
    assert.equal((await body.next()).done, true);
  });

  test('leaving it, closing it and aborting it each end the call at the other side', async () => {
    const gone: Promise<unknown>[] = [];
    const server = await http((_req, res) => {
      gone.push(once(res, 'close'));
      res.write('one');
    });
    const left = await client().stream({ url: server.url, ...streamLimits });
    for await (const chunk of left.body) {
      assert.equal(text(chunk), 'one');
      break;
    }
    const shut = await client().stream({ url: server.url, ...streamLimits });
    shut.close();
    assert.equal(await readAll(shut), '');
    const abort = new AbortController();
    const aborted = await client().stream({
      url: server.url,
      signal: abort.signal,
      ...streamLimits,
    });
    const body = aborted.body[Symbol.asyncIterator]();
    await body.next();
    const next = body.next();
    abort.abort();
    await assertFault(next, 'aborted', true, 200);
    assert.equal(gone.length, 3);
    await Promise.all(gone);
  });

  test('a reply nobody reads is given up, and its connection with it', async () => {
    const gone = Promise.withResolvers<void>();
    const server = await http((_req, res) => {
      res.on('close', () => gone.resolve());
      res.write(Buffer.alloc(4 * 1024 * 1024));
    });
    await client().stream({ url: server.url, idleTimeoutMs: 1000, maxBytes: 1e9 });
    await gone.promise;
  });

  test('stops the sender while the reader is slow, and then continues', async () => {
    const calls: string[] = [];
    const controller = {
      aborted: false,
      paused: false,
      reason: null,
      abort: () => void calls.push('abort'),
      pause: () => void calls.push('pause'),
      resume: () => void calls.push('resume'),
    };
    const started = Promise.withResolvers<StreamReply>();
    const exchange = new StreamedReply('host', { maxBytes: 1e9 }, started.resolve, started.reject);
    assert.equal(exchange.begin(), true);
    exchange.onRequestStart(controller);
    exchange.onResponseStart(controller, 200, {});
    const body = (await started.promise).body[Symbol.asyncIterator]();
    const chunk = new Uint8Array(64 * 1024);
    for (let i = 0; i < 3; i++) exchange.onResponseData(controller, chunk);
    assert.deepEqual(calls, []);
    exchange.onResponseData(controller, chunk);
    assert.deepEqual(calls, ['pause']);
    for (let i = 0; i < 2; i++) await body.next();
    assert.deepEqual(calls, ['pause']);
    await body.next();
    assert.deepEqual(calls, ['pause', 'resume']);
    exchange.onResponseEnd();
    assert.equal((await body.next()).value?.length, chunk.length);
    assert.equal((await body.next()).done, true);
  });

  test('refuses to be started a second time, so nothing is sent twice', async () => {
    const controller = {
      aborted: false,
      paused: false,
      reason: null,
      abort() {},
      pause() {},
      resume() {},
    };
    const exchange = new StreamedReply(
      'host',
      { maxBytes: 1 },
      () => {},
      () => {},
    );
    exchange.begin();
    exchange.onRequestStart(controller);
    assert.throws(() => exchange.onRequestStart(controller), /not to be sent/);
  });
});
