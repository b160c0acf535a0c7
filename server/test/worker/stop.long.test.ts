import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { accept, images, tinyPng } from '../kit/fake.ts';
import { isLong } from '../kit/long.ts';
import { startService, type Service, type ServiceOptions } from '../kit/service.ts';
import { until } from '../kit/until.ts';
import { card, gate, moneyOf, rounds, rowOf, submitted } from './floor.ts';

/** Stopping, time limits, and working without hints or for a while without a database. */

let service: Service;
async function start(options: ServiceOptions = {}): Promise<Service> {
  service = await startService(options);
  return service;
}
afterEach(async () => {
  await service.audit();
  await service.stop();
});

describe('a worker that is stopped', () => {
  test('hands back at once the requests that it has not begun, and another worker takes them', async () => {
    const { fake, db } = await start();
    const account = await service.account();
    const upload = await account.upload(tinyPng, 'image/png');
    const id = await submitted(account, { prompt: 'x', image_url: upload.body.file_id });
    const { app } = await service.another();
    // The step waits while it reads its file, before anything is sent.
    const [held, locked] = [gate(), gate()];
    const lock = db.tx(async (tx) => {
      await tx.run(rawSql('lock table files in access exclusive mode'));
      locked.open();
      await held.pass();
    });
    await locked.pass();
    const round = service.app.worker!.runOnce();
    await until('it waits for the lock', async () => {
      const rows = await db.run(sql`select 1 from pg_stat_activity where wait_event_type = 'Lock'
        and query like '%from files%'`);
      return rows.length > 0;
    });
    assert.deepEqual(
      [(await rowOf(service, id)).slot, (await rowOf(service, id)).status],
      [true, 'IN_QUEUE'],
    );
    const stopped = service.app.worker!.stop(0);
    // The time to stop in order is over.
    await pause(20);
    held.open();
    await Promise.all([lock, round, stopped]);
    const row = await rowOf(service, id);
    assert.deepEqual([row.status, row.slot, fake.starts.length], ['IN_QUEUE', false, 0]);
    assert.ok(row.wakes_in! <= 0, String(row.wakes_in));
    assert.equal(await app.worker!.runOnce(), 1, 'no lease has to end first');
    assert.equal(fake.starts.length, 1);
  });

  test('lets running steps end within the time to stop', async () => {
    const { fake, app } = await start();
    const slow = gate();
    fake.behave.start = async () => {
      await slow.pass();
      return { outcome: 'done', result: images(1) };
    };
    const account = await service.account();
    const id = await submitted(account);
    void app.worker!.runOnce();
    await slow.reached;
    let isStopped = false;
    const stopped = app.worker!.stop(10_000).then(() => (isStopped = true));
    await pause(20);
    assert.equal(isStopped, false);
    slow.open();
    await stopped;
    assert.equal((await rowOf(service, id)).status, 'COMPLETED');
    assert.equal(app.worker!.inFlight(), 0);
  });

  test('aborts a call that takes longer; another worker recovers it, charged once', async () => {
    const { fake, app } = await start();
    fake.behave.start = (job, self) => {
      const outcome = accept(self, job);
      if (self.starts.length > 1) return outcome;
      return new Promise((_, reject) => {
        job.signal.addEventListener('abort', () => reject(new Error('given up')));
      });
    };
    const account = await service.account();
    const id = await submitted(account);
    void app.worker!.runOnce();
    await until('it has begun', () => fake.starts.length === 1);
    const began = performance.now();
    await app.worker!.stop(30);
    assert.ok(performance.now() - began < 3_000);
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS', 'it may be running there');
    const other = (await service.another()).app;
    await service.wakeAll();
    await other.worker!.runOnce();
    await service.wakeAll();
    await other.worker!.runOnce();
    assert.deepEqual([(await rowOf(service, id)).status, fake.jobs.size], ['COMPLETED', 1]);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('claims nothing more', async () => {
    const { fake, app } = await start({ running: true });
    const account = await service.account();
    await app.worker!.stop(1_000);
    const id = await submitted(account);
    // The worker's loop has ended, so this waits for nothing.
    await app.worker!.run();
    const row = await rowOf(service, id);
    assert.deepEqual(
      [row.status, row.slot, row.attempt, fake.starts.length],
      ['IN_QUEUE', false, 0, 0],
    );
  });

  test('is not blocked by a step that never ends', async () => {
    const { fake, app } = await start();
    const slow = gate();
    fake.behave.start = async (job, self) => {
      await slow.pass();
      return accept(self, job);
    };
    const account = await service.account();
    await submitted(account);
    const round = app.worker!.runOnce();
    await slow.reached;
    const began = performance.now();
    await app.worker!.stop(20);
    assert.ok(performance.now() - began < 4_000);
    assert.equal(app.worker!.inFlight(), 1, 'it is left behind');
    slow.open();
    await round;
  });
});

describe('a step that takes too long', () => {
  test('is cut off before its lease ends, and made again', async () => {
    const { fake } = await start({ env: { FAREBOX_STEP_TIMEOUT_SECONDS: '0.1' } });
    let polls = 0;
    const { poll } = fake;
    fake.poll = (handle, signal) => {
      if (++polls > 1) return poll(handle, signal);
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason)),
      );
    };
    const account = await service.account();
    const id = await submitted(account);
    await rounds(service, 3);
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.equal(polls, 2);
    assert.ok(
      service.log.some(
        (line) => line.includes('step failed, will be tried again') && line.includes(id),
      ),
    );
  });

  test('in a start leaves its outcome unknown: sent again under the same key if that is safe', async () => {
    const { fake } = await start({ env: { FAREBOX_STEP_TIMEOUT_SECONDS: '0.1' } });
    fake.behave.start = (job, self) => {
      const outcome = accept(self, job);
      if (self.starts.length > 1) return outcome;
      return new Promise((_, reject) =>
        job.signal.addEventListener('abort', () => reject(job.signal.reason)),
      );
    };
    const account = await service.account();
    const id = await submitted(account);
    await rounds(service, 4);
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.deepEqual(
      fake.starts.map(({ idempotency_key }) => idempotency_key),
      [id, id],
    );
    assert.equal(fake.jobs.size, 1);
  });

  test('may not be allowed as long as its lease', async () => {
    await start();
    await assert.rejects(
      service.another({ FAREBOX_STEP_TIMEOUT_SECONDS: '60', FAREBOX_LEASE_SECONDS: '60' }),
      /less than FAREBOX_LEASE_SECONDS/,
    );
  });
});

