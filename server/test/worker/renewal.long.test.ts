import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { App } from '../../src/app.ts';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { images } from '../kit/fake.ts';
import { before, withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { card, gate, moneyOf, rowOf, submitted } from './floor.ts';

/** If a step lasts longer than its lease, the lease is renewed while the step may run. */

let second: App;
const { service, account } = withService({
  env: { FAREBOX_LEASE_SECONDS: '2', FAREBOX_STEP_TIMEOUT_SECONDS: '0.5' },
});
before(async () => {
  second = (await service.another()).app;
});
beforeEach(() => {
  service.fake.behave = {};
  delete service.fake.start_seconds;
});

const leaseEnd = async (id: string) =>
  (
    await service.db.run<{ at: Date; leased: boolean }>(sql`select wake_at as at, leased
      from requests where id = ${id}`)
  )[0]!;

describe('an upstream that answers only when the job is done', () => {
  test('keeps the request beyond its first lease; nobody else begins it', async () => {
    const slow = gate();
    let signal: AbortSignal | undefined;
    service.fake.start_seconds = 60;
    service.fake.behave.start = async (job) => {
      ({ signal } = job);
      await slow.pass();
      return { outcome: 'done', result: images(1) };
    };
    const id = await submitted(account);
    const first = service.app.worker!.runOnce();
    await slow.reached;
    const { at } = await leaseEnd(id);
    await until('the first lease would be over', async () => {
      const now = await leaseEnd(id);
      const [{ over }] = (await service.db.run<{ over: boolean }>(sql`select now() > ${at} as
        over`)) as [{ over: boolean }];
      return over && now.at > at;
    });
    assert.equal(await second.worker!.runOnce(), 0);
    assert.equal(signal!.aborted, false, 'it was told to stop');
    slow.open();
    await first;
    const { output_urls } = await until('it is completed', async () => {
      await service.work();
      const seen = await card(account, id);
      return seen.status === 'COMPLETED' ? seen : null;
    });
    assert.equal(output_urls.length, 1);
    assert.equal(service.fake.starts.filter(({ request_id }) => request_id === id).length, 1);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('is given up after the usual time if it has no time of its own', async () => {
    let signal: AbortSignal | undefined;
    service.fake.behave.start = (job) => {
      ({ signal } = job);
      return new Promise((_, reject) => {
        job.signal.addEventListener('abort', () => reject(job.signal.reason));
      });
    };
    const id = await submitted(account);
    await service.app.worker!.runOnce();
    assert.equal(signal!.aborted, true);
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS', 'its answer may have been lost');
    service.fake.behave = {};
  });
});

test('a step whose lease is lost is aborted, and its result changes nothing', async () => {
  const slow = gate();
  let reason: unknown;
  service.fake.start_seconds = 60;
  service.fake.behave.start = async (job) => {
    job.signal.addEventListener('abort', () => (reason = job.signal.reason));
    await slow.pass();
    return { outcome: 'done', result: images(1) };
  };
  const id = await submitted(account);
  const first = service.app.worker!.runOnce();
  await slow.reached;
  // As another worker would claim it after a pause of this whole process.
  await service.db.run(rawSql('update requests set attempt = attempt + 1 where id = $1', [id]));
  await until('it is told', async () => reason !== undefined);
  assert.match(String(reason), /lease was lost/);
  slow.open();
  await first;
  assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
  assert.equal(await moneyOf(service, id), 'reserve 10000');
});

test('an adapter that ignores the abort is left behind, and the request is free for the next step', async () => {
  service.fake.behave.start = () => new Promise<never>(() => {});
  const id = await submitted(account);
  await service.app.worker!.runOnce();
  const { leased } = await leaseEnd(id);
  assert.equal(leased, false);
  assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
  assert.equal(service.app.worker!.inFlight(), 0);
});
