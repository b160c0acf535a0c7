import type { ErrorCode } from '../../src/core/errors.ts';
import { sign } from '../../src/core/request/signature.ts';
import { absent, chat, nextMonth, secret, type Scenario } from './error-world.ts';

/** Obstacles to a valid call: rights, money, states, and faults of ours. */
export const stateScenarios = {
  unauthorized: [
    {
      name: 'no key',
      call: (w) => w.service.call('GET', '/v1/requests'),
      headers: { 'www-authenticate': 'Key realm="farebox"' },
    },
    {
      name: 'a key whose time is over',
      call: (w) => w.call('GET', '/v1/requests', { key: w.over.key }),
      message: /expired on 2026-01-01T00:00:00\.000Z/,
    },
    {
      name: 'a link that was tampered with',
      call: (w) =>
        w.service.call(
          'GET',
          `/v1/requests/${w.completed}/output/0?exp=9999999999&sig=${'a'.repeat(43)}`,
        ),
      message: /response_url/,
    },
  ],
  insufficient_balance: [
    {
      name: 'a submit',
      call: (w) => w.queue({ prompt: 'x', num_images: 2 }, { key: w.poor.key }),
      message: /Top up/,
      details: {
        required_usd_micro: '20000',
        available_usd_micro: '15000',
        reserved_usd_micro: '0',
        top_up: [],
      },
    },
    { name: 'a chat', call: (w) => w.complete({ ...chat, max_tokens: 8000 }, { key: w.poor.key }) },
  ],
  key_limit_reached: [
    {
      name: 'a submit',
      call: (w) => w.queue({ prompt: 'x', num_images: 2 }, { key: w.limited.key }),
      details: () => ({
        required_usd_micro: '20000',
        limit_usd_micro: '25000',
        spent_usd_micro: '10000',
        resets_at: nextMonth(),
      }),
    },
    {
      name: 'a chat',
      call: (w) => w.complete({ ...chat, max_tokens: 8000 }, { key: w.limited.key }),
    },
  ],
  forbidden: [
    {
      name: 'a model that the key may not use',
      call: (w) => w.queue({ prompt: 'x' }, { key: w.narrow.key }),
      param: 'model_id',
      message: /fake\/chat.*fake\/image/,
      details: { models: ['fake/chat'] },
    },
    {
      name: 'a chat model that the key may not use',
      call: (w) => w.complete({ ...chat, model: 'fake/drain/chat' }, { key: w.narrow.key }),
      param: 'model',
    },
    {
      name: 'metrics without the token',
      call: (w) => w.service.call('GET', '/metrics', { base: w.strict.base }),
    },
    {
      name: 'metrics with another token',
      call: (w) =>
        w.service.call('GET', '/metrics', {
          base: w.strict.base,
          headers: { authorization: 'Bearer the tokem' },
        }),
    },
    {
      name: 'metrics with an API key',
      call: (w) => w.call('GET', '/metrics', { base: w.strict.base }),
    },
  ],
  not_found: [
    {
      name: 'an address without a route',
      call: (w) => w.call('GET', '/v1/nothing'),
      message: /\/v1\/nothing.*openapi\.json/,
    },
    { name: 'outside of the version', call: (w) => w.call('GET', '/models') },
    { name: 'a request that never was', call: (w) => w.call('GET', `/v1/requests/${absent}`) },
    { name: 'a request id that is none', call: (w) => w.call('GET', '/v1/requests/7/status') },
    {
      name: 'an output that is not there',
      call: (w) => w.call('GET', `/v1/requests/${w.completed}/output/2`),
    },
    {
      name: 'an output of a failed request',
      call: (w) => w.call('GET', `/v1/requests/${w.failed}/output/0`),
    },
    {
      name: 'a model that is not listed',
      call: (w) => w.service.call('GET', '/v1/models/fake/none'),
      message: /fake\/none/,
    },
  ],
  method_not_allowed: [
    {
      name: 'DELETE of the list',
      call: (w) => w.call('DELETE', '/v1/requests'),
      headers: { allow: 'GET, HEAD' },
    },
    {
      name: 'GET of a submit',
      call: (w) => w.call('GET', '/v1/queue/fake/image'),
      headers: { allow: 'POST' },
    },
    {
      name: 'DELETE of a cancel',
      call: (w) => w.call('DELETE', `/v1/requests/${w.queued}/cancel`),
      headers: { allow: 'POST, PUT' },
    },
    {
      name: 'OPTIONS of a chat',
      call: (w) => w.service.call('OPTIONS', '/v1/chat/completions'),
      headers: { allow: 'POST' },
    },
    {
      name: 'PATCH of health, with a body of no type',
      call: (w) =>
        w.service.call('PATCH', '/livez', { raw: 'x', headers: { 'content-type': 'nonsense' } }),
      headers: { allow: 'GET, HEAD' },
    },
  ],
  idempotency_conflict: [
    {
      name: 'another body',
      call: (w) => w.queue({ prompt: 'a dog' }, { headers: { 'idempotency-key': 'used' } }),
      message: /another call \(model, body or webhook\)/,
    },
    {
      name: 'another path',
      call: (w) => w.complete(chat, { headers: { 'idempotency-key': 'used' } }),
      message: /another call \(model, body or webhook\)/,
    },
  ],
  request_not_ready: [
    {
      name: 'one in the queue',
      call: (w) => w.call('GET', `/v1/requests/${w.queued}/response`),
      details: { status: 'IN_QUEUE' },
      message: /status_url/,
    },
    {
      name: 'one that failed',
      call: (w) => w.call('GET', `/v1/requests/${w.failed}/response`),
      details: { status: 'FAILED', error: { code: 'upstream_failed', message: 'out of paint' } },
    },
    {
      name: 'one that was cancelled',
      call: (w) => w.call('GET', `/v1/requests/${w.cancelled}/response`),
      details: { status: 'CANCELLED' },
    },
  ],
  not_cancellable: [
    {
      name: 'one that is completed',
      call: (w) => w.call('POST', `/v1/requests/${w.completed}/cancel`),
      details: { status: 'COMPLETED' },
    },
    {
      name: 'one that failed',
      call: (w) => w.call('PUT', `/v1/requests/${w.failed}/cancel`),
      details: { status: 'FAILED' },
    },
    {
      name: 'one that is cancelled',
      call: (w) => w.call('POST', `/v1/requests/${w.cancelled}/cancel`),
      details: { status: 'CANCELLED' },
    },
  ],
  expired: [
    {
      name: 'a link whose time is over',
      call: (w) =>
        w.service.call(
          'GET',
          `/v1/requests/${w.completed}/output/0?${sign(secret, { request_id: w.completed, index: 0, exp: 1 })}`,
        ),
    },
    {
      name: 'an output a day after',
      call: (w) => w.aDayLater(() => w.call('GET', `/v1/requests/${w.completed}/output/0`)),
    },
    {
      name: 'a response a day after',
      call: (w) => w.aDayLater(() => w.call('GET', `/v1/requests/${w.completed}/response`)),
    },
  ],
  rate_limited: [
    {
      name: 'a second call in a minute of one',
      message: /1 calls a minute/,
      call: async (w) => {
        await w.call('GET', '/v1/requests', { key: w.busy.key });
        return w.call('GET', '/v1/requests', { key: w.busy.key });
      },
    },
    {
      name: 'a second open job of one',
      headers: { 'retry-after': '5' },
      details: { open_jobs_limit: 1 },
      call: (w) =>
        w.having(
          `update keys set open_jobs = 1 where id = '${w.rich.key_id}'`,
          `update keys set open_jobs = null where id = '${w.rich.key_id}'`,
          () => w.queue({ prompt: 'x' }),
        ),
    },
  ],
  internal_error: [
    {
      name: 'a submit that the database refuses',
      message: /give the operator the request_id/,
      call: (w) =>
        w.having(
          'alter table request_inputs add constraint broken check (false) not valid',
          'alter table request_inputs drop constraint broken',
          () =>
            w.queue(
              { prompt: 'the hidden prompt' },
              { headers: { 'idempotency-key': 'hidden-key' } },
            ),
        ),
    },
    {
      name: 'a card whose table is gone',
      call: (w) =>
        w.having(
          'alter table outputs rename to outputs_gone',
          'alter table outputs_gone rename to outputs',
          () => w.call('GET', `/v1/requests/${w.completed}`),
        ),
    },
  ],
  submit_failed: [
    {
      name: 'a chat whose model gives no answer',
      leaves: 'a released request',
      call: (w) =>
        w.acting({ chat: () => ({ outcome: 'unknown', message: 'ECONNRESET at 10.0.0.7' }) }, () =>
          w.complete(chat),
        ),
    },
    {
      name: 'a stream whose model throws',
      leaves: 'a released request',
      call: (w) =>
        w.acting(
          {
            chat: () => {
              throw new Error('secret of the upstream');
            },
          },
          () => w.complete({ ...chat, stream: true }),
        ),
    },
  ],
  capacity_unavailable: [
    {
      name: 'a submit while the upstream rests',
      leaves: 'cancelled requests',
      message: /Nothing was charged/,
      call: (w) =>
        w.closed(
          `insert into upstreams (name, paused_until) values ('fake', now() + interval '30 s')
           on conflict (name, model) do update set paused_until = excluded.paused_until`,
          `update upstreams set paused_until = null where name = 'fake'`,
        ),
    },
    {
      name: 'a submit while the queue is too old',
      leaves: 'cancelled requests',
      headers: { 'retry-after': '30' },
      call: (w) =>
        w.closed(
          `update requests set created_at = now() - interval '901 s' where id = '${w.queued}'`,
          `update requests set created_at = now() where id = '${w.queued}'`,
        ),
    },
    {
      name: 'a call beyond those that are worked on',
      leaves: 'a released request',
      call: (w) => w.besides(() => w.call('GET', '/v1/requests', { base: w.strict.base })),
    },
    // The last scenario, because the upstream is then paused for as long as it asks.
    {
      name: 'a chat whose model has no room',
      leaves: 'a released request',
      headers: { 'retry-after': '7' },
      call: (w) =>
        w.acting(
          { chat: () => ({ outcome: 'not_accepted', message: '429', retry_after_ms: 6_500 }) },
          () => w.complete(chat),
        ),
    },
  ],
} satisfies Partial<Record<ErrorCode, Scenario[]>>;
