import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { errors, type ErrorCode } from '../../src/core/errors.ts';
import { rawSql } from '../../src/lib/sql.ts';
import { sign } from '../../src/core/signature.ts';
import { tinyPng } from '../kit/fake.ts';
import { assertRefused } from '../kit/refusal.ts';
import {
  startService,
  type CallOptions,
  type Reply,
  type Service,
  type TestAccount,
} from '../kit/service.ts';
import { traces } from '../kit/traces.ts';

/** Each code of the catalogue, as a caller meets it: its status, its shape, its facts, and that it costs nothing. */

interface Scenario {
  name: string;
  call: () => Promise<Reply>;
  /** In place of the catalogue's. */
  status?: number;
  param?: string | null;
  message?: RegExp;
  details?: unknown;
  headers?: Record<string, string>;
  /** A call that went as far as the upstream leaves its failed request; all others leave nothing. */
  leaves?: 'a released request';
}

const secret = Buffer.from('a secret of at least thirty-two characters');
const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
const absent = '00000000-0000-7000-8000-000000000000';

let service: Service;
/** The same with other settings. */
let strict: { base: string };
let rich: TestAccount;
let poor: TestAccount;
let limited: TestAccount;
let busy: TestAccount;
let queued: string;
let completed: string;
let failed: string;
let cancelled: string;

before(async () => {
  service = await startService({ env: { FAREBOX_UPLOAD_MAX_BYTES: '100' } });
  strict = await service.another({
    FAREBOX_METRICS_TOKEN: 'the token',
    FAREBOX_IN_FLIGHT_MAX: '1',
  });
  rich = await service.account();
  poor = await service.account({ usd: 0.015 });
  limited = await service.account({ monthly_limit_usd_micro: 25_000n });
  busy = await service.account({ rpm: 1, open_jobs: 1 });
  completed = await submit(rich);
  await submit(limited);
  await service.work();
  service.fake.behave = { start: () => ({ outcome: 'rejected', message: 'no cats' }) };
  failed = await submit(rich);
  await service.work();
  service.fake.behave = {};
  cancelled = await submit(rich);
  await call('POST', `/v1/requests/${cancelled}/cancel`);
  queued = await submit(rich, { 'idempotency-key': 'used' });
});
after(async () => {
  await service.audit();
  await service.stop();
});

function call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
  return service.call(method, path, { key: rich.key, ...options });
}
async function submit(account: TestAccount, headers: Record<string, string> = {}): Promise<string> {
  const body = { prompt: 'a cat' };
  const reply = await call('POST', '/v1/queue/fake/image', { key: account.key, body, headers });
  assert.equal(reply.status, 202, reply.text);
  return reply.body.request_id;
}
const queue = (body: unknown, options: CallOptions = {}) =>
  call('POST', '/v1/queue/fake/image', { body, ...options });
const film = (body: unknown) => call('POST', '/v1/queue/fake/film/text-to-video', { body });
const estimate = (body: unknown) => call('POST', '/v1/estimate', { body });
const complete = (body: unknown, options: CallOptions = {}) =>
  call('POST', '/v1/chat/completions', { body, ...options });

/** With the upstream made to act so for one call. */
async function acting(
  behave: Service['fake']['behave'],
  work: () => Promise<Reply>,
): Promise<Reply> {
  service.fake.behave = behave;
  return work().finally(() => (service.fake.behave = {}));
}

/** With the database changed for one call. */
async function having(change: string, undo: string, work: () => Promise<Reply>): Promise<Reply> {
  await service.db.run(rawSql(change));
  return work().finally(() => service.db.run(rawSql(undo)));
}

function nextMonth(): string {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString();
}

