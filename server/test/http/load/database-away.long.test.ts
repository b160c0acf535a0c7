import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { startEmbedded, type EmbeddedServer } from '../../../src/db/embedded.ts';
import { sql } from '../../../src/lib/sql/sql.ts';
import { openEvents, type Events } from '../../kit/events.ts';
import { completion } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { startService, type Reply, type Service, type TestAccount } from '../../kit/service.ts';
import { delta, openTap, type Tap } from '../../kit/tap.ts';
import { until } from '../../kit/until.ts';

/** PostgreSQL is killed under the service, stays away, and comes back: the service stays up. */

const dir = mkdtempSync(join(tmpdir(), 'farebox-away-'));
const dataDir = join(dir, 'data');
const chat = {
  model: 'fake/chat',
  messages: [{ role: 'user', content: 'hello' }],
  max_tokens: 100,
};
let postgres: EmbeddedServer;
let service: Service;
let account: TestAccount;

before(async () => {
  // Under root PostgreSQL runs as another user, who needs access to the folder.
  chmodSync(dir, 0o711);
  postgres = await startEmbedded({ dataDir });
  const { host, port, user, database } = postgres.connection;
  const usual = process.env.FAREBOX_TEST_DATABASE;
  process.env.FAREBOX_TEST_DATABASE = `postgres://${user}@${encodeURIComponent(host)}:${port}/${database}`;
  // Open calls wait this long for the database to come back.
  const env = { FAREBOX_LEASE_SECONDS: '2', FAREBOX_STEP_TIMEOUT_SECONDS: '1' };
  service = await startService({ running: true, env });
  // Restores the setting of other files in this process.
  if (usual === undefined) delete process.env.FAREBOX_TEST_DATABASE;
  else process.env.FAREBOX_TEST_DATABASE = usual;
  account = await service.account();
});
after(async () => {
  await service.audit();
  await service.stop();
  await postgres.stop();
  rmSync(dir, { recursive: true, force: true });
});

const get = (path: string) => account.get(path);
const post = (path: string, body: unknown) => account.post(path, body);

test('while PostgreSQL runs and does not answer, readiness says so in time', async () => {
  const pids = [postgres.pid, ...(await backends())];
  let took: number;
  let ready: Reply;
  try {
    pids.forEach((pid) => process.kill(pid, 'SIGSTOP'));
    const begun = performance.now();
    ready = await service.call('GET', '/readyz');
    took = performance.now() - begun;
  } finally {
    pids.forEach((pid) => process.kill(pid, 'SIGCONT'));
  }
  assert.deepEqual(assertRefused(ready, 'capacity_unavailable').details, { failing: 'database' });
  // A health check waits for 5 s.
  assert.ok(took < 4_000, `${took} ms`);
  await until('it is ready', async () => (await service.call('GET', '/readyz')).status === 200);
});

/** PIDs of the backends that serve connections. */
async function backends(): Promise<number[]> {
  const found = await service.db.run<{ pid: number }>(sql`select pid from pg_stat_activity
    where backend_type = 'client backend'`);
  return found.map(({ pid }) => pid);
}

