import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import type { FalClient, QueueStatus } from '@fal-ai/client';
import { accept, images } from '../../kit/fake.ts';
import { before, withService } from '../../kit/with-service.ts';
import { wake } from '../../kit/states.ts';
import { until } from '../../kit/until.ts';
import { serveHttp, type LocalServer } from '../../lib/local-server.ts';
import { carefulFalClient, falCatalog, falClient } from './fal-kit.ts';

/** The unmodified client of fal, with only its addresses redirected. */

let fal: FalClient;
let receiver: LocalServer;
const hooks: Record<string, any>[] = [];

const { service, account } = withService(async (use) => {
  receiver = use(
    await serveHttp(async (req, res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      hooks.push(JSON.parse(Buffer.concat(chunks).toString()));
      res.end();
    }),
  );
  return {
    catalog: falCatalog,
    env: { FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${receiver.port}` },
  };
});
before(async () => {
  fal = falClient(service.base, account.key);
});

const model = 'fake/image';
const input = { prompt: 'a lighthouse' };

/** Lets jobs run until `over` is called. */
function slow(): { over: () => void } {
  let isOver = false;
  service.fake.behave = {
    start: (job) => ({ ...accept(service.fake, job), poll_after_ms: 60_000 }),
    poll: () =>
      isOver
        ? { state: 'done', result: images(1) }
        : { state: 'running', progress: 0.5, logs: ['mixing', 'painting'], poll_after_ms: 60_000 },
  };
  return { over: () => void (isOver = true) };
}

async function look(requestId: string): Promise<void> {
  await wake(service, requestId);
  await service.work();
}

/**
 * Takes a job from the queue to its end as the updates come: each step once the last was seen, and
 * its lines too where they are asked for.
 */
function stage({ logs = false } = {}) {
  const job = slow();
  const seen: QueueStatus[] = [];
  let id = '';
  const moves: Record<string, () => Promise<void>> = {
    async IN_QUEUE() {
      await service.work();
      await look(id);
    },
    async IN_PROGRESS() {
      job.over();
      await look(id);
    },
  };
  return {
    seen,
    words: () => [...new Set(seen.map(({ status }) => status))],
    async play(requestId: string) {
      id = requestId;
      for (const word of ['IN_QUEUE', 'IN_PROGRESS']) {
        const isSeen = (update: QueueStatus) =>
          update.status === word && (!logs || word !== 'IN_PROGRESS' || linesOf(update).length > 0);
        await until(`${word} is seen`, () => seen.some(isSeen));
        await moves[word]!();
      }
      service.fake.behave = {};
    },
  };
}

async function card(requestId: string) {
  return (await account.get(`/v1/requests/${requestId}`)).body;
}

describe('subscribe', () => {
  for (const mode of ['polling', 'streaming'] as const) {
    test(`brings a job to its pictures by ${mode}, with its states and its lines on the way`, async () => {
      const { seen, words, play } = stage({ logs: true });
      let played: Promise<void> | undefined;
      const { data, requestId } = await fal.subscribe(model, {
        input,
        logs: true,
        mode,
        ...(mode === 'polling' && { pollInterval: 10 }),
        onEnqueue: (id) => void (played = play(id)),
        onQueueUpdate: (update) => void seen.push(update),
      } as Parameters<typeof fal.subscribe>[1]);
      await played;
      assert.deepEqual(words(), ['IN_QUEUE', 'IN_PROGRESS', 'COMPLETED']);
      const [picture] = data.images;
      const { status, bytes } = await service.call('GET', picture.url);
      assert.equal(status, 200);
      assert.equal(bytes.length, picture.file_size);
      const told = seen.filter(({ status }) => status !== 'IN_QUEUE').map(linesOf);
      assert.deepEqual(
        told.findLast((lines) => lines.length > 0),
        ['mixing', 'painting'],
      );
      const { charged_usd_micro, model_id } = await card(requestId);
      assert.deepEqual([charged_usd_micro, model_id], ['10000', model]);
    });
  }

  test('shows no log lines if none were asked for', async () => {
    const { seen, play } = stage();
    let played: Promise<void> | undefined;
    await fal.subscribe(model, {
      input,
      pollInterval: 10,
      onEnqueue: (id) => void (played = play(id)),
      onQueueUpdate: (update) => void seen.push(update),
    });
    await played;
    assert.deepEqual(linesOf(seen.at(-1)!), []);
  });
});

function linesOf(update: QueueStatus): string[] {
  assert.ok('logs' in update);
  for (const { level, source, timestamp } of update.logs) {
    assert.deepEqual([level, source], ['INFO', 'USER']);
    assert.equal(new Date(timestamp).toISOString(), timestamp);
  }
  return update.logs.map(({ message }) => message);
}

describe('the queue', () => {
  for (const id of [
    'fake/image',
    'fake/canvas/text-to-image',
    'fake/pro/image/edit',
    'comfy/fake/portrait/fast',
  ]) {
    test(`takes ${id}, and finds its requests by the first segments of the id`, async () => {
      const submitted = await fal.queue.submit(id, { input });
      const { request_id: requestId, status, queue_position } = submitted;
      assert.equal(status, 'IN_QUEUE');
      assert.ok(Number.isInteger(queue_position));
      const { queue_position: place, ...queued } = (await fal.queue.status(id, {
        requestId,
      })) as typeof submitted;
      assert.ok(Number.isInteger(place));
      const { response_url, status_url, cancel_url } = submitted;
      assert.deepEqual(queued, {
        status: 'IN_QUEUE',
        request_id: requestId,
        response_url,
        status_url,
        cancel_url,
      });
      const direct = await account.get(status_url);
      assert.equal(direct.status, 202);
      assert.equal(direct.body.request_id, requestId);
      await service.work();
      await look(requestId);
      const done = await fal.queue.status(id, { requestId });
      assert.equal(done.status, 'COMPLETED');
      assert.ok('metrics' in done && done.metrics!.inference_time! >= 0);
      assert.equal((await account.get(status_url)).status, 200);
      const result = await fal.queue.result(id, { requestId });
      assert.equal(result.requestId, requestId);
      const own = await service.call('GET', `/v1/requests/${requestId}/response`, account);
      assert.deepEqual(result.data, own.body);
      assert.equal((await card(requestId)).model_id, id);
    });
  }

  test('gives back all of the reservation of a job that is cancelled, and refuses its result', async () => {
    const earlier = await service.balance(account);
    const { request_id: requestId } = await fal.queue.submit(model, { input });
    assert.notDeepEqual(await service.balance(account), earlier);
    await fal.queue.cancel(model, { requestId });
    assert.deepEqual(await service.balance(account), earlier);
    const { status, ...told } = await fal.queue.status(model, { requestId });
    assert.equal(status, 'COMPLETED');
    assert.equal((told as { error_type?: string }).error_type, 'client_cancelled');
    await assert.rejects(fal.queue.result(model, { requestId }), {
      name: 'ApiError',
      status: 499,
      message: 'The request was cancelled. Nothing was charged.',
      requestId,
    });
    await assert.rejects(fal.queue.cancel(model, { requestId }), { status: 400 });
  });

  test('does not cancel what a model works on', async () => {
    const job = slow();
    const { request_id: requestId } = await fal.queue.submit(model, { input });
    await service.work();
    await assert.rejects(fal.queue.cancel(model, { requestId }), (error: any) => {
      assert.equal(error.body.error.code, 'not_cancellable');
      return error.message.startsWith('Only a request that is IN_QUEUE can be cancelled.');
    });
    job.over();
    await look(requestId);
    service.fake.behave = {};
    assert.equal((await card(requestId)).status, 'COMPLETED');
  });

  test('sends the notification that was asked for, in our own form', async () => {
    const webhookUrl = `http://127.0.0.1:${receiver.port}/hook`;
    const { request_id } = await fal.queue.submit(model, { input, webhookUrl });
    await service.work();
    await look(request_id);
    await look(request_id);
    const hook = await until('the hook', () =>
      hooks.find((each) => each.request_id === request_id),
    );
    assert.equal(hook.status, 'COMPLETED');
    assert.equal(hook.webhook.url, webhookUrl);
    assert.equal('payload' in hook, false);
  });
});

