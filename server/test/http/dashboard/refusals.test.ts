/** Refused calls: counted by key and code, and shown only to the account. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../src/lib/sql/sql.ts';
import { limitKey } from '../../kit/keys.ts';
import type { TestAccount } from '../../kit/service.ts';
import { until } from '../../kit/until.ts';
import { person, withWebService } from '../../kit/web.ts';

const { service } = withWebService();

const body = { prompt: 'a cat' };
const submit = ({ key }: TestAccount, more: object = {}) =>
  service.call('POST', '/v1/queue/fake/image', { key, body: { ...body, ...more } });
const refusedOf = async (account: TestAccount, role: 'owner' | 'read_only' = 'read_only') => {
  const who = await person(service, { [account.account_id]: role });
  return async () => (await who.of(account.account_id).call('GET', '/keys')).body.refused as any[];
};

test('refused calls are counted by key and code, in the list of keys and on the overview', async () => {
  const account = await service.account({ usd: 1, monthly_limit_usd_micro: 0n });
  const other = await service.account();
  for (let i = 0; i < 3; i++) assert.equal((await submit(account)).status, 402);
  assert.equal((await submit(account, { num_images: 99 })).status, 400);
  assert.equal((await submit(other)).status, 202);
  const missing = await account.get('/v1/requests/none');
  assert.equal(missing.status, 404);
  const refused = await refusedOf(account);
  const found = await until('they are counted', async () => {
    const rows = await refused();
    return rows.length === 2 && rows;
  });
  assert.deepEqual(found, [
    { key_id: account.key_id, name: 'test', code: 'key_limit_reached', calls: 3 },
    { key_id: account.key_id, name: 'test', code: 'unpriceable', calls: 1 },
  ]);
  const owner = await person(service, { [account.account_id]: 'owner' });
  const { body: overview } = await owner.of(account.account_id).call('GET', '/overview');
  assert.deepEqual(overview.refused, found);
  assert.deepEqual(await (await refusedOf(other))(), []);
  const [row] = await service.db.run<{ n: bigint }>(sql`select count(*) as n from transfers
    where account_id = ${account.account_id}`);
  assert.equal(row!.n, 1n);
});

test('a burst of refused calls is one row a code, which grows, and is forgotten after an hour', async () => {
  const account = await service.account({ usd: 0 });
  await limitKey(service.db, account.key_id, { rpm: 20 });
  const replies = await Promise.all(Array.from({ length: 60 }, () => submit(account)));
  const statuses = Map.groupBy(replies, ({ status }) => status);
  assert.deepEqual([statuses.get(402)!.length, statuses.get(429)!.length], [20, 40]);
  const refused = await refusedOf(account);
  await until('all are counted', async () => {
    const counts = Object.fromEntries((await refused()).map(({ code, calls }) => [code, calls]));
    return counts.insufficient_balance === 20 && counts.rate_limited === 40;
  });
  const rows = () =>
    service.db.run<{ calls: bigint }>(sql`select calls from refusals
      where account_id = ${account.account_id}`);
  assert.ok((await rows()).length <= 4);
  await submit(account);
  await until('one more', async () =>
    (await refused()).some(({ code, calls }) => code === 'rate_limited' && calls === 41),
  );
  await service.db.run(sql`update refusals set began_at = began_at - interval '70 minutes'
    where account_id = ${account.account_id}`);
  assert.deepEqual(await refused(), []);
});

test('refusals on the pages are not counted', async () => {
  const account = await service.account({ usd: 0 });
  const who = await person(service, { [account.account_id]: 'owner' });
  const tried = await who.of(account.account_id).call('POST', '/v1/queue/fake/image', body);
  assert.equal(tried.status, 402);
  assert.equal((await submit(account)).status, 402);
  const refused = await refusedOf(account);
  const rows = await until('the call of the key is counted', async () => {
    const all = await refused();
    return all.length > 0 && all;
  });
  assert.deepEqual(
    rows.map(({ key_id, calls }) => [key_id, calls]),
    [[account.key_id, 1]],
  );
});