describe('two processes', () => {
  for (const notify of ['on', 'off']) {
    test(`with NOTIFY ${notify}: one takes the call, the other does the work, and the waiting call is answered`, async () => {
      await start({ env: { FAREBOX_NOTIFY: notify }, times: { checkMs: 50 } });
      const { app } = await service.another();
      void app.worker!.run();
      const account = await service.account();
      const id = await submitted(account);
      const { body } = await account.get(`/v1/requests/${id}/status?wait=10`);
      assert.notEqual(body.status, 'IN_QUEUE');
      await until('it is done', async () => (await rowOf(service, id)).status === 'COMPLETED');
      assert.equal((await account.get(`/v1/requests/${id}/response`)).status, 200);
      const listening = await service.db.run(sql`select 1 from pg_stat_activity
        where datname = current_database() and query = 'listen farebox'`);
      assert.equal(listening.length, notify === 'on' ? 2 : 0);
    });
  }
});

describe('when every connection to the database is cut', () => {
  test('the worker goes on as soon as there is one again, and nothing is charged twice', async () => {
    // If the connection breaks during a claim, the claimed rows are due again when the lease ends.
    const env = { FAREBOX_LEASE_SECONDS: '1.5', FAREBOX_STEP_TIMEOUT_SECONDS: '1' };
    const { fake, db } = await start({ running: true, env });
    const account = await service.account({ open_jobs: 1_000 });
    const ids: string[] = [];
    const patient = (i: number) =>
      until('it is taken', async () => {
        const reply = await service.call('POST', '/v1/queue/fake/image', {
          key: account.key,
          body: { prompt: 'a cat' },
          headers: { 'idempotency-key': `${i}` },
        });
        assert.ok([200, 202, 503].includes(reply.status), reply.text);
        return reply.status === 503 ? null : (reply.body.request_id as string);
      });
    for (let i = 0; i < (isLong ? 30 : 10); i++) {
      ids.push(await patient(i));
      if (i % 10 !== 5) continue;
      const admin = await db.connect();
      await admin.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
      );
      await admin.end();
    }
    const unfinished = rawSql(`select 1 from requests where status <> 'COMPLETED' limit 1`);
    const isDone = async () => (await db.run(unfinished).catch(() => [1])).length === 0;
    await until('all are done', isDone);
    for (const id of ids) assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    assert.equal(fake.jobs.size, ids.length);
  });
});
