import { after, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { accept } from '../../kit/fake.ts';
import { openEvents, type Events } from '../../kit/events.ts';
import { lookUps } from '../../kit/held.ts';
import { checkReply } from '../../kit/openapi.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { startService, type Service } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { requestIn, wake } from '../../kit/states.ts';
import { until } from '../../kit/until.ts';
import { exchange } from '../../kit/wire.ts';

/** GET …/status/stream: every change as an event, until the request is final. */

const { service, account } = withService({
  times: { keepAliveMs: 40, checkMs: 3_600_000, positionsMs: 3_600_000 },
});

interface OpenedStream {
  events: Events;
  /** The next event, checked by the OpenAPI document; null once the stream has ended. */
  next(): Promise<{ event: string; data: any } | null>;
}

async function open(id: string, base = service.base, key = account.key): Promise<OpenedStream> {
  const path = `/v1/requests/${id}/status/stream`;
  const events = await openEvents(base, path, { key });
  assert.equal(events.status, 200);
  const next = async () => {
    let found = await events.next();
    while (found?.comment !== undefined) found = await events.next();
    if (found === null) return null;
    const { event, data } = found;
    checkReply('GET', path, 200, events.headers, `event: ${event}\ndata: ${data}\n\n`);
    return { event, data: JSON.parse(data) };
  };
  return { events, next };
}

async function moved(id: string, behave: Service['fake']['behave']): Promise<void> {
  service.fake.behave = behave;
  await wake(service, id);
  await service.work();
  service.fake.behave = {};
}

describe('a stream', () => {
  test('sends the current status, each change, and ends with the final one', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    const stream = await open(id);
    const status = async () => (await account.get(`/v1/requests/${id}/status`)).body;
    const first = await stream.next();
    assert.deepEqual(first, { event: 'status', data: await status() });
    assert.equal(first?.data.status, 'IN_QUEUE');

    await moved(id, { start: (job) => ({ ...accept(service.fake, job), poll_after_ms: 60_000 }) });
    assert.equal((await stream.next())?.data.status, 'IN_PROGRESS');

    await moved(id, {
      poll: () => ({ state: 'running', progress: 0.25, logs: ['a', 'b'], poll_after_ms: 60_000 }),
    });
    const running = await stream.next();
    assert.deepEqual(running, { event: 'status', data: await status() });
    assert.equal(running?.data.progress, 0.25);
    assert.deepEqual(running?.data.logs, ['a', 'b']);

    await moved(id, {});
    const last = await stream.next();
    assert.deepEqual(last, { event: 'status', data: await status() });
    assert.equal(last?.data.status, 'COMPLETED');
    assert.equal(await stream.next(), null);
  });

  test('has the headers that keep proxies from buffering it', async () => {
    const { events } = await open(await requestIn(service, account, 'IN_QUEUE'));
    assert.equal(events.headers['content-type'], 'text/event-stream; charset=utf-8');
    assert.equal(events.headers['cache-control'], 'no-store');
    assert.equal(events.headers['x-accel-buffering'], 'no');
    assert.match(String(events.headers['x-request-id']), /^req_/);
    events.leave();
    await service.wakeAll();
    await service.work();
  });

  test('is kept alive by comments while nothing happens', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    const { events, next } = await open(id);
    assert.equal((await next())?.data.status, 'IN_QUEUE');
    for (let i = 0; i < 3; i++) {
      assert.deepEqual(await events.next(), { event: 'message', data: '', comment: 'keep-alive' });
    }
    await account.post(`/v1/requests/${id}/cancel`);
    assert.equal((await next())?.data.status, 'CANCELLED');
    assert.equal(await next(), null);
    assert.equal(await events.closed, true);
  });

  for (const state of ['COMPLETED', 'FAILED', 'CANCELLED'] as const) {
    test(`of a request that is ${state} sends this status and ends`, async () => {
      const stream = await open(await requestIn(service, account, state));
      assert.equal((await stream.next())?.data.status, state);
      assert.equal(await stream.next(), null);
    });
  }

  test('sends changes by another process', async () => {
    const other = await service.another();
    const id = await requestIn(service, account, 'IN_QUEUE');
    const stream = await open(id, other.base);
    await stream.next();
    await account.post(`/v1/requests/${id}/cancel`);
    assert.equal((await stream.next())?.data.status, 'CANCELLED');
    assert.equal(await stream.next(), null);
  });

  test('is sent to each listener', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    const streams = await Promise.all(Array.from({ length: 5 }, () => open(id)));
    for (const stream of streams) assert.equal((await stream.next())?.data.status, 'IN_QUEUE');
    streams[0]!.events.leave();
    await account.post(`/v1/requests/${id}/cancel`);
    for (const stream of streams.slice(1)) {
      assert.equal((await stream.next())?.data.status, 'CANCELLED');
      assert.equal(await stream.next(), null);
    }
  });

  test('gives its slot back when its reader leaves', async () => {
    const openNow = async () => (await service.app.metrics.streams.get()).values[0]?.value ?? 0;
    await until('the earlier ones are gone', async () => (await openNow()) === 0);
    const stream = await open(await requestIn(service, account, 'IN_QUEUE'));
    await stream.next();
    assert.equal(await openNow(), 1);
    stream.events.leave();
    await until('it is gone', async () => (await openNow()) === 0);
    await service.wakeAll();
    await service.work();
  });

  test('is not opened by the key of another account, nor without one', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    const path = `/v1/requests/${id}/status/stream`;
    const stranger = await service.account();
    assertRefused(await stranger.get(path), 'not_found');
    assertRefused(await service.call('GET', path), 'unauthorized');
    await account.post(`/v1/requests/${id}/cancel`);
  });

  test('asked for by HEAD is only its head, at once', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    const head = `HEAD /v1/requests/${id}/status/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\n`;
    const { replies, closed } = await exchange(
      service.base,
      `${head}Authorization: Key ${account.key}\r\n\r\n`,
    );
    assert.equal(closed, true);
    assert.equal(replies[0]?.status, 200);
    assert.match(replies[0]!.headers.get('content-type')!, /^text\/event-stream/);
    assert.equal(replies[0]?.text, '');
    await account.post(`/v1/requests/${id}/cancel`);
  });

  test('does not ask the database again for each listener', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    const streams = await Promise.all(Array.from({ length: 4 }, () => open(id)));
    for (const stream of streams) await stream.next();
    const earlier = await lookUps(service.app, 'status');
    const { key } = account;
    await service.call('POST', `/v1/requests/${id}/cancel`, { key, base: service.base });
    for (const stream of streams) await stream.next();
    assert.equal(
      (await lookUps(service.app, 'status')) - earlier,
      1,
      'the look-up of the cancel alone',
    );
  });
});

