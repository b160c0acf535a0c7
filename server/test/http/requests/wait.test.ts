import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { accept } from '../../kit/fake.ts';
import { held } from '../../kit/held.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { startService, type Reply, type Service } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { requestIn, wake } from '../../kit/states.ts';
import { until } from '../../kit/until.ts';

/** GET …/status?wait=SECONDS is held until the status changes, and no longer. */

let other: Awaited<ReturnType<Service['another']>>;
// Only hints end a wait here: the service checks by itself once an hour.
const { service, account } = withService({ times: { checkMs: 3_600_000 } });
before(async () => void (other = await service.another()));

function status(id: string, wait = '', base = service.base): Promise<Reply> {
  return account.get(`/v1/requests/${id}/status${wait}`, { base });
}

/** A waiting call at one of the processes, and the time for which it was held. */
async function waiting(
  id: string,
  at: { app: Service['app']; base: string } = service,
  asked = '?wait=50',
) {
  const begun = performance.now();
  const { reply } = await held(
    at.app,
    () => status(id, asked, at.base),
    () => status(id, '', at.base),
  );
  const timed = reply.then((answer) => ({
    ...answer,
    seconds: (performance.now() - begun) / 1000,
  }));
  return { reply: timed };
}

describe('a call that waits', () => {
  const changes: [string, 'IN_QUEUE' | 'IN_PROGRESS', (id: string) => Promise<unknown>, string][] =
    [
      ['a cancel', 'IN_QUEUE', (id) => account.post(`/v1/requests/${id}/cancel`), 'CANCELLED'],
      ['the start', 'IN_QUEUE', () => startOnly(), 'IN_PROGRESS'],
      [
        'the end',
        'IN_PROGRESS',
        async (id) => {
          await wake(service, id);
          await service.work();
        },
        'COMPLETED',
      ],
      [
        'the failure',
        'IN_PROGRESS',
        async (id) => {
          service.fake.behave = {
            poll: () => ({ state: 'failed', code: 'upstream_failed', message: 'no' }),
          };
          await wake(service, id);
          await service.work();
          service.fake.behave = {};
        },
        'FAILED',
      ],
    ];
  for (const [name, from, change, to] of changes) {
    test(`is answered at ${name}`, async () => {
      const id = await requestIn(service, account, from);
      const { reply } = await waiting(id);
      await change(id);
      const { body, seconds } = await reply;
      assert.equal(body.status, to);
      assert.ok(seconds < 10, `held for ${seconds} s`);
      await finishAll();
    });
  }

  test('until the end is held through the start, and answered at the end', async () => {
    for (const asked of ['?wait=50&until=final', '?until=final']) {
      const id = await requestIn(service, account, 'IN_QUEUE');
      const { reply } = await waiting(id, service, asked);
      let answered = false;
      void reply.then(() => (answered = true));
      const { reply: anyChange } = await waiting(id, service, '?wait=50&until=change');
      await startOnly();
      assert.equal((await anyChange).body.status, 'IN_PROGRESS');
      assert.equal(answered, false);
      await wake(service, id);
      await service.work();
      assert.equal((await reply).body.status, 'COMPLETED');
    }
  });

  test('is answered at a change that another process makes', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    const { reply } = await waiting(id, other);
    await account.post(`/v1/requests/${id}/cancel`);
    const { body, seconds } = await reply;
    assert.equal(body.status, 'CANCELLED');
    assert.ok(seconds < 10, `held for ${seconds} s`);
  });

  test('is answered without any hint between processes, only a moment later', async () => {
    const deaf = await startService({ times: { checkMs: 50 }, env: { FAREBOX_NOTIFY: 'off' } });
    try {
      const { key } = await deaf.account();
      const second = await deaf.another();
      const call = { key, base: second.base };
      const { body } = await deaf.call('POST', '/v1/queue/fake/image', {
        key,
        body: { prompt: 'x' },
      });
      const path = `/v1/requests/${body.request_id}`;
      const { reply } = await held(
        second.app,
        () => deaf.call('GET', `${path}/status?wait=50`, call),
        () => deaf.call('GET', `${path}/status`, call),
      );
      await deaf.call('POST', `${path}/cancel`, { key });
      assert.equal((await reply).body.status, 'CANCELLED');
    } finally {
      await deaf.stop();
    }
  });

  test('is not answered by progress, which is no change of the status', async () => {
    const id = await requestIn(service, account, 'IN_PROGRESS');
    const { reply } = await waiting(id);
    let answered = false;
    void reply.then(() => (answered = true));
    service.fake.behave = {
      poll: () => ({ state: 'running', progress: 0.75, poll_after_ms: 60_000 }),
    };
    await wake(service, id);
    await service.work();
    service.fake.behave = {};
    await until('the progress is told', async () => (await status(id)).body.progress === 0.75);
    assert.equal(answered, false);
    await wake(service, id);
    await service.work();
    assert.equal((await reply).body.status, 'COMPLETED');
  });

  test('of many callers are all answered by one change', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    const calls = [];
    for (let i = 0; i < 5; i++) calls.push(await waiting(id));
    await account.post(`/v1/requests/${id}/cancel`);
    for (const { reply } of calls) assert.equal((await reply).body.status, 'CANCELLED');
  });

  test('is answered with the same status at its timeout', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    for (const seconds of ['0.2', '0.25', '00.2']) {
      const begun = performance.now();
      const reply = await status(id, `?wait=${seconds}`);
      const held_ms = performance.now() - begun;
      assert.equal(reply.body.status, 'IN_QUEUE');
      assert.equal(reply.headers.get('retry-after'), '2');
      assert.ok(held_ms >= Number(seconds) * 1000 - 5 && held_ms < 5_000, `held for ${held_ms} ms`);
    }
    await account.post(`/v1/requests/${id}/cancel`);
  });

  test('is answered at once if there is nothing to wait for', async () => {
    const [done, queued] = [
      await requestIn(service, account, 'COMPLETED'),
      await requestIn(service, account, 'IN_QUEUE'),
    ];
    const cases: [string, string][] = [
      [done, '?wait=60'],
      [done, '?wait=0'],
      [queued, '?wait=0'],
      [queued, ''],
      [queued, '?wait=0.0'],
    ];
    for (const [id, wait] of cases) {
      const begun = performance.now();
      assert.equal((await status(id, wait)).status, 200);
      assert.ok(performance.now() - begun < 5_000, wait);
    }
    await account.post(`/v1/requests/${queued}/cancel`);
  });

  test('gives its slot back when its caller goes away', async () => {
    const { app, base } = await service.another({ FAREBOX_STREAMS_MAX: '1' });
    const id = await requestIn(service, account, 'IN_QUEUE');
    const leave = new AbortController();
    const call = { key: account.key, base, signal: leave.signal };
    const { reply } = await held(
      app,
      () => service.call('GET', `/v1/requests/${id}/status?wait=50`, call).catch(() => 'left'),
      () => status(id, '', base),
    );
    const isHeld = async () => {
      const begun = performance.now();
      await status(id, '?wait=1', base);
      return performance.now() - begun > 995;
    };
    assert.equal(await isHeld(), false);
    leave.abort();
    assert.equal(await reply, 'left');
    await until('the only slot is free', isHeld);
    await account.post(`/v1/requests/${id}/cancel`);
  });

  test('cannot read requests of another account', async () => {
    const id = await requestIn(service, account, 'IN_QUEUE');
    const stranger = await service.account();
    const begun = performance.now();
    const reply = await stranger.get(`/v1/requests/${id}/status?wait=50`);
    assertRefused(reply, 'not_found');
    assert.ok(performance.now() - begun < 5_000);
    await account.post(`/v1/requests/${id}/cancel`);
  });
});

