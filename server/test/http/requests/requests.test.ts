import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { tinyPng } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { Reply } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { requestIn, states, wake, type State } from '../../kit/states.ts';
import { traces } from '../../kit/traces.ts';

/** A request in each of its states, as callers see it, and their actions. */

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ids = {} as Record<State, string>;

const { service, account } = withService({ env: { FAREBOX_OPEN_JOBS: '1000' } });
before(async () => {
  // Queued requests come last, because the worker that the others need would start them.
  for (const state of [
    'COMPLETED',
    'FAILED',
    'CANCELLED',
    'IN_PROGRESS',
    'IN_QUEUE',
    'claimed',
  ] as const) {
    ids[state] = await requestIn(service, account, state);
  }
});

function get(id: string, rest = ''): Promise<Reply> {
  return account.get(`/v1/requests/${id}${rest}`);
}

function links(id: string) {
  const base = `${service.app.baseUrl}/requests/${id}`;
  return {
    status_url: `${base}/status`,
    response_url: `${base}/response`,
    cancel_url: `${base}/cancel`,
  };
}

const publicName = (state: State) => (state === 'claimed' ? 'IN_QUEUE' : state);
const isOpen = (state: State) => ['IN_QUEUE', 'claimed', 'IN_PROGRESS'].includes(state);

describe('the status', () => {
  for (const state of states) {
    test(`of a request that is ${state}`, async () => {
      const id = ids[state];
      const { status, headers, body } = await get(id, '/status');
      assert.equal(status, 200);
      assert.equal(body.status, publicName(state));
      assert.equal(headers.get('retry-after'), isOpen(state) ? '2' : null);
      const { request_id, model_id, status_url, response_url, cancel_url } = body;
      const fixed = { request_id, model_id, status_url, response_url, cancel_url };
      assert.deepEqual(fixed, { request_id: id, model_id: 'fake/image', ...links(id) });
      assert.match(body.created_at, time);
      const started = ['IN_PROGRESS', 'COMPLETED', 'FAILED'].includes(state);
      assert.equal('started_at' in body, started);
      assert.equal('completed_at' in body, !isOpen(state));
      assert.equal('queue_position' in body, publicName(state) === 'IN_QUEUE');
      assert.equal('metrics' in body, started);
      if (started) assert.ok(body.metrics.queue_ms >= 0 && body.created_at <= body.started_at);
      if (started && !isOpen(state)) assert.ok(body.metrics.run_ms >= 0);
    });
  }

  test('shows the progress and the lines of the model', async () => {
    const { body } = await get(ids.IN_PROGRESS, '/status');
    assert.equal(body.progress, 0.5);
    assert.deepEqual(body.logs, ['half']);
    const { body: done } = await get(ids.COMPLETED, '/status');
    assert.ok(!('progress' in done) && !('logs' in done));
  });

  test('tells why it failed', async () => {
    const { body } = await get(ids.FAILED, '/status');
    assert.deepEqual(body.error, { code: 'upstream_failed', message: 'out of paint' });
    const { body: done } = await get(ids.COMPLETED, '/status');
    assert.ok(!('error' in done));
  });
});