describe('run', () => {
  const newest = async () =>
    (await service.call('GET', '/v1/requests?limit=1', account)).body.data[0];

  /** A call of `run`, and its request once it is submitted. */
  async function running(client = fal) {
    const earlier = (await newest()).request_id;
    const reply = client.run(model, { input });
    return begun(earlier, reply);
  }

  async function begun<T>(earlier: string, reply: Promise<T>) {
    reply.catch(() => {});
    const { request_id } = await until('it is submitted', async () => {
      const row = await newest();
      return row.request_id === earlier ? null : row;
    });
    return { reply, requestId: request_id as string };
  }

  test('returns the images themselves, charged as by the queue', async () => {
    const job = slow();
    const { reply, requestId } = await running();
    await service.work();
    job.over();
    await look(requestId);
    service.fake.behave = {};
    const { data, requestId: told } = await reply;
    assert.equal(told, requestId);
    const { status, bytes } = await service.call('GET', data.images[0].url);
    assert.deepEqual([status, bytes.length], [200, data.images[0].file_size]);
    assert.equal((await card(requestId)).charged_usd_micro, '10000');
  });

  test('has headers with the charge and the inputs that the model does not know', async () => {
    const send = () =>
      service.call('POST', '/fal/run/fake/image', {
        key: account.key,
        body: { ...input, promt: 'x' },
        headers: { 'idempotency-key': 'run-2' },
        base: service.base,
      });
    const { reply, requestId } = await begun((await newest()).request_id, send());
    await service.work();
    await look(requestId);
    const told = ({ headers }: Awaited<typeof reply>) =>
      ['x-charge-usd-micro', 'x-ignored-fields', 'idempotent-replayed'].map((name) =>
        headers.get(name),
      );
    assert.deepEqual(told(await reply), ['10000', 'promt', null]);
    assert.deepEqual(told(await send()), ['0', 'promt', 'true']);
  });

  test('sends a notification to the address of fal_webhook too', async () => {
    const path = `/fal/run/fake/image?fal_webhook=${receiver.url}/run`;
    const earlier = (await newest()).request_id;
    const sent = account.post(path, input, { base: service.base });
    const { reply, requestId } = await begun(earlier, sent);
    await service.work();
    await look(requestId);
    assert.equal((await reply).status, 200);
    await service.work();
    assert.ok(hooks.some(({ request_id }) => request_id === requestId));
    const local = `/fal/run/fake/image?fal_webhook=http://10.0.0.1/`;
    const refused = await account.post(local, input);
    assert.deepEqual([refused.status, refused.body.error.code], [400, 'bad_webhook_url']);
  });

  test('refuses with the statuses of fal, as the document has them', async () => {
    const cases: [status: number, code: string, path: string, body: unknown][] = [
      [422, 'invalid_input', model, { prompt: 'x'.repeat(2_000) }],
      [422, 'unpriceable', model, { ...input, num_images: 5 }],
      [404, 'unknown_model', 'fake/none', input],
      [404, 'not_found', `${model}/stream`, input],
      [400, 'bad_request', model, []],
    ];
    for (const [status, code, id, body] of cases) {
      const reply = await account.post(`/fal/run/${id}`, body);
      assert.deepEqual([reply.status, reply.body.error.code], [status, code]);
    }
  });

  test('throws the reason of a job that failed or was cancelled, and costs nothing', async () => {
    const ends: [number, string, (requestId: string) => Promise<unknown>][] = [
      [
        422,
        'no lighthouses',
        () => {
          service.fake.behave.start = () => ({ outcome: 'rejected', message: 'no lighthouses' });
          return service.work();
        },
      ],
      [
        499,
        'The request was cancelled. Nothing was charged.',
        (requestId) => service.call('POST', `/v1/requests/${requestId}/cancel`, account),
      ],
    ];
    for (const [status, message, end] of ends) {
      const earlier = await service.balance(account);
      const { reply, requestId } = await running();
      await end(requestId);
      service.fake.behave = {};
      await assert.rejects(reply, { status, message, requestId });
      assert.deepEqual(await service.balance(account), earlier);
    }
  });

  test('says how to go on if the service stops first, and is the same job under its key', async () => {
    const { app, base } = await service.another();
    const statuses: number[] = [];
    const send: typeof fetch = async (url, init) => {
      const headers = { ...(init?.headers as object), 'idempotency-key': 'run-1' };
      const reply = await fetch(url, { ...init, headers });
      statuses.push(reply.status);
      return reply;
    };
    const { reply, requestId } = await running(falClient(base, account.key, send));
    await app.stop(2_000);
    await assert.rejects(reply, (error: any) => {
      const { code, details } = error.body.error;
      assert.deepEqual(
        [error.status, code, details.request_id],
        [400, 'request_not_ready', requestId],
      );
      return new URL(details.response_url).pathname.endsWith(requestId);
    });
    assert.deepEqual(statuses, [400]);
    const job = slow();
    await service.work();
    job.over();
    await look(requestId);
    service.fake.behave = {};
    const again = await falClient(service.base, account.key, send).run(model, { input });
    assert.deepEqual([again.requestId, again.data.images.length], [requestId, 1]);
    assert.equal((await newest()).request_id, requestId);
  });

  test('submits nothing if no slot is free to wait in', async () => {
    const { app, base } = await service.another({ FAREBOX_STREAMS_MAX: '1' });
    const { reply, requestId } = await running(falClient(base, account.key));
    const earlier = await service.transfers();
    const path = '/fal/run/fake/image';
    const refused = await account.post(path, input, { base });
    assert.deepEqual([refused.status, refused.body.error.code], [429, 'rate_limited']);
    assert.equal(await service.transfers(), earlier);
    await service.call('POST', `/v1/requests/${requestId}/cancel`, account);
    await assert.rejects(reply, { status: 499 });
    await app.stop();
  });
});

