import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { App } from '../../src/app.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { accept, createFake, images } from '../kit/fake.ts';
import { isLong } from '../kit/long.ts';
import type { TestAccount } from '../kit/service.ts';
import { before, withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { submitted } from './floor.ts';

/** The order of claims and the number of running jobs, seen from the upstream. */

const slots = 4;
let second: App;
const { service, fake } = withService({ fake: createFake({ concurrency: slots }) });
before(async () => {
  second = (await service.another()).app;
});
beforeEach(() => {
  fake.behave = {};
  fake.starts.length = 0;
});

/** Finishes every job in its first answer, so that each round of the worker frees all slots. */
function finishAtOnce(): void {
  fake.behave.start = () => ({ outcome: 'done', result: images(1) });
}

/** Submits all at once. The ids are in the order of acceptance. */
async function queue(account: TestAccount, count: number): Promise<string[]> {
  const ids = await Promise.all(Array.from({ length: count }, () => submitted(account)));
  return ids.toSorted();
}

/** Runs all waiting requests in few rounds. */
async function workOff(): Promise<void> {
  fake.concurrency = 1_000;
  while ((await service.app.worker!.runOnce()) > 0);
  fake.concurrency = slots;
}

describe('a turn', () => {
  test('comes to every account: an account with many requests keeps no other waiting', async () => {
    finishAtOnce();
    const many = await service.account({ open_jobs: 1_000 });
    const others = await Promise.all(Array.from({ length: 10 }, () => service.account()));
    const crowd = isLong ? 200 : 50;
    await queue(many, crowd);
    const single = (await Promise.all(others.map((account) => queue(account, 1)))).flat();
    for (let round = 0; round < 3; round++)
      assert.equal(await service.app.worker!.runOnce(), slots);
    const started = fake.starts.map(({ request_id }) => request_id);
    assert.equal(started.length, 12);
    assert.deepEqual(
      single.filter((id) => !started.includes(id)),
      [],
      'each of the ten has started within one turn',
    );
    await workOff();
    assert.equal(fake.starts.length, crowd + 10);
  });

  test('comes next to a new account, while another one has many waiting and all slots', async () => {
    const many = await service.account({ open_jobs: 1_000 });
    await queue(many, 20);
    let release = () => {};
    fake.behave.start = () =>
      new Promise((resolve) => {
        const earlier = release;
        release = () => {
          earlier();
          resolve({ outcome: 'done', result: images(1) });
        };
      });
    const round = service.app.worker!.runOnce();
    await until('all slots are taken', () => fake.starts.length === slots);
    const [newcomer] = await queue(await service.account(), 1);
    finishAtOnce();
    release();
    await round;
    await service.app.worker!.runOnce();
    assert.ok(
      fake.starts.slice(slots, 2 * slots).some(({ request_id }) => request_id === newcomer),
    );
    await workOff();
  });

  test('within an account is first come, first served', async () => {
    finishAtOnce();
    const account = await service.account({ open_jobs: 1_000 });
    const ids = await queue(account, 30);
    while ((await service.app.worker!.runOnce()) > 0);
    const order = fake.starts.map(({ request_id }) => ids.indexOf(request_id));
    // The jobs of a round start together.
    const rounds = Array.from({ length: Math.ceil(30 / slots) }, (_, i) =>
      order.slice(i * slots, (i + 1) * slots),
    );
    assert.deepEqual(
      rounds.flatMap((round) => round.toSorted((a, b) => a - b)),
      Array.from({ length: 30 }, (_, i) => i),
    );
  });
});

describe('the slots of an upstream', () => {
  test('are never exceeded by two workers at once, and all used', async () => {
    const running = new Set<string>();
    let most = 0;
    const polls = new Map<string, number>();
    fake.behave.start = (job, self) => {
      running.add(job.request_id);
      most = Math.max(most, running.size);
      return accept(self, job);
    };
    fake.behave.poll = ({ key }) => {
      const id = String(key);
      polls.set(id, (polls.get(id) ?? 0) + 1);
      if (polls.get(id)! < 2) return { state: 'running', poll_after_ms: 0 };
      running.delete(id);
      return { state: 'done', result: images(1) };
    };
    const accounts = await Promise.all(Array.from({ length: 6 }, () => service.account()));
    const ids = (await Promise.all(accounts.map((account) => queue(account, 10)))).flat();
    const works = [service.app, second].map(async ({ worker }) => {
      await until(
        'all are done',
        async () => {
          await worker!.runOnce();
          const [row] = await service.db.run<{ n: bigint }>(sql`select count(*) as n from requests
            where status in ('IN_QUEUE', 'IN_PROGRESS')`);
          return row!.n === 0n;
        },
        20_000,
      );
    });
    await Promise.all(works);
    assert.equal(most, slots);
    assert.deepEqual(
      fake.starts.map(({ request_id }) => request_id).toSorted(),
      ids.toSorted(),
      'each was started once',
    );
    const rows = await service.db.run(sql`select distinct status, charged_usd_micro from requests
      where id = any(${ids}::uuid[])`);
    assert.deepEqual(rows, [{ status: 'COMPLETED', charged_usd_micro: 10_000n }]);
  });

  test('are free again after a failure, a refusal and a cancellation', async () => {
    const account = await service.account();
    fake.behave.start = () => ({ outcome: 'rejected', message: 'no' });
    await queue(account, slots * 3);
    for (let round = 0; round < 3; round++)
      assert.equal(await service.app.worker!.runOnce(), slots);
    assert.equal(fake.starts.length, slots * 3);
    const [row] = await service.db.run<{ n: bigint }>(sql`select count(*) as n from requests
      where slot`);
    assert.equal(row!.n, 0n);
  });

  test('are kept by a start that has to be made again', async () => {
    const account = await service.account();
    fake.behave.start = () => ({ outcome: 'not_accepted', message: 'busy' });
    await queue(account, slots + 2);
    await service.app.worker!.runOnce();
    await service.db.run(rawSql('update upstreams set failures = 0, paused_until = null'));
    assert.equal(await service.app.worker!.runOnce(), 0);
    finishAtOnce();
    await service.wakeAll();
    await workOff();
    assert.equal(fake.starts.length, slots * 2 + 2);
  });
});

describe('a worker with two lanes of work', () => {
  test('takes at most its limit at a time', async () => {
    const { app } = await service.another({ FAREBOX_WORKER_CONCURRENCY: '3' });
    fake.concurrency = 1_000;
    finishAtOnce();
    const account = await service.account();
    await queue(account, 10);
    const counts: number[] = [];
    for (let count = 1; count > 0;) counts.push((count = await app.worker!.runOnce()));
    fake.concurrency = slots;
    assert.ok(counts.every((count) => count <= 3) && counts.includes(2), String(counts));
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      10,
      'and nothing twice',
    );
  });
});