describe('while PostgreSQL is away', () => {
  let link: string;
  let id: string;
  let queued: string;
  let stream: Events;
  let tap: Tap;
  let reply: Promise<Reply>;
  let watching: Events;
  let lines: number;

  before(async () => {
    id = (await post('/v1/queue/fake/image', { prompt: 'x' })).body.request_id;
    await until(
      'it is done',
      async () => (await get(`/v1/requests/${id}`)).body.status === 'COMPLETED',
    );
    const { url } = (await get(`/v1/requests/${id}/response`)).body.images[0];
    link = new URL(url).pathname + new URL(url).search;
    service.fake.behave.poll = () => ({ state: 'running', poll_after_ms: 60_000 });
    queued = (await post('/v1/queue/fake/image', { prompt: 'x' })).body.request_id;
    await until(
      'it runs',
      async () => (await get(`/v1/requests/${queued}`)).body.status === 'IN_PROGRESS',
    );
    watching = await openEvents(service.base, `/v1/requests/${queued}/status/stream`, {
      key: account.key,
    });
    await watching.next();
    const taps: Tap[] = [];
    const answer = Promise.withResolvers<void>();
    service.fake.behave.chat = async (call) => {
      if (call.stream) {
        taps.push(openTap(call));
        return taps[0]!.outcome;
      }
      await answer.promise;
      return {
        outcome: 'reply',
        reply: completion('hi', { prompt_tokens: 5, completion_tokens: 2 }),
      };
    };
    const body = { ...chat, stream: true };
    stream = await openEvents(service.base, '/v1/chat/completions', { key: account.key, body });
    tap = taps[0]!;
    reply = post('/v1/chat/completions', chat);
    await until(
      'both are reserved',
      async () => (await service.balance(account)).reserved > 2n * 348n,
    );
    lines = service.log.length;
    // Nothing restarts PostgreSQL before the test does.
    await postgres.release();
    process.kill(postgres.pid, 'SIGKILL');
    await until('it is gone', async () => (await get(`/v1/requests/${id}`)).status !== 200);
    answer.resolve();
  });

  const keyed: [method: string, path: () => string, body?: unknown][] = [
    ['POST', () => '/v1/queue/fake/image', { prompt: 'x' }],
    ['POST', () => '/v1/chat/completions', chat],
    ['POST', () => '/v1/chat/completions', { ...chat, stream: true }],
    ['POST', () => '/v1/estimate', { model_id: 'fake/image', input: { prompt: 'x' } }],
    ['POST', () => '/v1/files', 'text'],
    ['GET', () => '/v1/requests'],
    ['GET', () => `/v1/requests/${id}`],
    ['GET', () => `/v1/requests/${id}/status`],
    ['GET', () => `/v1/requests/${id}/status/stream`],
    ['GET', () => `/v1/requests/${id}/response`],
    ['POST', () => `/v1/requests/${id}/cancel`],
    ['PUT', () => `/v1/requests/${id}/cancel`],
    ['GET', () => `/v1/requests/${id}/output/0`],
    ['GET', () => link],
  ];
  test('every call that needs it gets 503 with Retry-After, and none an internal error', async () => {
    const calls = keyed.map(async ([method, path, body]) => {
      const answered = await service.call(method, path(), { key: account.key, body });
      assertRefused(answered, 'capacity_unavailable', { about: `${method} ${path()}` });
    });
    await Promise.all(calls);
  });

  test('calls that do not need it are answered', async () => {
    for (const path of [
      '/livez',
      '/metrics',
      '/v1/models',
      '/v1/models/fake/chat',
      '/v1/llms.txt',
      '/v1/openapi.json',
    ]) {
      assert.equal((await service.call('GET', path)).status, 200, path);
    }
    assertRefused(await service.call('GET', '/v1/none'), 'not_found');
    assertRefused(
      await service.call('POST', '/v1/estimate', { key: 'fbx_no', body: {} }),
      'unauthorized',
    );
  });

  test('readiness names it', async () => {
    const ready = await service.call('GET', '/readyz');
    assert.deepEqual(assertRefused(ready, 'capacity_unavailable').details, { failing: 'database' });
  });

  test('an open chat call gets the error too, a stream in its last chunk', async () => {
    assertRefused(await reply, 'capacity_unavailable');
    tap.push(delta('hi', 'stop'));
    tap.end();
    const events = await stream.rest();
    assert.equal(await stream.closed, true);
    assert.equal(events.at(-1)!.data, '[DONE]');
    assert.equal(JSON.parse(events.at(-2)!.data).error.type, 'server_error');
  });

  test('nothing is logged as an internal error', () => {
    const faults = service.log.slice(lines).filter((line) => line.includes('internal_error'));
    assert.deepEqual(faults, []);
  });

  test('once it is back everything goes on, without a restart', async () => {
    service.fake.behave = {};
    postgres = await startEmbedded({ dataDir });
    await until('it is ready', async () => (await service.call('GET', '/readyz')).status === 200);
    const more = await post('/v1/queue/fake/image', { prompt: 'x' });
    assert.equal(more.status, 202, more.text);
    await service.wakeAll();
    for (const request of [more.body.request_id, queued]) {
      await until(
        'it is done',
        async () => (await get(`/v1/requests/${request}`)).body.status === 'COMPLETED',
        15_000,
      );
    }
    assert.match((await watching.rest()).at(-1)!.data, /"COMPLETED"/);
    assert.equal((await service.call('GET', link)).status, 200);
    // A request that could not be settled is released when it is due, at no cost.
    await until(
      'nothing is reserved',
      async () => (await service.balance(account)).reserved === 0n,
    );
    const { available } = await service.balance(account);
    assert.equal(available, 100_000_000n - 3n * 10_000n);
    const again = await post('/v1/chat/completions', chat);
    assert.equal(again.headers.get('x-charge-usd-micro'), '9');
  });
});