describe('a wait that is no number of seconds up to 60', () => {
  const wrong = [
    '61',
    '60.1',
    '99',
    '100',
    '-1',
    '1e1',
    '0x5',
    '1,5',
    'NaN',
    'Infinity',
    'true',
    '',
    '%201',
    '.5',
    '5.',
    '1.2345',
    '999999999999999999999',
    '1&wait=2',
    '%00',
    '٣',
  ];
  let done: string;
  before(async () => void (done = await requestIn(service, account, 'COMPLETED')));
  for (const value of wrong) {
    test(`is refused: ${value}`, async () => {
      const text = encodeURI(value).replaceAll('%25', '%');
      const reply = await status(done, `?wait=${text}`);
      assert.equal(assertRefused(reply, 'bad_request').param, 'wait');
    });
  }
  test('is refused before the request is looked up', async () => {
    const reply = await status('00000000-0000-7000-8000-000000000000', '?wait=soon');
    assertRefused(reply, 'bad_request');
  });
});

/** Lets the queued requests begin, but not end. */
async function startOnly(): Promise<void> {
  service.fake.behave = {
    start: (job) => ({ ...accept(service.fake, job), poll_after_ms: 60_000 }),
  };
  await service.work();
  service.fake.behave = {};
}

async function finishAll(): Promise<void> {
  await service.wakeAll();
  await service.work();
}