describe('a stream of a request that waits', () => {
  let own: Service;
  before(async () => {
    own = await startService({ times: { checkMs: 3_600_000, positionsMs: 50 } });
  });
  after(async () => {
    await own.audit();
    await own.stop();
  });

  test('sends the position in the queue at once and when it changes', async () => {
    const { key } = await own.account();
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      const call = { key, body: { prompt: 'x' }, base: own.base };
      ids.push((await own.call('POST', '/v1/queue/fake/image', call)).body.request_id);
    }
    const cancel = (id: string) => own.call('POST', `/v1/requests/${id}/cancel`, { key });
    const stream = await open(ids[2]!, own.base, key);
    const told: number[] = [];
    const toldPlace = async (place: number) => {
      for (;;) {
        const event = await stream.next();
        assert.equal(event?.data.status, 'IN_QUEUE');
        told.push(event.data.queue_position);
        if (told.at(-1) === place) return;
      }
    };
    await toldPlace(2);
    await cancel(ids[0]!);
    await toldPlace(1);
    await cancel(ids[1]!);
    await toldPlace(0);
    await cancel(ids[2]!);
    assert.equal((await stream.next())?.data.status, 'CANCELLED');
    assert.equal(await stream.next(), null);
    const moves = told.filter((place, i) => place !== told[i - 1]);
    assert.deepEqual(told, moves, 'a place that has not moved is not told again');
  });
});
