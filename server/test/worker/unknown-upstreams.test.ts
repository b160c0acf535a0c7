import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { before, withService } from '../kit/with-service.ts';
import { moneyOf, rowOf, submitted, wake } from './floor.ts';

/** Running jobs at an upstream whose definition or variable was removed. */

const { service, account } = withService();
before(async () => {
  service.fake.behave.poll = () => ({ state: 'running' });
});

const told = () =>
  service.log
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg === 'jobs run at an upstream that is not set up here')
    .map(({ level, upstream, jobs }) => [level, upstream, jobs]);

/** Running jobs whose rows now name another upstream. */
async function stranded(name: string, count: number, handle = 'handle'): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) ids.push(await submitted(account));
  await service.app.worker!.runOnce();
  await service.db.run(rawSql('update requests set upstream = $2 where id = any($1)', [ids, name]));
  const text = `update attempts set upstream = $2, handle = ${handle} where request_id = any($1)`;
  await service.db.run(rawSql(text, [ids, name]));
  return ids;
}

async function lookedAt(ids: string[]): Promise<void> {
  for (const id of ids) {
    await wake(service, id);
    await service.app.worker!.runOnce();
  }
}

test('are logged once a minute for each upstream, with their number, and keep waiting', async () => {
  const polls = () => [...service.fake.jobs.values()].reduce((sum, { polls: n }) => sum + n, 0);
  const ids = await stranded('gone', 2);
  const before = polls();
  await lookedAt([...ids, ...ids]);
  assert.deepEqual(told(), [[40, 'gone', 2]]);
  const [lost] = await stranded('lost', 1, 'null');
  await lookedAt([lost!]);
  assert.deepEqual(told().slice(1), [[40, 'lost', 1]], 'also where the answer was lost');
  for (const id of [...ids, lost!]) {
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    assert.equal(await moneyOf(service, id), 'reserve 10000');
  }
  assert.equal(polls(), before, 'no other upstream is asked for them');
});
