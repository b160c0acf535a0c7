/** `farebox request cancel` and `resolve`, beside a running service. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { newId } from '../../src/lib/id.ts';
import { sql } from '../../src/lib/sql/sql.ts';
import { withService } from '../kit/with-service.ts';
import { card, moneyOf, submitted } from '../worker/floor.ts';
import type { Cleanup } from '../db/embedded-kit.ts';
import { assertSaid, placeFor } from './cli.ts';
import { imageRow } from './upstream-kit.ts';

const { service, account } = withService();

const commandsFor = (t: Cleanup) =>
  placeFor(t, { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' });
const logged = () =>
  service.db.run<{ action: string; target: string; by_email: string }>(sql`select action, target,
    by_email from operator_log where action like 'request.%'`);

test('request cancel cancels a waiting request once, and leaves a running one', async (t) => {
  const place = commandsFor(t);
  const id = await submitted(account, { prompt: 'x' });
  const cancelled = await place.run(['request', 'cancel', id.toUpperCase(), '--json']);
  assert.deepEqual(cancelled.json, { request_id: id, status: 'CANCELLED' });
  assert.equal((await card(account, id)).status, 'CANCELLED');
  assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  const row = { action: 'request.cancel', target: id, by_email: 'command line' };
  assert.deepEqual(await logged(), [row]);

  service.fake.cancel = async () => assert.fail('the upstream is told to stop');
  service.fake.behave.poll = () => ({ state: 'running' });
  const running = await submitted(account, { prompt: 'x' });
  await service.work();
  for (const [which, status] of [
    [id, 'CANCELLED'],
    [running, 'IN_PROGRESS'],
  ] as const) {
    const again = await place.run(['request', 'cancel', which]);
    assertSaid(again, new RegExp(`Only a request that is IN_QUEUE can be cancelled; .* ${status}`));
  }
  assert.equal((await card(account, running)).status, 'IN_PROGRESS');
  assert.equal(await moneyOf(service, running), 'reserve 10000');
  for (const none of [newId(), 'x'])
    assertSaid(await place.run(['request', 'cancel', none]), /There is no request with the id/);
  assert.deepEqual(await logged(), [row], 'what is refused leaves no row');
});

test('request cancel --running asks a job to stop if its row offers that', async (t) => {
  const place = commandsFor(t);
  service.fake.behave.poll = () => ({ state: 'running' });
  const id = await submitted(account, { prompt: 'x' });
  await service.work();
  const run = (...more: string[]) => place.run(['request', 'cancel', id, '--running', ...more]);
  assertSaid(await run(), /whose row has on_cancel, can be cancelled; .* IN_PROGRESS/);
  const row = imageRow('fake/image', 'm').replace('task:', 'on_cancel: free, task:');
  const file = path.join(place.env.FAREBOX_CATALOG!, 'test.yaml');
  fs.writeFileSync(file, `upstream: sandbox\nmodels:\n${row}\n`);
  const { json } = await run('--json');
  assert.deepEqual([json.request_id, json.status], [id, 'IN_PROGRESS']);
  assert.equal((await card(account, id)).cancel_requested_at, json.cancel_requested_at);
  assert.match((await run()).stdout, /is asked to stop\./);
  assert.match((await place.run(['request', 'show', id])).stdout, /^cancel {5}asked 20/m);
  const stopped = { state: 'stopped', code: 'upstream_failed', message: 'x' } as const;
  service.fake.cancel = async () => void (service.fake.behave.poll = () => stopped);
  await service.wakeAll();
  await service.work();
  await service.wakeAll();
  await service.work();
  assert.equal((await card(account, id)).status, 'CANCELLED');
  service.fake.cancel = undefined as never;
});

test('request resolve books the cost of an unknown outcome, and of no other request', async (t) => {
  const place = commandsFor(t);
  const resolve = (id: string, ...more: string[]) =>
    place.run(['request', 'resolve', id, '--outcome', 'ran', '--cost-usd', '0.004', ...more]);
  service.fake.behave = {};
  const known = await submitted(account, { prompt: 'x' });
  await service.work();
  assertSaid(await resolve(known), /The outcome of this request is already known/);
  service.fake.class = 'C';
  service.fake.behave.start = () => ({ outcome: 'unknown', message: 'cut off' });
  const id = await submitted(account, { prompt: 'x' });
  await service.work();
  const money = await moneyOf(service, id);
  for (const [words, says] of [
    [['--outcome', 'maybe'], /--outcome <outcome>.*Allowed choices are ran, did_not_run/],
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
  const costs = await service.db.run(sql`select cost_usd_micro as cost from request_results
    where request_id = ${id}`);
  assert.deepEqual(costs, [{ cost: 4000n }]);
  assert.equal(await moneyOf(service, id), money, 'the customer pays nothing');
  assertSaid(await resolve(newId()), /There is no request with the id/);
});

test('request show and list take the numbers of a call', async (t) => {
  const place = commandsFor(t);
  const own = await service.account();
  const submit = async (headers = {}) => {
    const call = { key: own.key, body: { prompt: 'x' }, headers };
    const { headers: told, body } = await service.call('POST', '/v1/queue/fake/image', call);
    return { id: body.request_id, number: told.get('x-request-id')! };
  };
  const repeated = { 'idempotency-key': 'k', 'x-request-id': 'order-7' };
  const first = await submit(repeated);
  const repeat = await submit(repeated);
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const shared = { traceparent: `00-${trace}-00f067aa0ba902b7-01` };
  const many = [await submit(shared), await submit(shared)];
  // A caller's own number may be another request's id.
  const foreign = await submit({ 'x-request-id': first.id });

  for (const number of [first.id, first.number, repeat.number, 'order-7', ` ${first.number}`]) {
    const { json } = await place.run(['request', 'show', number, '--json']);
    assert.deepEqual(
      [json.request_id, json.call_id, json.caller_id],
      [first.id, first.number, 'order-7'],
      number,
    );
  }
  const words = await place.run(['request', 'show', 'order-7']);
  assert.match(words.stdout, new RegExp(`call +${first.number}, the caller's order-7`));
  const several = await place.run(['request', 'show', trace, '--json']);
  assert.deepEqual(
    several.json.data.map((row: any) => row.request_id),
    many.map(({ id }) => id).toReversed(),
  );
  const listed = await place.run(['request', 'list', '--call-id', first.id, '--json']);
  assert.deepEqual(
    listed.json.data.map((row: any) => [row.request_id, row.caller_id]),
    [
      [foreign.id, first.id],
      [first.id, 'order-7'],
    ],
  );
  assertSaid(
    await place.run(['request', 'show', `req_${'0'.repeat(32)}`]),
    /No request was made by the call req_0+\. .* "farebox request refused" may list it, and the log has its line/,
  );
  for (const none of ['order-8', 'ü', ''])
    assertSaid(await place.run(['request', 'show', none]), /There is no request with the id/);
  const cancelled = await place.run(['request', 'cancel', first.number, '--json']);
  assert.equal(cancelled.json.request_id, first.id);
});