/** Loses the first reply on its way, although the service has answered the call. */
function losingFirst(statuses: number[]): typeof fetch {
  return async (...args) => {
    const reply = await fetch(...args);
    statuses.push(reply.status);
    if (statuses.length > 1) return reply;
    throw new TypeError('fetch failed', { cause: { code: 'ECONNRESET' } });
  };
}

describe("the client's own repeat of a submit whose reply was lost", () => {
  const jobs = async () => (await account.get('/v1/requests')).body;

  test('is a second job if nothing marks it as a repeat', async () => {
    const statuses: number[] = [];
    const client = falClient(service.base, account.key, losingFirst(statuses));
    const { request_id } = await client.queue.submit(model, { input });
    assert.deepEqual(statuses, [200, 200]);
    const [second, first] = (await jobs()).data;
    assert.deepEqual([second.request_id, first.status], [request_id, 'IN_QUEUE']);
  });

  const safe: [string, (send: typeof fetch) => Promise<{ request_id: string }>][] = [
    [
      'an Idempotency-Key among the headers of the submit',
      (send) =>
        falClient(service.base, account.key, send).queue.submit(model, {
          input,
          headers: { 'Idempotency-Key': 'order-1042' },
        }),
    ],
    [
      'a middleware that gives each submit one of its own',
      (send) => carefulFalClient(service.base, account.key, send).queue.submit(model, { input }),
    ],
  ];
  for (const [name, submit] of safe) {
    test(`is the same job with ${name}`, async () => {
      const [newest] = (await jobs()).data;
      const statuses: number[] = [];
      const { request_id } = await submit(losingFirst(statuses));
      assert.deepEqual(statuses, [200, 200]);
      const [only, before] = (await jobs()).data;
      assert.deepEqual([only.request_id, before.request_id], [request_id, newest.request_id]);
    });
  }
});
