import assert from 'node:assert/strict';
import { after, before, describe, mock, test } from 'node:test';
import { DiskStorage } from '../../src/storage/disk.ts';
import { assertRefused } from '../kit/refusal.ts';
import { startService, type Reply, type Service, type TestAccount } from '../kit/service.ts';
import { traces } from '../kit/traces.ts';
import { until } from '../kit/until.ts';

/** While the disk is nearly full: no new work, and everything that was taken on goes on. */

const headers = { 'idempotency-key': 'before' };
const chat = { model: 'fake/chat', messages: [{ role: 'user', content: 'hi' }] };
let service: Service;
let account: TestAccount;
let low: string;
before(async () => {
  service = await startService();
  account = await service.account();
});
after(async () => {
  mock.restoreAll();
  await service.audit();
  await service.stop();
});

const submit = (base = low, more = {}) =>
  service.call('POST', '/v1/queue/fake/image', {
    key: account.key,
    body: { prompt: 'x' },
    base,
    ...more,
  });

const ready = async (base: string): Promise<Reply> => service.call('GET', '/readyz', { base });

describe('a disk that is nearly full', () => {
  let earlier: Reply;
  before(async () => {
    earlier = await submit(service.base, { headers });
    assert.equal((await ready(service.base)).status, 200);
    mock.method(DiskStorage.prototype, 'freeBytes', async () => 255 * 1024 * 1024);
    ({ base: low } = await service.another());
    await until('it is noticed', async () => (await ready(low)).status === 503);
  });

  test('is what /readyz names', async () => {
    assert.match((await ready(low)).text, /disk space/);
  });

  test('refuses submits, chat calls and uploads with 503, and keeps nothing of them', async () => {
    const before = await traces(service);
    const { key } = account;
    const type = { 'content-type': 'image/png' };
    const calls = [
      submit(),
      submit(low, { headers: { 'idempotency-key': 'new' } }),
      service.call('POST', '/v1/chat/completions', { key, body: chat, base: low }),
      service.call('POST', '/v1/files', { key, raw: 'x', headers: type, base: low }),
    ];
    for (const reply of await Promise.all(calls)) {
      assertRefused(reply, 'capacity_unavailable');
      assert.match(reply.headers.get('retry-after')!, /^[1-9]\d*$/);
      assert.doesNotMatch(reply.text, /disk/, 'what it lacks is nothing to the caller');
    }
    assert.deepEqual(await traces(service), before);
  });

  test('still answers the repeat of a call it took before, and its status', async () => {
    const again = await submit(low, { headers });
    assert.equal(again.status, 200);
    assert.equal(again.body.request_id, earlier.body.request_id);
    const path = `/v1/requests/${earlier.body.request_id}/status`;
    assert.equal((await service.call('GET', path, { key: account.key, base: low })).status, 200);
  });
});
