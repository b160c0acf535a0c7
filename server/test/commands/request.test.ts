/** `farebox request cancel` and `resolve`, beside a running service. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '../../src/lib/id.ts';
import { rawSql } from '../../src/lib/sql/sql.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { card, moneyOf, submitted } from '../worker/floor.ts';
import type { Cleaned } from '../db/embedded-kit.ts';
import { assertSaid, placeFor } from './cli.ts';

let service: Service;
let account: TestAccount;
before(async () => {
  service = await startService();
  account = await service.account();
});
after(() => service.audit().finally(() => service.stop()));

const commandsFor = (t: Cleaned) =>
  placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
const logged = () =>
  service.db.run<{ action: string; target: string; by_email: string }>(
    rawSql(`select action, target, by_email from operator_log where action like 'request.%'`),
  );

test('request cancel cancels a waiting request once, and leaves a running one', async (t) => {
  const place = commandsFor(t);
  const id = await submitted(service, account, { prompt: 'x' });
  const cancelled = await place.run(['request', 'cancel', id.toUpperCase(), '--json']);
  assert.deepEqual(cancelled.json, { request_id: id, status: 'CANCELLED' });
  assert.equal((await card(service, account, id)).status, 'CANCELLED');
  assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  const row = { action: 'request.cancel', target: id, by_email: 'command line' };
  assert.deepEqual(await logged(), [row]);

  service.fake.cancel = async () => assert.fail('the upstream is told to stop');
  service.fake.behave.poll = () => ({ state: 'running' });
  const running = await submitted(service, account, { prompt: 'x' });
  await service.work();
  for (const [which, status] of [
    [id, 'CANCELLED'],
    [running, 'IN_PROGRESS'],
  ] as const) {
    const again = await place.run(['request', 'cancel', which]);
    assertSaid(again, new RegExp(`Only a request that is IN_QUEUE can be cancelled; .* ${status}`));
  }
  assert.equal((await card(service, account, running)).status, 'IN_PROGRESS');
  assert.equal(await moneyOf(service, running), 'reserve 10000');
  for (const none of [newId(), 'x'])
    assertSaid(await place.run(['request', 'cancel', none]), /There is no request with the id/);
  assert.deepEqual(await logged(), [row], 'what is refused leaves no row');
});

test('request resolve books the cost of an unknown outcome, and of no other request', async (t) => {
  const place = commandsFor(t);
  const resolve = (id: string, ...more: string[]) =>
    place.run(['request', 'resolve', id, '--outcome', 'ran', '--cost-usd', '0.004', ...more]);
  service.fake.behave = {};
  const known = await submitted(service, account, { prompt: 'x' });
  await service.work();
  assertSaid(await resolve(known), /The outcome of this request is already known/);
  service.fake.class = 'C';
  service.fake.behave.start = () => ({ outcome: 'unknown', message: 'cut off' });
  const id = await submitted(service, account, { prompt: 'x' });
  await service.work();
  const money = await moneyOf(service, id);
  for (const [words, says] of [
    [['--outcome', 'maybe'], /--outcome must be ran or did_not_run/],
    [['--outcome', 'did_not_run', '--cost-usd', '1'], /--outcome ran needs --cost-usd/],
    [['--outcome', 'ran'], /--outcome ran needs --cost-usd/],
  ] as const)
    assertSaid(await place.run(['request', 'resolve', id, ...words]), says);
  assertSaid(
    await resolve(id, '--attempt', '1'),
    /Attempt 1 of request .* was not given up for another route/,
  );
  const done = await resolve(id, '--note', 'their invoice', '--json');
  assert.deepEqual([done.code, done.json.cost_usd_micro], [0, '4000']);
  assertSaid(await resolve(id), /already booked/);
  const costs = await service.db.run(
    rawSql('select cost_usd_micro as cost from request_results where request_id = $1', [id]),
  );
  assert.deepEqual(costs, [{ cost: 4000n }]);
  assert.equal(await moneyOf(service, id), money, 'the customer pays nothing');
  assertSaid(await resolve(newId()), /There is no request with the id/);
});
