/** Usage of past days is read from stored sums, which say what the requests say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readUsageOf, type AccountGroups } from '../../../src/db/accounts/usage-sums.ts';
import { storeDay } from '../../../src/db/accounts/usage-days.ts';
import { audit } from '../../../src/ledger/audit.ts';
import { rawSql, type Connection } from '../../../src/lib/sql/sql.ts';
import { rollUpUsage } from '../../../src/operations/accounts/roll-up.ts';
import { mend } from '../../../src/operations/mend.ts';
import { refund } from '../../kit/by-command-line.ts';
import { completion } from '../../kit/fake.ts';
import { createKey } from '../../kit/keys.ts';
import type { TestAccount } from '../../kit/service.ts';
import { before, withService } from '../../kit/with-service.ts';
import { chargedRequest, ok } from '../operator/world.ts';

const day = (daysAgo: number) =>
  new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
const period = { from: day(9), to: day(-1) };

let other: TestAccount;
const { service, account: own } = withService();
before(async () => {
  other = await service.account();
  const second = await createKey(service.db, { account_id: own.account_id, name: 'second' });
  for (const [n, key] of [own.key, second.key, own.key, other.key, own.key].entries())
    await service.db.run(rawSql(endedDaysAgo, [2 + (n % 3), await chat(key), n % 2 === 0]));
  service.fake.behave.chat = () => ({ outcome: 'not_accepted', message: 'full' });
  await service.call('POST', '/v1/chat/completions', { key: own.key, body: chatBody });
  service.fake.behave = {};
  const { request_id } = ok(await own.post('/v1/queue/fake/image', { prompt: 'x' }), 202);
  ok(await own.post(`/v1/requests/${request_id}/cancel`));
  const image = await chargedRequest(service, own);
  const money = { amount: 4_000n, reference: 'black', reason: 'it was black' };
  await refund(service.db, { request_id: image, ...money });
});

const chatBody = { model: 'fake/chat', messages: [{ role: 'user', content: 'x' }], max_tokens: 10 };
const endedDaysAgo = `with moved as (
    update request_results set created_at = created_at - $1 * interval '1 day'
    where request_id = $2 returning request_id)
  update requests set person_id = case when $3::boolean then id end
  where id = (select request_id from moved)`;

async function chat(key: string): Promise<string> {
  const tokens = { prompt_tokens: 5, completion_tokens: 2 };
  service.fake.behave.chat = () => ({ outcome: 'reply', reply: completion('hi', tokens) });
  const reply = await service.call('POST', '/v1/chat/completions', { key, body: chatBody });
  service.fake.behave = {};
  return ok(reply).id.replace('chatcmpl-', '');
}

/** Nobody gives this name, and stored days do not know names: so all requests are read. */
const unstored = ',metadata.nobody';
const asked = async (by: string, key = own.key): Promise<any[]> =>
  ok(await service.call('GET', `/v1/usage?by=${by}&from=${period.from}&to=${period.to}`, { key }))
    .data;
const stored = (db: Connection = service.db) =>
  db.run<{ day: string; account_id: string }>(
    rawSql(`select to_char(day, 'YYYY-MM-DD') as day, account_id from usage_days order by day`),
  );

const all = 'day,model,key,person';
const allGroups: AccountGroups['by'][] = [
  ['day', 'model', 'key', 'person'],
  ['day'],
  ['model'],
  ['key'],
  ['person'],
];

test('sums of each grouping are those of the requests, also when asked again', async () => {
  const groupings = [all, 'day', 'model', 'key', 'person', 'key,person'];
  const read = async (suffix: string, key?: string) => {
    const sums: any[] = [];
    for (const by of groupings)
      sums.push((await asked(by + suffix, key)).map((line) => ({ ...line, metadata: {} })));
    return sums;
  };
  const [ofOwn, ofOther] = [await read(unstored), await read(unstored, other.key)];
  assert.deepEqual(await stored(), []);
  assert.ok(ofOwn[0].length > 4 && ofOther[0].length === 1);
  for (let again = 0; again < 2; again++) {
    assert.deepEqual(await read(''), ofOwn);
    assert.deepEqual(await read('', other.key), ofOther);
  }
  const days = (await stored()).filter(({ account_id }) => account_id === own.account_id);
  assert.ok(days.length >= 3 && days.every((each) => each.day < day(0)), 'today is not stored');
  await service.audit();
});