const scenarios: Record<ErrorCode, Scenario[]> = {
  bad_request: [
    {
      name: 'a body that is no JSON',
      call: () =>
        queue(undefined, { raw: '{"prompt":', headers: { 'content-type': 'application/json' } }),
      message: /not valid JSON/,
    },
    { name: 'a body that is a list', call: () => estimate([]), message: /must be a JSON object/ },
    {
      name: 'an Idempotency-Key with a blank',
      call: () => queue({ prompt: 'x' }, { headers: { 'idempotency-key': 'a b' } }),
      param: 'Idempotency-Key',
    },
    {
      name: 'a wait that is no number',
      call: () => call('GET', `/v1/requests/${queued}/status?wait=soon`),
      param: 'wait',
    },
    {
      name: 'a status that does not exist',
      call: () => call('GET', '/v1/requests?status=DONE'),
      param: 'status',
      message: /IN_QUEUE, IN_PROGRESS/,
    },
    { name: 'several completions', call: () => complete({ ...chat, n: 2 }), param: 'n' },
    {
      name: 'a range beyond the end',
      status: 416,
      param: 'range',
      headers: { 'content-range': `bytes */${tinyPng.length}` },
      call: () =>
        call('GET', `/v1/requests/${completed}/output/0`, { headers: { range: 'bytes=900-' } }),
    },
    { name: 'an address that is none', call: () => call('GET', '/v1/models/%zz') },
  ],
  unknown_model: [
    {
      name: 'a submit',
      call: () => call('POST', '/v1/queue/fake/none', { body: { prompt: 'x' } }),
      param: 'model_id',
      message: /"fake\/none".*GET \/v1\/models/,
    },
    {
      name: 'an estimate',
      call: () => estimate({ model_id: 'fake/Image', input: {} }),
      param: 'model_id',
    },
    {
      name: 'an estimate without a model',
      call: () => estimate({ input: {} }),
      param: 'model_id',
      message: /missing/,
    },
    { name: 'a chat', call: () => complete({ ...chat, model: 'gpt-4o' }), param: 'model' },
    {
      name: 'a chat with an image model',
      call: () => complete({ ...chat, model: 'fake/image' }),
      param: 'model',
      message: /POST \/v1\/queue\/fake\/image/,
    },
  ],
  unpriceable: [
    {
      name: 'a film of 0 seconds',
      call: () => film({ prompt: 'x', duration_seconds: 0 }),
      param: 'duration_seconds',
      message: /above 0 and at most 10/,
      details: { field: 'duration_seconds', type: 'number', exclusive_minimum: 0, maximum: 10 },
    },
    {
      name: 'five images of four',
      call: () => queue({ prompt: 'x', num_images: 5 }),
      param: 'num_images',
      details: { field: 'num_images', type: 'integer', minimum: 1, maximum: 4 },
    },
    {
      name: 'a resolution that is not offered',
      call: () => film({ prompt: 'x', resolution: '4k' }),
      param: 'resolution',
      details: { field: 'resolution', one_of: ['480p', '720p'] },
    },
    {
      name: 'tokens that are not told',
      call: () => estimate({ model_id: 'fake/chat', input: { input_tokens: 1 } }),
      param: 'output_tokens',
    },
    {
      name: 'an input that is a list',
      call: () => estimate({ model_id: 'fake/image', input: [] }),
      param: 'input',
    },
  ],
  invalid_input: [
    {
      name: 'a field that is required',
      call: () => queue({}),
      param: 'prompt',
      details: { errors: [{ path: '/prompt', message: 'is required' }] },
    },
    {
      name: 'two fields at once',
      call: () => film({ prompt: 5, resolution: '480p', duration_seconds: 5 }),
      param: 'prompt',
      details: { errors: [{ path: '/prompt', message: 'must be string' }] },
    },
    {
      name: 'a file that is not there',
      call: () => queue({ prompt: 'x', image_url: `file_${'0'.repeat(32)}` }),
      message: /no such file of this account/,
    },
    {
      name: 'an address of a private host',
      call: () => queue({ prompt: 'x', image_url: 'http://10.0.0.1/a.png' }),
      param: 'image_url',
    },
    {
      name: 'a chat that the model refuses',
      leaves: 'a released request',
      message: /no cats here/,
      call: () =>
        acting({ chat: () => ({ outcome: 'rejected', message: 'no cats here' }) }, () =>
          complete(chat),
        ),
    },
  ],
  bad_webhook_url: [
    {
      name: 'a private address',
      call: () => queue({ prompt: 'x', webhook_url: 'http://169.254.169.254/' }),
      param: 'webhook_url',
      message: /public/,
    },
    {
      name: 'two that differ',
      call: () =>
        call('POST', '/v1/queue/fake/image?webhook_url=https://93.184.216.34/a', {
          body: { prompt: 'x', webhook_url: 'https://93.184.216.34/b' },
        }),
      param: 'webhook_url',
      message: /differs/,
    },
    { name: 'a number', call: () => queue({ prompt: 'x', webhook_url: 7 }), param: 'webhook_url' },
  ],
  bad_messages: [
    { name: 'no messages', call: () => complete({ model: 'fake/chat' }), param: 'messages' },
    { name: 'an empty list', call: () => complete({ ...chat, messages: [] }), param: 'messages' },
    {
      name: 'a role that does not exist',
      call: () => complete({ ...chat, messages: [{ role: 'boss', content: 'x' }] }),
      param: 'messages[0].role',
    },
  ],
  use_chat_completions: [
    {
      name: 'a text model in the queue',
      call: () => call('POST', '/v1/queue/fake/chat', { body: { prompt: 'x' } }),
      param: 'model_id',
      message: /POST \/v1\/chat\/completions/,
    },
  ],
  unauthorized: [
    {
      name: 'no key',
      call: () => service.call('GET', '/v1/requests'),
      headers: { 'www-authenticate': 'Key realm="farebox"' },
    },
    {
      name: 'a link that was tampered with',
      call: () =>
        service.call(
          'GET',
          `/v1/requests/${completed}/output/0?exp=9999999999&sig=${'a'.repeat(43)}`,
        ),
      message: /response_url/,
    },
  ],
  insufficient_balance: [
    {
      name: 'a submit',
      call: () => queue({ prompt: 'x', num_images: 2 }, { key: poor.key }),
      message: /Top up/,
      details: {
        required_usd_micro: '20000',
        available_usd_micro: '15000',
        reserved_usd_micro: '0',
      },
    },
    {
      name: 'a chat',
      call: () => complete({ ...chat, max_tokens: 8000 }, { key: poor.key }),
    },
  ],
  key_limit_reached: [
    {
      name: 'a submit',
      call: () => queue({ prompt: 'x', num_images: 2 }, { key: limited.key }),
      get details() {
        return {
          required_usd_micro: '20000',
          limit_usd_micro: '25000',
          spent_usd_micro: '10000',
          resets_at: nextMonth(),
        };
      },
    },
    { name: 'a chat', call: () => complete({ ...chat, max_tokens: 8000 }, { key: limited.key }) },
  ],
  forbidden: [
    {
      name: 'metrics without the token',
      call: () => service.call('GET', '/metrics', { base: strict.base }),
    },
    {
      name: 'metrics with another token',
      call: () =>
        service.call('GET', '/metrics', {
          base: strict.base,
          headers: { authorization: 'Bearer the tokem' },
        }),
    },
    { name: 'metrics with an API key', call: () => call('GET', '/metrics', { base: strict.base }) },
  ],
  not_found: [
    {
      name: 'an address without a route',
      call: () => call('GET', '/v1/nothing'),
      message: /\/v1\/nothing.*openapi\.json/,
    },
    { name: 'outside of the version', call: () => call('GET', '/models') },
    { name: 'a request that never was', call: () => call('GET', `/v1/requests/${absent}`) },
    { name: 'a request id that is none', call: () => call('GET', '/v1/requests/7/status') },
    {
      name: 'an output that is not there',
      call: () => call('GET', `/v1/requests/${completed}/output/1`),
    },
    {
      name: 'an output of a failed request',
      call: () => call('GET', `/v1/requests/${failed}/output/0`),
    },
    {
      name: 'a model that is not listed',
      call: () => service.call('GET', '/v1/models/fake/none'),
      message: /fake\/none/,
    },
  ],
  method_not_allowed: [
    {
      name: 'DELETE of the list',
      call: () => call('DELETE', '/v1/requests'),
      headers: { allow: 'GET, HEAD' },
    },
    {
      name: 'GET of a submit',
      call: () => call('GET', '/v1/queue/fake/image'),
      headers: { allow: 'POST' },
    },
    {
      name: 'DELETE of a cancel',
      call: () => call('DELETE', `/v1/requests/${queued}/cancel`),
      headers: { allow: 'POST, PUT' },
    },
    {
      name: 'OPTIONS of a chat',
      call: () => service.call('OPTIONS', '/v1/chat/completions'),
      headers: { allow: 'POST' },
    },
    {
      name: 'PATCH of health, with a body of no type',
      call: () =>
        service.call('PATCH', '/livez', { raw: 'x', headers: { 'content-type': 'nonsense' } }),
      headers: { allow: 'GET, HEAD' },
    },
  ],
  idempotency_conflict: [
    {
      name: 'another body',
      call: () => queue({ prompt: 'a dog' }, { headers: { 'idempotency-key': 'used' } }),
      message: /another body/,
    },
    {
      name: 'another path',
      call: () => complete(chat, { headers: { 'idempotency-key': 'used' } }),
    },
  ],
  request_not_ready: [
    {
      name: 'one in the queue',
      call: () => call('GET', `/v1/requests/${queued}/response`),
      details: { status: 'IN_QUEUE' },
      message: /status_url/,
    },
    {
      name: 'one that failed',
      call: () => call('GET', `/v1/requests/${failed}/response`),
      details: { status: 'FAILED', error: { code: 'upstream_rejected', message: 'no cats' } },
    },
    {
      name: 'one that was cancelled',
      call: () => call('GET', `/v1/requests/${cancelled}/response`),
      details: { status: 'CANCELLED' },
    },
  ],
  not_cancellable: [
    {
      name: 'one that is completed',
      call: () => call('POST', `/v1/requests/${completed}/cancel`),
      details: { status: 'COMPLETED' },
    },
    {
      name: 'one that failed',
      call: () => call('PUT', `/v1/requests/${failed}/cancel`),
      details: { status: 'FAILED' },
    },
    {
      name: 'one that is cancelled',
      call: () => call('POST', `/v1/requests/${cancelled}/cancel`),
      details: { status: 'CANCELLED' },
    },
  ],
  expired: [
    {
      name: 'a link whose time is over',
      call: () =>
        service.call(
          'GET',
          `/v1/requests/${completed}/output/0?${sign(secret, { request_id: completed, index: 0, exp: 1 })}`,
        ),
    },
    {
      name: 'an output a day after',
      call: () => aDayLater(() => call('GET', `/v1/requests/${completed}/output/0`)),
    },
    {
      name: 'a response a day after',
      call: () => aDayLater(() => call('GET', `/v1/requests/${completed}/response`)),
    },
  ],
  payload_too_large: [
    {
      name: 'JSON of more than 1 MiB',
      call: () => queue({ prompt: 'x'.repeat(1024 * 1024) }),
      details: { max_bytes: 1024 * 1024 },
    },
    {
      name: 'a chat of more than 10 MiB',
      call: () => complete({ ...chat, user: 'x'.repeat(10 * 1024 * 1024) }),
      details: { max_bytes: 10 * 1024 * 1024 },
    },
    {
      name: 'a file above the limit',
      call: () =>
        call('POST', '/v1/files', {
          raw: Buffer.alloc(101, 'a'),
          headers: { 'content-type': 'text/plain' },
        }),
      details: { max_bytes: 100 },
    },
    {
      name: 'a file of untold length above the limit',
      call: () =>
        call('POST', '/v1/files', {
          raw: streamOf(101),
          headers: { 'content-type': 'text/plain' },
        }),
      details: { max_bytes: 100 },
    },
  ],
  unsupported_media_type: [
    {
      name: 'JSON under another name',
      call: () =>
        queue(undefined, { raw: '{"prompt":"x"}', headers: { 'content-type': 'text/plain' } }),
    },
    {
      name: 'JSON in another encoding',
      call: () =>
        queue(undefined, {
          raw: '{"prompt":"x"}',
          headers: { 'content-type': 'application/json; charset=utf-16' },
        }),
    },
    {
      name: 'a name that is none',
      call: () =>
        queue(undefined, { raw: '{"prompt":"x"}', headers: { 'content-type': 'nonsense' } }),
    },
    {
      name: 'a packed body',
      call: () =>
        queue(undefined, {
          raw: '{"prompt":"x"}',
          headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        }),
    },
    {
      name: 'a file that is not what it says',
      call: () =>
        call('POST', '/v1/files', { raw: tinyPng, headers: { 'content-type': 'video/mp4' } }),
      param: 'content-type',
      message: /image\/png/,
    },
    {
      name: 'markup as a file',
      call: () =>
        call('POST', '/v1/files', {
          raw: '<svg xmlns="http://www.w3.org/2000/svg"/>',
          headers: { 'content-type': 'image/svg+xml' },
        }),
      param: 'content-type',
    },
  ],
  rate_limited: [
    {
      name: 'a second call in a minute of one',
      message: /1 calls a minute/,
      call: async () => {
        await call('GET', '/v1/requests', { key: busy.key });
        return call('GET', '/v1/requests', { key: busy.key });
      },
    },
    {
      name: 'a second open job of one',
      headers: { 'retry-after': '5' },
      details: { open_jobs_limit: 1 },
      call: () =>
        having(
          `update keys set open_jobs = 1 where id = '${rich.key_id}'`,
          `update keys set open_jobs = null where id = '${rich.key_id}'`,
          () => queue({ prompt: 'x' }),
        ),
    },
  ],
  internal_error: [
    {
      name: 'a submit that the database refuses',
      message: /quote request_id/,
      call: () =>
        having(
          'alter table request_inputs add constraint broken check (false) not valid',
          'alter table request_inputs drop constraint broken',
          () =>
            queue(
              { prompt: 'the hidden prompt' },
              { headers: { 'idempotency-key': 'hidden-key' } },
            ),
        ),
    },
    {
      name: 'a card whose table is gone',
      call: () =>
        having(
          'alter table outputs rename to outputs_gone',
          'alter table outputs_gone rename to outputs',
          () => call('GET', `/v1/requests/${completed}`),
        ),
    },
  ],
  submit_failed: [
    {
      name: 'a chat whose model gives no answer',
      leaves: 'a released request',
      call: () =>
        acting({ chat: () => ({ outcome: 'unknown', message: 'ECONNRESET at 10.0.0.7' }) }, () =>
          complete(chat),
        ),
    },
    {
      name: 'a stream whose model throws',
      leaves: 'a released request',
      call: () =>
        acting(
          {
            chat: () => {
              throw new Error('secret of the upstream');
            },
          },
          () => complete({ ...chat, stream: true }),
        ),
    },
  ],
  capacity_unavailable: [
    {
      name: 'a submit while the upstream rests',
      headers: { 'retry-after': '30' },
      message: /Nothing was charged/,
      call: () => resting(() => queue({ prompt: 'x' })),
    },
    {
      name: 'a submit while the queue is too old',
      headers: { 'retry-after': '30' },
      call: () =>
        having(
          `update requests set created_at = now() - interval '901 s' where id = '${queued}'`,
          `update requests set created_at = now() where id = '${queued}'`,
          () => fresh(() => queue({ prompt: 'x' })),
        ),
    },
    {
      name: 'a chat whose model has no room',
      leaves: 'a released request',
      headers: { 'retry-after': '7' },
      call: () =>
        acting(
          { chat: () => ({ outcome: 'not_accepted', message: '429', retry_after_ms: 6_500 }) },
          () => complete(chat),
        ),
    },
    {
      name: 'a call beyond those that are worked on',
      call: () => besides(() => call('GET', '/v1/requests', { base: strict.base })),
    },
  ],
};

