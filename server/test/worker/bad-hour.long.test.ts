import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { createFake, images } from '../kit/fake.ts';
import { isLong } from '../kit/long.ts';
import type { TestAccount } from '../kit/service.ts';
import { catalogOf, chatRow, imageRow } from '../kit/rows.ts';
import { before, withService } from '../kit/with-service.ts';
import { rowOf } from './floor.ts';

/** An upstream that answers 500 for many minutes. Time passes by moving rows of the database. */

const rows = (id: string, ...upstreams: object[]) => [
  chatRow(`${id}/chat`, { upstreams }),
  imageRow(`${id}/image`, { upstreams }),
];
const own = { upstream: 'fake', model: 'a' };
const catalog = catalogOf(
  ...rows('both', own, { upstream: 'other', model: 'b' }),
  ...rows('only', own),
);

const minutes = isLong ? 10 : 5;
let accounts: TestAccount[];
const other = createFake({ name: 'other', class: 'C' });
const { service, fake } = withService({ catalog, upstreams: [other] });
before(async () => {
  for (const each of [fake, other]) each.synchronous = new Set(['text-to-image']);
  other.behave.start = () => ({ outcome: 'done', result: images(1) });
  fake.class = 'C';
  const broken = { outcome: 'unknown', message: 'answered 500' } as const;
  fake.behave = { chat: () => broken, start: () => broken };
  accounts = [await service.account(), await service.account()];
});

/** Lets a minute pass: makes failures older, and pauses and due times nearer. */
async function minutePasses(): Promise<void> {
  await service.db.run(sql`update upstreams set failed_at = failed_at - interval '1 min',
      other_failed_at = other_failed_at - interval '1 min',
      paused_until = paused_until - interval '1 min'`);
  await service.wakeAll();
  await service.work();
}

async function talk(model: string, { key }: TestAccount): Promise<number> {
  const messages = [{ role: 'user', content: 'hi' }];
  const body = { model, max_tokens: 5, messages };
  return (await service.call('POST', '/v1/chat/completions', { key, body })).status;
}

async function draw(model: string, { key }: TestAccount): Promise<string | null> {
  const call = { key, body: { prompt: 'x' } };
  const { status, body } = await service.call('POST', `/v1/queue/${model}`, call);
  // While the upstream is paused, submits are refused and reserve nothing.
  assert.ok(status === 202 || status === 503, String(status));
  return status === 202 ? body.request_id : null;
}

async function ends(ids: (string | null)[]): Promise<string[]> {
  const taken = await Promise.all(ids.flatMap((id) => (id === null ? [] : rowOf(service, id))));
  return [...new Set(taken.map(({ status, error_code }) => `${status} ${error_code}`))];
}

test('with a second route no chat fails, and every image is made', async () => {
  const ids: (string | null)[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    for (const account of accounts) {
      assert.equal(await talk('both/chat', account), 200, `minute ${minute}`);
      ids.push(await draw('both/image', account));
    }
    await minutePasses();
  }
  assert.equal(ids.includes(null), false, 'none was refused');
  assert.deepEqual(await ends(ids), ['COMPLETED null']);
});

test('without a second route each request fails soon, and none waits for its deadline', async () => {
  await service.db.run(rawSql('delete from upstreams'));
  const ids: (string | null)[] = [];
  for (let minute = 0; minute < minutes; minute++) {
    for (const account of accounts) {
      const status = await talk('only/chat', account);
      assert.ok(status === 502 || status === 503, `minute ${minute}: ${status}`);
      ids.push(await draw('only/image', account));
    }
    await service.work();
    assert.deepEqual(
      await service.db.run(rawSql(`select id from requests where status = 'IN_PROGRESS'`)),
      [],
      `minute ${minute}: what was sent has ended`,
    );
    await minutePasses();
  }
  // Requests that were not sent before a pause wait for its end.
  await service.db.run(rawSql('update upstreams set paused_until = null'));
  await service.work();
  assert.deepEqual(await ends(ids), ['FAILED outcome_unknown']);
  const [sums] = await service.db.run<{ charged: bigint }>(sql`
    select sum(charged_usd_micro)::bigint as charged from requests
      where model_id like 'only/%'`);
  assert.equal(sums!.charged, 0n);
  for (const account of accounts) assert.equal((await service.balance(account)).reserved, 0n);
});
