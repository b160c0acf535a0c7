/**
 * Limits of sums of usage, which read all requests of their days: number at a time, and duration.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { startService, type Reply, type Service } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { until } from '../../kit/until.ts';
import { operatorKey } from '../operator/world.ts';

let impatient: Service;
const { service } = withService({ times: { usageSumMs: 3_600_000, shareWaitMs: 200 } });
before(async () => void (impatient = await startService({ times: { usageSumMs: 300 } })));
after(() => impatient.stop());

const sum = (of: Service, key: string) =>
  of.call('GET', '/v1/usage?by=day', { key, base: of.base });

/** Runs `work` while a lock keeps sums from reading their rows. */
async function locked(of: Service, work: () => Promise<unknown>): Promise<void> {
  await of.db.tx(async (tx) => {
    await tx.run(rawSql('lock table request_results in access exclusive mode'));
    await work();
  });
}

const waiting = async (count: number) => {
  const [row] = await service.db.run<{ n: number }>(sql`
    select count(*)::int as n from pg_locks where not granted
      and relation = 'request_results'::regclass`);
  return row!.n === count;
};

test('an account adds up once at a time, and a process for two accounts; others wait', async () => {
  const [a, b, c] = await Promise.all([1, 2, 3].map(() => service.account()));
  const read: Promise<Reply>[] = [];
  await locked(service, async () => {
    read.push(sum(service, a!.key));
    await until('the first sum waits', () => waiting(1));
    const second = await sum(service, a!.key);
    const { details } = assertRefused(second, 'rate_limited');
    assert.deepEqual(details, { reason: 'account_share', usage_sums_limit: 1 });
    assert.equal(second.headers.get('retry-after'), '2');
    read.push(sum(service, b!.key));
    await until('the sum of another account waits', () => waiting(2));
    const third = await sum(service, c!.key);
    assertRefused(third, 'capacity_unavailable');
    assert.ok(third.headers.get('retry-after'));
    assertRefused(await sum(service, b!.key), 'rate_limited');
    assert.ok(await waiting(2), 'refused calls use no connection');
  });
  for (const reply of await Promise.all(read)) assert.equal(reply.status, 200, reply.text);
  for (const { key } of [a!, b!, c!])
    await until('it can add up again', async () => (await sum(service, key)).status === 200);
});

test('a sum that takes too long is cancelled, and asks for fewer days', async () => {
  const { key } = await impatient.account();
  await locked(impatient, async () => {
    const error = assertRefused(await sum(impatient, key), 'bad_request');
    assert.equal(error.param, 'from');
    assert.match(error.message, /fewer days/);
    assertRefused(await sum(impatient, key), 'bad_request', { about: 'its turn was given back' });
  });
});

test("an operator's sum that takes too long is cancelled, and asks for fewer days", async () => {
  const { key } = await operatorKey(impatient);
  const path = '/v1/operator/usage?by=key';
  const ask = () => impatient.call('GET', path, { key, base: impatient.base });
  await locked(impatient, async () => {
    assert.match(assertRefused(await ask(), 'bad_request').message, /fewer days/);
  });
  await until('the sum is quick enough', async () => (await ask()).status === 200);
});
