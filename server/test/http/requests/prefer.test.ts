import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import * as keys from '../../../src/db/accounts/keys.ts';
import { preferredWait } from '../../../src/http/prefer.ts';
import { accept } from '../../kit/fake.ts';
import { held } from '../../kit/held.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { startService, type CallOptions } from '../../kit/service.ts';
import { withService } from '../../kit/with-service.ts';
import { wake } from '../../kit/states.ts';
import { until } from '../../kit/until.ts';

/** POST /queue/{model_id} with `Prefer: wait`: the output in one call, if it comes in time. */

const { service, account } = withService();

const path = '/v1/queue/fake/image';
const body = { prompt: 'a cat' };

function submit(wait = 'wait=50', options: CallOptions = {}) {
  const { headers, ...more } = options;
  const prefer = { prefer: wait, ...headers };
  const { base } = service;
  return account.post(path, body, { headers: prefer, base, ...more });
}

/** A submit that waits, and the id of its request. */
async function waiting(options: CallOptions & { base?: string } = {}, app = service.app) {
  const before = await newest();
  const { reply } = await held(
    app,
    () => submit('wait=50', options),
    () => look(options.base),
  );
  const id = await newest();
  assert.notEqual(id, before);
  return { reply, id };
}

function look(base = service.base) {
  const nothing = '/v1/requests/00000000-0000-7000-8000-000000000000/status';
  return account.get(nothing, { base });
}

async function newest(): Promise<string> {
  const { body } = await account.get('/v1/requests?limit=1');
  return body.data[0]?.request_id ?? '';
}

async function finish(id: string): Promise<void> {
  await service.work();
  await wake(service, id);
  await service.work();
}

function cancel(id: string) {
  return account.post(`/v1/requests/${id}/cancel`);
}

test('the preference is read as RFC 7240 writes it', () => {
  const cases: [number, ...string[]][] = [
    [0],
    [0, 'respond-async', 'return=minimal; wait=5', 'waiting=5', ''],
    [60, 'wait'],
    [60, 'respond-async, WAIT ; x=1'],
    [5, 'wait=5'],
    [5, 'respond-async, wait = "5"; x=1'],
    [5, 'x', 'Wait=5, wait=9'],
    [0, 'wait=0'],
    [120, 'wait=121'],
    [120, 'wait=999999999'],
  ];
  for (const [seconds, ...values] of cases) {
    const raw = values.flatMap((value) => ['Prefer', value]);
    assert.equal(preferredWait(['Host', 'wait=7', ...raw]), seconds, values.join(' | '));
  }
});