test('a request that ends later counts at once, and in no stored day', async () => {
  const [before, days] = [await asked('day'), await stored()];
  await chat(own.key);
  const [was, is] = [before, await asked('day')].map((lines) => lines.at(-1));
  assert.deepEqual([is.day, is.completed], [day(0), was.completed + 1]);
  assert.deepEqual((await asked('day')).slice(0, -1), before.slice(0, -1));
  assert.deepEqual(await stored(), days);
});

test('a day with refunds, failures and cancelled jobs is stored as it is read', async () => {
  const today = { from: day(0), to: day(-1) };
  const undo = new Error('undo');
  const work = service.db.tx(async (tx) => {
    const store = (until: string) =>
      storeDay(tx, own.account_id, { day: today.from, until: new Date(until) });
    const [{ middle }] = (await tx.run<{ middle: string }>(
      rawSql('select created_at as middle from request_results order by 1 desc limit 1 offset 1'),
    )) as [{ middle: string }];
    await store(middle);
    assert.equal((await stored(tx)).filter((each) => each.day === today.from).length, 1);
    await store(today.to);
    await store(middle);
    const query = {
      account_id: own.account_id,
      names: [],
      ...today,
      model_id: null,
      key_id: null,
      metadata: null,
      above: null,
      limit: 100,
    };
    for (const by of allGroups) {
      const of = (isStored: boolean) => readUsageOf(tx, { ...query, by, isStored });
      const read = await of(false);
      assert.deepEqual(await of(true), read);
      const charged = read.reduce((sum, line) => sum + line.charged_usd_micro, 0n);
      assert.equal(charged, 10_000n - 4_000n + 9n);
      assert.equal(
        read.reduce((sum, line) => sum + line.failed, 0n),
        1n,
      );
    }
    const of = { ...query, model_id: 'fake/image', key_id: own.key_id, isStored: true };
    const [image] = await readUsageOf(tx, { ...of, by: ['day'] });
    assert.equal(image!.charged_usd_micro, 6_000n);
    throw undo;
  });
  await assert.rejects(work, undo);
});

test('two first calls at a time store each day once', async () => {
  await service.db.run(rawSql('with d as (delete from usage_rollups) delete from usage_days'));
  const roll = () => rollUpUsage(service.db, own.account_id, period, 60_000);
  const [one, two] = await Promise.all([roll(), roll()]);
  assert.equal(one, two);
  await service.audit();
  assert.ok((await stored()).length >= 3);
});

test('long past days are not stored, so that nobody fills the table with them', async () => {
  const marks = () => service.db.run(rawSql('select from usage_rollups'));
  const before = await marks();
  assert.deepEqual(ok(await own.get('/v1/usage?by=day&from=2020-01-01&to=2020-02-01')).data, []);
  assert.equal((await marks()).length, before.length);
});

test('an audit finds a changed day, and a mend has it stored again', async () => {
  const right = await asked(all);
  await service.db.run(
    rawSql(
      'update usage_days set charged_usd_micro = charged_usd_micro + 1 where account_id = $1',
      [own.account_id],
    ),
  );
  assert.notDeepEqual(await asked(all), right, 'past days are read from the table');
  const { violations } = await audit(service.db);
  assert.deepEqual(
    violations.map(({ law }) => law),
    ['usage_days_recompute'],
  );
  const { mended } = await mend(service.db);
  assert.deepEqual(
    mended.map(({ account_id, counter }) => [account_id, counter]),
    [[own.account_id, 'daily_usage']],
  );
  assert.deepEqual(await asked(all), right);
  await service.audit();
});
