import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { sql } from '../../src/lib/sql/sql.ts';
import type { TestAccount } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { serveHttp, type LocalServer } from '../lib/local-server.ts';

/** Notifications share a worker with jobs: hanging receivers take only a part of it. */

let receiver: LocalServer;
after(async () => {
  // Ends the calls under way.
  await receiver.close();
});
const { service } = withService(async () => {
  // The receiver never answers.
  receiver = await serveHttp(() => {});
  return {
    env: {
      FAREBOX_WORKER_CONCURRENCY: '16',
      FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${receiver.port}`,
    },
  };
});

async function submit({ key }: TestAccount, query = ''): Promise<string> {
  const call = { key, body: { prompt: 'x' } };
  const { status, body } = await service.call('POST', `/v1/queue/fake/image${query}`, call);
  assert.equal(status, 202, JSON.stringify(body));
  return body.request_id;
}

const posted = (path: string) => receiver.requests.filter(({ url }) => url === path).length;

test('hanging receivers delay neither jobs nor other notifications, and lose none of their own', async () => {
  const worker = service.app.worker!;
  const [hog, other] = await Promise.all([service.account(), service.account()]);
  const hook = (path: string) => `?webhook_url=${encodeURIComponent(`${receiver.url}${path}`)}`;
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) ids.push(await submit(hog, hook('/hog')));
  for (const id of ids) await service.call('POST', `/v1/requests/${id}/cancel`, { key: hog.key });
  const rounds: Promise<number>[] = [];
  // A round waits for the work that it began; hanging rounds end with the test.
  const round = () => rounds.push(worker.runOnce().catch(() => 0));
  round();
  await until('the share of one account is under way', async () => posted('/hog') === 2);
  round();
  const cancelled = await submit(other, hook('/other'));
  await service.call('POST', `/v1/requests/${cancelled}/cancel`, { key: other.key });
  const job = await submit(other);
  await until('the others are served', async () => {
    round();
    const { body } = await service.call('GET', `/v1/requests/${job}/status`, { key: other.key });
    return posted('/other') === 1 && body.status === 'COMPLETED';
  });
  assert.equal(posted('/hog'), 2, 'one account took more than its share');
  assert.ok(worker.inFlight() <= 4, 'nothing else is under way');
  const waiting = await service.db.run(sql`
    select from requests where account_id = ${hog.account_id} and webhook_state = 'pending'
       and wake_at is not null`);
  assert.equal(waiting.length, 20, 'each is still to be sent');
});
