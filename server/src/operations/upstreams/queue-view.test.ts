import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueueState } from '../../db/requests/queue.ts';
import { createQueueView, positionMax } from './queue-view.ts';

const queueAgeSeconds = 600;
const wanted = { model_id: 'one/model', upstream: 'slow', model: 'm', account_id: 'one' };

/** A view of a queue with this many requests, and the accounts whose waiting time was read. */
function viewOf(waiting: number, waitedOf: (account: string) => Promise<number>) {
  const state: QueueState = {
    upstream: 'slow',
    ids: Array.from({ length: waiting }, (_, i) => String(i).padStart(6, '0')),
    oldest_seconds: 5,
    paused_seconds: 0,
    paused_models: {},
    closed: false,
    stopped_models: {},
  };
  const asked: string[] = [];
  const view = createQueueView(
    async () => [state],
    (_upstream, account) => {
      asked.push(account);
      return waitedOf(account);
    },
    queueAgeSeconds,
  );
  return { view, asked };
}

test('the waiting time of an account is read once, however many calls it makes', async () => {
  const { view, asked } = viewOf(positionMax, async () => 1);
  const calls = Array.from({ length: 20 }, () => view.findClosed(wanted));
  assert.ok((await Promise.all(calls)).every((why) => why === null));
  await view.findClosed({ ...wanted, account_id: 'other' });
  await view.findClosed(wanted);
  assert.deepEqual(asked, ['one', 'other']);
});

test('only a long queue has it read', async () => {
  const { view, asked } = viewOf(positionMax - 1, async () => queueAgeSeconds + 1);
  assert.equal(await view.findClosed(wanted), null);
  assert.deepEqual(asked, []);
});

test('an account that has waited too long is refused, and no other', async () => {
  const { view } = viewOf(positionMax, async (account) =>
    account === 'one' ? queueAgeSeconds + 1 : 0,
  );
  assert.match((await view.findClosed(wanted))!.cause, /waited too long/);
  assert.equal(await view.findClosed({ ...wanted, account_id: 'other' }), null);
});

test('a read that failed is made again', async () => {
  let isAway = true;
  const { view, asked } = viewOf(positionMax, async () => {
    if (isAway) throw new Error('away');
    return 1;
  });
  await assert.rejects(view.findClosed(wanted), /away/);
  isAway = false;
  assert.equal(await view.findClosed(wanted), null);
  assert.equal(asked.length, 2);
});