describe('a submit that waits', () => {
  test('is answered with the output that response_url gives', async () => {
    const { reply, id } = await waiting();
    await finish(id);
    const { status, headers, body: output } = await reply;
    assert.equal(status, 200);
    assert.equal(headers.get('preference-applied'), 'wait');
    assert.equal(headers.get('idempotent-replayed'), null);
    assert.equal(headers.get('x-charge-usd-micro'), '10000');
    assert.equal(headers.get('x-ignored-fields'), null);
    assert.match(headers.get('location') ?? '', new RegExp(`^http.*/v1/requests/${id}/status$`));
    const kept = await account.get(`/v1/requests/${id}/response`);
    assert.deepEqual(output, kept.body);
    assert.equal((await service.call('GET', output.images[0].url)).status, 200);
  });

  test('names in a header the inputs that the model does not know', async () => {
    const misspelt = { ...body, promt: 'x', 'aspect ratio': '1:1', größe: 1, ['x'.repeat(200)]: 1 };
    const names = 'promt, aspect%20ratio, gr%C3%B6%C3%9Fe';
    const { reply, id } = await waiting({ body: misspelt });
    await finish(id);
    const { status, headers, body: output } = await reply;
    assert.deepEqual([status, output.unknown_inputs], [200, undefined]);
    assert.equal(headers.get('x-ignored-fields'), names);
    const usual = await submit('wait=0', { body: misspelt });
    assert.equal(usual.headers.get('x-ignored-fields'), names);
    assert.equal(usual.body.unknown_inputs.length, 4);
    await cancel(usual.body.request_id);
  });

  test('is answered as usual if the request does not end in time, and the job goes on', async () => {
    for (const wait of ['wait=1', 'wait=0', 'respond-async']) {
      const { status, headers, body: queued } = await submit(wait);
      assert.equal(status, 202);
      assert.equal(headers.get('preference-applied'), null);
      assert.equal(queued.status, 'IN_QUEUE');
      assert.equal((await cancel(queued.request_id)).status, 200);
    }
  });

  test('is answered as usual if the request ends without output', async () => {
    const ends: [string, (id: string) => Promise<unknown>][] = [
      ['CANCELLED', cancel],
      [
        'FAILED',
        async () => {
          service.fake.behave.start = () => ({ outcome: 'rejected', message: 'no cats' });
          await service.work();
          service.fake.behave = {};
        },
      ],
    ];
    const { available } = await service.balance(account);
    for (const [ending, end] of ends) {
      const { reply, id } = await waiting();
      await end(id);
      const { status, headers, body: queued } = await reply;
      assert.equal(status, 202, ending);
      assert.equal(headers.get('preference-applied'), null);
      assert.equal(queued.request_id, id);
      const { body: now } = await account.get(new URL(queued.status_url).pathname);
      assert.equal(now.status, ending);
    }
    assert.deepEqual(await service.balance(account), { available, reserved: 0n });
  });

  test('does the job once for all repeats, which get its output too', async () => {
    const headers = { 'idempotency-key': 'one-cat' };
    const { reply, id } = await waiting({ headers });
    const repeat = submit('wait=50', { headers });
    const usual = await submit('respond-async', { headers });
    assert.equal(usual.status, 200);
    assert.equal(usual.body.request_id, id);
    await service.work();
    await wake(service, id);
    await service.work();
    const first = await reply;
    const second = await repeat;
    const third = await submit('wait=50', { headers });
    for (const { status, headers: told, body: output } of [second, third]) {
      assert.equal(status, 200);
      assert.equal(told.get('idempotent-replayed'), 'true');
      assert.equal(told.get('preference-applied'), 'wait');
      assert.equal(told.get('x-charge-usd-micro'), '0');
      assert.deepEqual(output, first.body);
    }
    assert.deepEqual((await submit('wait=0', { headers })).body, usual.body);
    assert.equal(service.fake.starts.filter(({ request_id }) => request_id === id).length, 1);
    const other = await submit('wait=5', { headers, body: { prompt: 'a dog' } });
    assertRefused(other, 'idempotency_conflict');
  });

  test('loses nothing when its caller leaves: the job ends and its slot is free', async () => {
    const { app, base: at } = await service.another({ FAREBOX_STREAMS_MAX: '1' });
    const leave = new AbortController();
    const { reply, id } = await waiting({ base: at, signal: leave.signal }, app).then((call) => ({
      ...call,
      reply: call.reply.catch(() => 'left'),
    }));
    // The only slot is taken, so the next is answered at once and not refused.
    const queued = await submit('wait=50', { base: at });
    assert.equal(queued.status, 202);
    await cancel(queued.body.request_id);
    leave.abort();
    assert.equal(await reply, 'left');
    await service.work();
    await wake(service, id);
    await service.work();
    const { body: card } = await account.get(`/v1/requests/${id}`);
    assert.equal(card.status, 'COMPLETED');
    const { body: last } = await submit('wait=0');
    await until('the slot is free', async () => {
      const begun = performance.now();
      const { key } = account;
      const wait = `/v1/requests/${last.request_id}/status?wait=0.3`;
      await service.call('GET', wait, { key, base: at });
      return performance.now() - begun > 295;
    });
    await cancel(last.request_id);
  });

  test('is refused for an invalid number of seconds, before anything is reserved', async () => {
    const transfers = await service.transfers();
    for (const wait of ['wait=', 'wait=soon', 'wait=-1', 'wait=1.5', 'wait="5', 'wait=5 6'])
      assert.equal(assertRefused(await submit(wait), 'bad_request').param, 'Prefer', wait);
    assert.equal(await service.transfers(), transfers);
  });
});

test('a key that is revoked while its submit waits still gets the id', async () => {
  const eager = await startService({ times: { streamGrantsMs: 20 } });
  try {
    const { key, key_id } = await eager.account();
    eager.fake.behave.start = (job) => ({ ...accept(eager.fake, job), poll_after_ms: 60_000 });
    const reply = eager.call('POST', path, { key, body, headers: { prefer: 'wait=50' } });
    await until('it is reserved', async () => (await eager.transfers()) > 1);
    await keys.revoke(eager.db, key_id);
    const { status, body: queued } = await reply;
    assert.equal(status, 202);
    assert.match(queued.request_id, /^[0-9a-f-]{36}$/);
  } finally {
    await eager.stop();
  }
});