describe('the card', () => {
  const charged: Record<State, string | null> = {
    IN_QUEUE: null,
    claimed: null,
    IN_PROGRESS: null,
    COMPLETED: '20000',
    FAILED: '0',
    CANCELLED: '0',
  };
  for (const state of states) {
    test(`of a request that is ${state} has exactly the documented fields`, async () => {
      const id = ids[state];
      const { status, body } = await get(id);
      assert.equal(status, 200);
      const { created_at, started_at, completed_at, expires_at, output_urls, error, ...rest } =
        body;
      assert.deepEqual(rest, {
        request_id: id,
        model_id: 'fake/image',
        kind: 'image',
        cancel_requested_at: null,
        status: publicName(state),
        quoted_usd_micro: '20000',
        charged_usd_micro: charged[state],
        price: { unit: 'image', unit_price_usd_micro: '10000', quantity: 2 },
        input: { prompt: 'a cat', num_images: 2 },
        metadata: {},
        call_id: `req_${id.replaceAll('-', '')}`,
        caller_id: null,
        webhook: null,
        ...links(id),
        key_id: account.key_id,
      });
      assert.match(created_at, time);
      const started = ['IN_PROGRESS', 'COMPLETED', 'FAILED'].includes(state);
      assert.equal(started_at === null, !started);
      assert.equal(completed_at === null, isOpen(state));
      assert.equal(output_urls.length, state === 'COMPLETED' ? 2 : 0);
      assert.deepEqual(
        error,
        state === 'FAILED' ? { code: 'upstream_failed', message: 'out of paint' } : null,
      );
      const day = Math.floor(Date.parse(completed_at) / 1000) * 1000 + 24 * 3600_000;
      assert.equal(expires_at, state === 'COMPLETED' ? new Date(day).toISOString() : null);
    });
  }

  test('links to outputs that anyone may fetch', async () => {
    const { body } = await get(ids.COMPLETED);
    for (const [i, url] of body.output_urls.entries()) {
      const { pathname, search } = new URL(url);
      assert.equal(pathname, `/v1/requests/${ids.COMPLETED}/output/${i}`);
      assert.match(search, /^\?exp=\d+&sig=[\w-]{43}$/);
      const output = await service.call('GET', `${pathname}${search}`);
      assert.deepEqual(output.bytes, tinyPng);
    }
  });
});

describe('the response', () => {
  for (const state of states.filter((each) => each !== 'COMPLETED')) {
    test(`of a request that is ${state} is not there: 409`, async () => {
      const { details, message } = assertRefused(
        await get(ids[state], '/response'),
        'request_not_ready',
      );
      const error = { code: 'upstream_failed', message: 'out of paint' };
      assert.deepEqual(details, {
        status: publicName(state),
        ...(state === 'FAILED' && { error }),
      });
      assert.match(message, isOpen(state) ? /status_url/ : /Nothing was charged/);
    });
  }

  test("of a completed request is the model's output with our links", async () => {
    const { status, body } = await get(ids.COMPLETED, '/response');
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(body).sort(), ['images', 'seed']);
    assert.equal(body.seed, 7);
    const { body: card } = await get(ids.COMPLETED);
    const tail = ids.COMPLETED.slice(-12);
    const expected = [0, 1].map((i) => ({
      url: card.output_urls[i],
      content_type: 'image/png',
      width: 1,
      height: 1,
      file_size: tinyPng.length,
      file_name: `${tail}-${i}.png`,
    }));
    assert.deepEqual(body.images, expected);
  });
});

describe('an outcome', () => {
  test('shows the actual charge if less was delivered than requested', async () => {
    const own = await service.account();
    const { body } = await own.post('/v1/queue/fake/image', { prompt: 'x', num_images: 4 });
    await service.work();
    await wake(service, body.request_id);
    await service.work();
    const card = await own.get(`/v1/requests/${body.request_id}`);
    assert.equal(card.body.status, 'COMPLETED');
    assert.equal(card.body.quoted_usd_micro, '40000');
    assert.equal(card.body.charged_usd_micro, '10000');
    assert.equal(card.body.price.quantity, 1);
    assert.deepEqual(await service.balance(own), { available: 99_990_000n, reserved: 0n });
  });

  test('is charged and shown for ever, its outputs only for a day', async () => {
    const own = await service.account();
    const id = await requestIn(service, own, 'COMPLETED');
    const read = (rest = '') => own.get(`/v1/requests/${id}${rest}`);
    assert.equal((await read('/response')).status, 200);
    const aDayLess = `update requests set completed_at = completed_at - interval '1 day' where id = $1`;
    await service.db.run(rawSql(aDayLess, [id]));
    assertRefused(await read('/response'), 'expired');
    assertRefused(await read('/output/0'), 'expired');
    const { status, body } = await read();
    assert.equal(status, 200);
    assert.equal(body.charged_usd_micro, '20000');
    assert.ok(Date.parse(body.expires_at) <= Date.now());
  });
});

