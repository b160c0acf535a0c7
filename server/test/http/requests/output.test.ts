import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from '../../../src/lib/sql/sql.ts';
import { assertRefused } from '../../kit/refusal.ts';
import type { TestAccount } from '../../kit/service.ts';
import { requestIn, states, type State } from '../../kit/states.ts';
import { before, person, withWebService, type Person } from '../../kit/web.ts';

/** DELETE /requests/{request_id}/output: the bytes go, the card stays. */

let owner: Person;
let reader: Person;
const { service, account } = withWebService();
before(async () => {
  owner = await person(service, { [account.account_id]: 'owner' });
  reader = await person(service, { [account.account_id]: 'read_only' });
});

const remove = (id: string, by: TestAccount = account) =>
  service.call('DELETE', `/v1/requests/${id}/output`, { key: by.key });
const pathOf = (url: string) => url.replace(/^https?:\/\/[^/]+/, '');
const storedOf = (id: string) =>
  readdir(join(service.dir, 'media', 'outputs', id)).catch(() => [] as string[]);

async function moneyOf({ account_id }: TestAccount): Promise<unknown> {
  return service.db.run(sql`select * from balances where account_id = ${account_id}`);
}

describe('deleting the output of a completed request', () => {
  test('ends its links and its response at once, then its bytes, and leaves the card', async () => {
    const id = await requestIn(service, account, 'COMPLETED');
    const before = (await account.get(`/v1/requests/${id}`)).body;
    const [line] = (await account.get('/v1/requests?limit=1')).body.data;
    const [link] = before.output_urls.map(pathOf);
    assert.equal((await service.call('GET', link)).status, 200);
    const money = await moneyOf(account);

    const reply = await remove(id);
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(reply.body, { request_id: id, deleted: true });
    const gone = [
      link,
      pathOf(line.outputs[0].thumbnail_url),
      `/v1/requests/${id}/output/1`,
      `/v1/requests/${id}/response`,
    ];
    for (const path of gone) assertRefused(await account.get(path), 'expired');
    assertRefused(await service.call('GET', link), 'expired');
    await service.work();
    assert.deepEqual(await storedOf(id), []);
    for (const path of gone) assertRefused(await account.get(path), 'expired');

    const { output_urls, expires_at: _, ...card } = (await account.get(`/v1/requests/${id}`)).body;
    const { output_urls: _urls, expires_at: _at, ...same } = before;
    assert.deepEqual(output_urls, []);
    assert.deepEqual(card, same);
    const [after] = (await account.get('/v1/requests?limit=1')).body.data;
    assert.deepEqual(after, { ...line, outputs: [], expires_at: null });
    assert.deepEqual(await moneyOf(account), money, 'no money moved');
    await service.audit();
  });

  test('does the same twice, and after its day is over', async () => {
    const id = await requestIn(service, account, 'COMPLETED');
    for (let n = 0; n < 2; n++) assert.equal((await remove(id)).status, 200);
    await service.work();
    assert.equal((await remove(id)).status, 200);
  });

  test('reads an id in capitals', async () => {
    const id = await requestIn(service, account, 'COMPLETED');
    assert.equal((await remove(id.toUpperCase())).status, 200);
    assertRefused(await account.get(`/v1/requests/${id}/response`), 'expired');
  });

  test('deletes an output that is only words, too', async () => {
    const id = await requestIn(service, account, 'COMPLETED');
    await service.db.run(sql`
      with words as (delete from outputs where request_id = ${id})
      update requests set expires_at = null, wake_at = null where id = ${id}`);
    const path = `/v1/requests/${id}/response`;
    assert.deepEqual((await account.get(path)).body, { seed: 7 });
    assert.equal((await remove(id)).status, 200);
    assertRefused(await account.get(path), 'expired');
    assertRefused(await account.get(path), 'expired');
  });
});

describe('a request without an output', () => {
  const answers: Record<Exclude<State, 'COMPLETED'>, 200 | 409> = {
    IN_QUEUE: 409,
    claimed: 409,
    IN_PROGRESS: 409,
    FAILED: 200,
    CANCELLED: 200,
  };
  for (const state of states) {
    if (state === 'COMPLETED') continue;
    test(`that is ${state} gets ${answers[state]} and stays as it is`, async () => {
      const own = await service.account();
      const id = await requestIn(service, own, state);
      const before = (await own.get(`/v1/requests/${id}`)).body;
      const reply = await remove(id, own);
      assert.equal(reply.status, answers[state], reply.text);
      if (reply.status === 409) {
        const { details } = assertRefused(reply, 'request_not_ready');
        assert.equal(details.status, before.status);
      }
      assert.deepEqual((await own.get(`/v1/requests/${id}`)).body, before);
      await service.db.run(sql`
        update requests set wake_at = now() where id = ${id} and wake_at is not null`);
      await service.work();
    });
  }
});

describe('nobody else can delete an output', () => {
  test('with the key of another account, without a key, or with the signed link', async () => {
    const id = await requestIn(service, account, 'COMPLETED');
    const [url] = (await account.get(`/v1/requests/${id}`)).body.output_urls;
    assertRefused(await remove(id, await service.account()), 'not_found');
    assertRefused(await service.call('DELETE', `/v1/requests/${id}/output`), 'unauthorized');
    assert.ok([404, 405].includes((await service.call('DELETE', pathOf(url))).status));
    assert.equal((await service.call('GET', pathOf(url))).status, 200, 'it is still there');
    for (const odd of ['x', '0'.repeat(36)]) assertRefused(await remove(odd), 'not_found');
  });

  test('on the pages only people who may build', async () => {
    const id = await requestIn(service, account, 'COMPLETED');
    const by = (who: Person) =>
      who.of(account.account_id).call('DELETE', `/v1/requests/${id}/output`);
    assert.equal((await by(reader)).status, 403);
    assert.equal((await by(await person(service))).status, 404);
    assert.equal((await account.get(`/v1/requests/${id}/response`)).status, 200);
    assert.equal((await by(owner)).status, 200);
    assertRefused(await account.get(`/v1/requests/${id}/response`), 'expired');
  });
});
