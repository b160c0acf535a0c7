import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { App } from '../../src/app.ts';
import { claimQueued } from '../../src/db/requests/queue.ts';
import type { StartOutcome } from '../../src/upstreams/upstream.ts';
import { accept, images } from '../kit/fake.ts';
import { before, withService } from '../kit/with-service.ts';
import { card, fenced, gate, moneyOf, rowOf, submitted, wake } from './floor.ts';

/**
 * If a slow worker's lease ends, another worker takes the request, and the first one's write
 * changes nothing.
 */

let second: App;
const { service, account } = withService();
before(async () => {
  second = (await service.another()).app;
});
beforeEach(() => void (service.fake.behave = {}));

const startsOf = (id: string) => service.fake.starts.filter(({ request_id }) => request_id === id);

async function since<T>(work: () => Promise<T>): Promise<Record<string, number>> {
  const before = await fenced(service.app);
  await work();
  const now = await fenced(service.app);
  return Object.fromEntries(
    Object.entries(now)
      .map(([to, count]) => [to, count - (before[to] ?? 0)])
      .filter(([, count]) => count !== 0),
  );
}

describe('the late write of a worker whose lease was over', () => {
  const lates: [what: string, outcome: (id: string) => StartOutcome, to: string][] = [
    ['a finished generation', () => ({ outcome: 'done', result: images(1) }), 'COMPLETED'],
    ['a refusal', () => ({ outcome: 'rejected', message: 'late' }), 'FAILED'],
    ['an accepted job', (id) => ({ outcome: 'accepted', handle: { key: id } }), 'accepted'],
    ['an answer that was lost', () => ({ outcome: 'unknown', message: 'late' }), 'wait'],
    ['a job that was not accepted', () => ({ outcome: 'not_accepted', message: 'late' }), 'wait'],
  ];
  for (const [what, outcome, to] of lates) {
    test(`${what}: is dropped and counted; the second one's result stands, charged once`, async () => {
      const slow = gate();
      service.fake.behave.start = async (job, self) => {
        if (self.starts.filter(({ request_id }) => request_id === job.request_id).length > 1)
          return accept(self, job);
        await slow.pass();
        return outcome(job.request_id);
      };
      const id = await submitted(account);
      const first = service.app.worker!.runOnce();
      await slow.reached;
      assert.equal(
        (await rowOf(service, id)).status,
        'IN_PROGRESS',
        'the intent is committed before the call',
      );
      await wake(service, id);
      assert.equal(await second.worker!.runOnce(), 1);
      await wake(service, id);
      await second.worker!.runOnce();
      const counted = await since(async () => {
        slow.open();
        await first;
      });
      assert.deepEqual(counted, { [to]: 1 });
      const { status, charged_usd_micro, output_urls } = await card(account, id);
      assert.deepEqual([status, charged_usd_micro, output_urls.length], ['COMPLETED', '10000', 1]);
      assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
      assert.equal(new Set(startsOf(id).map(({ idempotency_key }) => idempotency_key)).size, 1);
    });
  }

  test("of a poll: dropped, and the other worker's output is kept", async () => {
    const slow = gate();
    let polls = 0;
    service.fake.behave.poll = async () => {
      if (++polls > 1) return { state: 'done', result: images(1) };
      await slow.pass();
      return { state: 'failed', code: 'upstream_failed', message: 'late' };
    };
    const id = await submitted(account);
    await service.app.worker!.runOnce();
    await wake(service, id);
    const first = service.app.worker!.runOnce();
    await slow.reached;
    await wake(service, id);
    await second.worker!.runOnce();
    assert.equal((await rowOf(service, id)).status, 'COMPLETED');
    assert.deepEqual(
      await since(async () => {
        slow.open();
        await first;
      }),
      { FAILED: 1 },
    );
    const { output_urls, status } = await card(account, id);
    assert.equal(status, 'COMPLETED');
    const output = await service.call(
      'GET',
      new URL(output_urls[0]).pathname + new URL(output_urls[0]).search,
    );
    assert.equal(output.status, 200);
  });
});

test('a claim whose worker died before it began is taken again, and nothing was sent twice', async () => {
  const id = await submitted(account);
  const [claimed] = await claimQueued(service.db, { upstream: 'fake', concurrency: 1_000 }, 1, 60);
  assert.equal(claimed!.id, id);
  await service.work();
  assert.equal(startsOf(id).length, 0, 'its lease runs');
  await wake(service, id);
  await service.work();
  await wake(service, id);
  await service.work();
  assert.equal(startsOf(id).length, 1);
  assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
});

test('no other worker claims a request whose lease runs', async () => {
  const slow = gate();
  service.fake.behave.start = async (job, self) => {
    await slow.pass();
    return accept(self, job);
  };
  const id = await submitted(account);
  const first = service.app.worker!.runOnce();
  await slow.reached;
  const { wakes_in } = await rowOf(service, id);
  assert.ok(wakes_in! > 50, String(wakes_in));
  assert.equal(await second.worker!.runOnce(), 0);
  slow.open();
  await first;
  assert.equal(startsOf(id).length, 1);
});