describe('a cancel', () => {
  for (const method of ['POST', 'PUT']) {
    for (const state of ['IN_QUEUE', 'claimed'] as const) {
      test(`by ${method} of a request that is ${state} releases all of it`, async () => {
        const own = await service.account();
        const id = await requestIn(service, own, state);
        const starts = service.fake.starts.length;
        assert.deepEqual(await service.balance(own), { available: 99_980_000n, reserved: 20_000n });
        const reply = await service.call(method, `/v1/requests/${id}/cancel`, { key: own.key });
        assert.equal(reply.status, 200);
        assert.deepEqual(reply.body, { request_id: id, status: 'CANCELLED' });
        assert.deepEqual(await service.balance(own), { available: 100_000_000n, reserved: 0n });
        await wake(service, id);
        await service.work();
        const { body } = await own.get(`/v1/requests/${id}`);
        assert.equal(body.status, 'CANCELLED');
        assert.equal(body.charged_usd_micro, '0');
        assert.ok(!service.fake.starts.slice(starts).some(({ request_id }) => request_id === id));
      });
    }

    for (const state of ['IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'] as const) {
      test(`by ${method} of a request that is ${state} is refused, and changes nothing`, async () => {
        const [earlier, card] = [await traces(service), (await get(ids[state])).text];
        const reply = await service.call(method, `/v1/requests/${ids[state]}/cancel`, {
          key: account.key,
        });
        assert.deepEqual(assertRefused(reply, 'not_cancellable').details, { status: state });
        assert.deepEqual(await traces(service), earlier);
        assert.equal((await get(ids[state])).text, card);
      });
    }
  }

  test('of many at once succeeds once', async () => {
    const own = await service.account();
    const id = await requestIn(service, own, 'IN_QUEUE');
    const { base } = await service.another();
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        service.call(i % 3 === 0 ? 'PUT' : 'POST', `/v1/requests/${id}/cancel`, {
          key: own.key,
          base: i % 2 === 0 ? base : service.base,
        }),
      ),
    );
    assert.equal(replies.filter(({ status }) => status === 200).length, 1);
    for (const reply of replies.filter(({ status }) => status !== 200)) {
      assert.deepEqual(assertRefused(reply, 'not_cancellable').details, { status: 'CANCELLED' });
    }
    assert.deepEqual(await service.balance(own), { available: 100_000_000n, reserved: 0n });
  });

  test('needs no body, and reads none', async () => {
    for (const raw of ['', '{}', '{{{ not json']) {
      const own = await service.account();
      const id = await requestIn(service, own, 'IN_QUEUE');
      const headers = { 'content-type': 'application/json' };
      const reply = await service.call('POST', `/v1/requests/${id}/cancel`, {
        key: own.key,
        raw,
        headers,
      });
      assert.equal(reply.status, 200, raw);
    }
  });

  test('of a chat call is refused: it is under way at once', async () => {
    const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
    const { body } = await account.post('/v1/chat/completions', chat);
    const id = body.id.replace('chatcmpl-', '');
    const reply = await account.post(`/v1/requests/${id}/cancel`);
    assertRefused(reply, 'not_cancellable');
  });
});

describe('an id', () => {
  const odd = [
    'x',
    '0',
    '-1',
    'null',
    'status',
    '00000000-0000-0000-0000-000000000000',
    'IN_QUEUE%00',
    "1'%20or%20'1'='1",
    '%F0%9F%98%80',
    'a'.repeat(500),
  ];
  for (const id of odd) {
    test(`that is invalid is not found: ${id.slice(0, 40)}`, async () => {
      for (const rest of ['', '/status', '/status/stream', '/response', '/output/0']) {
        assertRefused(await get(id, rest), 'not_found', { about: rest });
      }
      for (const method of ['POST', 'PUT']) {
        assertRefused(
          await service.call(method, `/v1/requests/${id}/cancel`, { key: account.key }),
          'not_found',
        );
      }
    });
  }

  test('may be written in capitals', async () => {
    const id = ids.COMPLETED;
    const loud = id.toUpperCase();
    for (const rest of ['', '/status', '/response', '/output/0']) {
      assert.equal((await get(loud, rest)).status, 200, rest);
    }
    assert.equal((await get(loud)).body.request_id, id);
    const path = `/v1/requests/${loud}/cancel`;
    const reply = await account.post(path);
    assertRefused(reply, 'not_cancellable');
  });

  test('has no other spelling', async () => {
    const id = ids.COMPLETED;
    for (const other of [id.replaceAll('-', ''), `{${id}}`, `urn:uuid:${id}`, `${id}%20`]) {
      assertRefused(await get(other), 'not_found', { about: other });
    }
  });
});