function aDayLater(work: () => Promise<Reply>): Promise<Reply> {
  return having(
    `update requests set completed_at = completed_at - interval '1 day' where id = '${completed}'`,
    `update requests set completed_at = completed_at + interval '1 day' where id = '${completed}'`,
    work,
  );
}

function resting(work: () => Promise<Reply>): Promise<Reply> {
  return having(
    `insert into upstreams (name, paused_until) values ('fake', now() + interval '30 s')
     on conflict (name) do update set paused_until = excluded.paused_until`,
    `update upstreams set paused_until = null where name = 'fake'`,
    () => fresh(work),
  );
}

/** Repeats a call until what the service knows of its queues, a moment old, is what the database says. */
async function fresh(work: () => Promise<Reply>): Promise<Reply> {
  for (let tries = 0; tries < 100; tries++) {
    const reply = await work();
    if (reply.status === 503) return reply;
    await call('POST', `/v1/requests/${reply.body.request_id}/cancel`);
  }
  throw new Error('the queue is still open');
}

/** While the strict service, which works on one call at a time, has one. */
async function besides(work: () => Promise<Reply>): Promise<Reply> {
  let answer: () => void = () => {};
  const asked = new Promise<void>((reached) => {
    service.fake.behave = {
      chat: () =>
        new Promise((resolve) => {
          answer = () => resolve({ outcome: 'rejected', message: 'enough' });
          reached();
        }),
    };
  });
  const held = complete(chat, { base: strict.base });
  await asked;
  const reply = await work();
  assert.equal((await service.call('GET', '/livez', { base: strict.base })).status, 200);
  answer();
  await held;
  service.fake.behave = {};
  return reply;
}

function streamOf(bytes: number): ReadableStream {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.alloc(bytes, 'a'));
      controller.close();
    },
  });
}

const answered = new Map<string, Reply>();

describe('every code of the catalogue', () => {
  test('has its scenario', () => {
    assert.deepEqual(Object.keys(scenarios).sort(), Object.keys(errors).sort());
  });

  for (const [code, list] of Object.entries(scenarios)) {
    for (const scenario of list) {
      test(`${code}: ${scenario.name}`, async () => {
        const earlier = await traces(service);
        const reply = await scenario.call();
        answered.set(scenario.name, reply);
        const error = assertRefused(reply, code as ErrorCode, {
          ...(scenario.status && { status: scenario.status }),
        });
        if (scenario.param !== undefined) assert.equal(error.param, scenario.param);
        if (scenario.message) assert.match(error.message, scenario.message);
        if (scenario.details) assert.deepEqual(error.details, scenario.details);
        for (const [name, value] of Object.entries(scenario.headers ?? {})) {
          assert.equal(reply.headers.get(name), value, name);
        }
        await assertFree(earlier, await traces(service), scenario);
      });
    }
  }
});

type Traces = Awaited<ReturnType<typeof traces>>;

async function assertFree(earlier: Traces, now: Traces, { leaves, name }: Scenario): Promise<void> {
  const money = ({ reserved, charged, open_jobs, open_requests }: Traces) => ({
    reserved,
    charged,
    open_jobs,
    open_requests,
  });
  assert.deepEqual(money(now), money(earlier));
  if (leaves || /queue is too old|upstream rests|worked on/.test(name)) return;
  assert.deepEqual(now, earlier);
}

describe('what a fault of ours tells', () => {
  test('the log has the cause, under the id that the caller was told', () => {
    const { body } = answered.get('a submit that the database refuses')!;
    const line = service.log
      .map((text) => JSON.parse(text))
      .find(({ reqId }) => reqId === body.error.request_id);
    assert.equal(line?.code, 'internal_error');
    assert.match(JSON.stringify(line.err), /violates check constraint/);
  });

  test('the log does not keep what the caller sent', () => {
    const lines = service.log.join('');
    for (const text of ['the hidden prompt', 'hidden-key', rich.key, 'a cat', 'whsec_']) {
      assert.ok(!lines.includes(text), `the log holds "${text}"`);
    }
  });

  test('nobody reads what the upstream said of itself', () => {
    for (const { name } of scenarios.submit_failed) {
      const { text } = answered.get(name)!;
      assert.doesNotMatch(text, /ECONNRESET|10\.0\.0\.7|secret of the upstream/);
    }
  });
});

test('the metrics token opens the metrics', async () => {
  const headers = { authorization: 'Bearer the token' };
  const reply = await service.call('GET', '/metrics', { base: strict.base, headers });
  assert.equal(reply.status, 200);
  assert.match(reply.text, /^farebox_in_flight_calls /m);
});
