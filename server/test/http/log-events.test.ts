import assert from 'node:assert/strict';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { endPause } from '../../src/db/upstreams/pauses.ts';
import { accept } from '../kit/fake.ts';
import type { TestAccount } from '../kit/service.ts';
import { withService } from '../kit/with-service.ts';
import { until } from '../kit/until.ts';
import { wellAgain } from '../kit/well.ts';

/** The operator's view of outages and failed jobs: log and metrics. */

let receiver: http.Server;
let answers = 200;
const { service, account } = withService(async (use) => {
  receiver = use(
    http.createServer((req, res) => {
      req.resume();
      res.writeHead(answers).end();
    }),
  );
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  const { port } = receiver.address() as AddressInfo;
  return { env: { FAREBOX_TEST_PUBLIC_HOSTS: `127.0.0.1:${port}` } };
});

const prompt = 'a plan of the harbour that nobody is to hear of';
const lines = (message: string) =>
  service.log.map((line) => JSON.parse(line)).filter((line) => line.msg === message);

async function submit(query = '', { key } = account): Promise<string> {
  const path = `/v1/queue/fake/image${query}`;
  const { status, body } = await service.call('POST', path, { key, body: { prompt } });
  assert.equal(status, 202, JSON.stringify(body));
  return body.request_id as string;
}

/** A metric's value, by its name and labels in Prometheus form. */
async function figure(name: string): Promise<number | undefined> {
  const { text } = await service.call('GET', '/metrics', { base: service.base });
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

function assertNoPrompt(): void {
  const all = service.log.join('\n');
  assert.doesNotMatch(all, /harbour/, 'the prompt is in the log');
  assert.ok(!all.includes(account.key), 'the key is in the log');
}

describe('a request that fails', () => {
  test('is in the log with code and cause, without its prompt, and is counted', async () => {
    service.fake.behave.start = () => ({
      outcome: 'rejected',
      message: `policy 7 forbids "${prompt}" ${'no '.repeat(2_000)}`,
    });
    const id = await submit();
    await service.work();
    const told = lines('request failed');
    assert.equal(told.length, 1);
    const { request_id, model_id, upstream, code, cause, level } = told[0];
    assert.deepEqual(
      [request_id, model_id, upstream, code, level],
      [id, 'fake/image', 'fake', 'upstream_rejected', 30],
    );
    assert.match(cause, /^policy 7 forbids "…" (no ?)+$/);
    assert.ok(cause.length <= 300);
    assertNoPrompt();
    const series = '{status="FAILED",code="upstream_rejected",upstream="fake"}';
    assert.equal(await figure(`farebox_requests_ended_total${series}`), 1);
  });

  test('in chat is logged with the internal cause', async () => {
    service.fake.behave.chat = () => ({
      outcome: 'unknown',
      message: 'socket hang up at 10.1.2.3',
    });
    const messages = [{ role: 'user', content: prompt }];
    const { status, text } = await account.post('/v1/chat/completions', {
      model: 'fake/chat',
      messages,
    });
    assert.equal(status, 502);
    assert.doesNotMatch(text, /10\.1\.2\.3/);
    const { code, cause, model_id } = lines('request failed').at(-1);
    assert.deepEqual(
      [code, cause, model_id],
      ['outcome_unknown', 'socket hang up at 10.1.2.3', 'fake/chat'],
    );
    assertNoPrompt();
  });

  test('is logged, unlike completed and cancelled requests', async () => {
    const before = lines('request failed').length;
    service.fake.behave.start = (job, fake) => accept(fake, job);
    await submit();
    await service.work();
    const id = await submit();
    await account.post(`/v1/requests/${id}/cancel`);
    const series = (status: string) =>
      `farebox_requests_ended_total{status="${status}",code="",upstream="fake"}`;
    assert.equal(await figure(series('COMPLETED')), 1);
    assert.equal(await figure(series('CANCELLED')), 1);
    // The cancelled one is not charged.
    assert.equal(await figure('farebox_charges_usd_total{upstream="fake"}'), 0.01);
    assert.equal(await figure('farebox_costs_usd_total{upstream="fake"}'), 0.004);
    const ended = '{kind="job",upstream="fake"}';
    assert.equal(await figure(`farebox_request_seconds_count${ended}`), 1);
    assert.equal(lines('request failed').length, before);
  });
});

test('a streamed chat counts its tokens, and the time to its first piece', async () => {
  delete service.fake.behave.chat;
  const messages = [{ role: 'user', content: prompt }];
  const more = { stream: true, stream_options: { include_usage: true } };
  const chat = { model: 'fake/chat', messages, ...more };
  const { text } = await account.post('/v1/chat/completions', chat);
  const { prompt_tokens, completion_tokens } = JSON.parse(/"usage":(\{.*?\})/.exec(text)![1]!);
  const of = (direction: string) =>
    `farebox_tokens_total{upstream="fake",direction="${direction}"}`;
  assert.equal(await figure(of('input')), prompt_tokens);
  assert.equal(await figure(of('output')), completion_tokens);
  assert.equal(await figure('farebox_first_token_seconds_count{upstream="fake"}'), 1);
});

describe('an upstream that fails', () => {
  test('is logged once as paused, shows in the metrics, and is logged as working again', async () => {
    service.fake.behave.start = () => ({ outcome: 'not_accepted', message: `busy: ${prompt}` });
    const id = await submit();
    for (let n = 1; n <= 4; n++) {
      await service.wakeAll();
      await service.work();
    }
    assert.deepEqual(lines('upstream paused'), []);
    const waiting = await submit('?n=1', await service.account());
    await service.db.run(sql`update requests set created_at = now() - interval '90 s'
      where id = ${waiting}`);
    await until('it is paused', async () => {
      await service.wakeAll();
      await service.work();
      return lines('upstream paused').length > 0;
    });
    await service.wakeAll();
    await service.work();
    const told = lines('upstream paused');
    assert.equal(told.length, 1, JSON.stringify(told));
    const { upstream, cause, failures, seconds, level } = told[0];
    assert.deepEqual([upstream, cause, seconds, level], ['fake', 'busy: …', 30, 40]);
    assert.ok(failures >= 5);
    assertNoPrompt();
    assert.ok(
      (await figure('farebox_upstream_failures_total{upstream="fake",why="busy"}'))! >= failures,
    );

    service.fake.behave.start = (job, fake) => accept(fake, job);
    await service.wakeAll();
    await service.work();
    assert.equal(lines('upstream works again').length, 1);
    const { body } = await account.get(`/v1/requests/${id}/status`);
    assert.equal(body.status, 'COMPLETED');
  });

  test('has its queue, slots and pause in the metrics of every process', async () => {
    await service.db.run(sql`update upstreams set paused_until = now() + interval '100 s'
      where name = 'fake'`);
    const other = await service.another();
    const { text } = await service.call('GET', '/metrics', { base: other.base });
    const of = (name: string) =>
      Number(new RegExp(`^${name}\\{upstream="fake"\\} (.+)$`, 'm').exec(text)?.[1]);
    assert.equal(of('farebox_queue_waiting'), 0);
    assert.equal(of('farebox_queue_oldest_seconds'), 0);
    assert.equal(of('farebox_upstream_slots_in_use'), 0);
    const resting = of('farebox_upstream_paused_seconds');
    assert.ok(resting > 90 && resting <= 100, String(resting));
    assert.ok(Number(/^farebox_data_free_bytes (.+)$/m.exec(text)?.[1]) > 0);
    await service.db.run(rawSql('update upstreams set paused_until = null'));
    await submit();
    await service.db.run(sql`update requests set created_at = now() - interval '90 s'
      where status = 'IN_QUEUE'`);
    const third = await service.another();
    const shown = (await service.call('GET', '/metrics', { base: third.base })).text;
    assert.match(shown, /^farebox_queue_waiting\{upstream="fake"\} 1$/m);
    assert.match(shown, /^farebox_queue_oldest_seconds\{upstream="fake"\} 9\d/m);
    assert.match(shown, /^farebox_upstream_running\{upstream="fake"\} 0$/m);
    // A chat call has no slot.
    await service.db.run(sql`update requests set status = 'IN_PROGRESS', started_at = now(),
      deadline_at = now() + interval '10 min', wake_at = now() + interval '10 min'
      where status = 'IN_QUEUE'`);
    const fourth = await service.another();
    const running = (await service.call('GET', '/metrics', { base: fourth.base })).text;
    assert.match(running, /^farebox_upstream_running\{upstream="fake"\} 1$/m);
    assert.match(running, /^farebox_upstream_slots_in_use\{upstream="fake"\} 0$/m);
    await service.db.run(sql`update requests set status = 'IN_QUEUE', started_at = null,
      deadline_at = null, wake_at = now() where status = 'IN_PROGRESS'`);
    await service.work();
  });
});

describe('a model that fails', () => {
  test('is named in the log and the metrics while it is paused alone, and when it works again', async () => {
    await service.db.run(rawSql('delete from upstreams'));
    const before = lines('upstream paused').length;
    service.fake.behave.start = () => ({ outcome: 'not_accepted', message: 'out of memory' });
    for (const who of [account, await service.account(), account]) await submit('', who);
    await service.work();
    const [told, ...others] = lines('model paused');
    assert.deepEqual(others, []);
    const { upstream, model, model_id, cause, level, seconds } = told;
    assert.deepEqual(
      [upstream, model, model_id, cause, level, seconds],
      ['fake', 'image', 'fake/image', 'out of memory', 40, 30],
    );
    assert.equal(lines('upstream paused').length, before, 'the upstream does not rest');
    const { base } = await service.another();
    const { text } = await service.call('GET', '/metrics', { base });
    const rests = /^farebox_model_paused_seconds\{upstream="fake",model="image"\} (.+)$/m;
    const resting = Number(rests.exec(text)?.[1]);
    assert.ok(resting > 20 && resting <= 30, String(resting));
    assert.match(text, /^farebox_upstream_paused_seconds\{upstream="fake"\} 0$/m);
    service.fake.behave = {};
    await service.wakeAll();
    await service.work();
    const [well] = lines('model works again');
    assert.deepEqual([well?.upstream, well?.model], ['fake', 'image']);
  });
});

test('a key that is refused after an operator ended the pause is logged at the first answer', async () => {
  await wellAgain(service);
  const accounts = [await service.account(), await service.account()];
  const chat = ({ key }: TestAccount) => {
    const messages = [{ role: 'user', content: 'hi' }];
    const body = { model: 'fake/chat', messages };
    return service.call('POST', '/v1/chat/completions', { key, body });
  };
  const rests = lines('upstream paused').length;
  service.fake.behave.chat = () => ({ outcome: 'unknown', message: 'status 500' });
  for (const each of accounts) await chat(each);
  await service.db.run(rawSql(`update upstreams set failures = 4 where model = ''`));
  await chat(accounts[0]!);
  assert.equal(lines('upstream paused').length, rests + 1);
  assert.equal(await endPause(service.db, 'fake', null), true);
  await wellAgain(service);
  service.fake.behave.chat = () => ({
    outcome: 'not_accepted',
    why: 'credential',
    message: 'status 401',
  });
  for (const each of accounts) await chat(each);
  const [told, ...others] = lines('the upstream rejects your key');
  assert.deepEqual([told?.level, told?.upstream, told?.seconds], [50, 'fake', 60]);
  assert.deepEqual(others, [], 'it is told once a minute');
  service.fake.behave = {};
  await wellAgain(service);
});

describe('a notification', () => {
  test('that failed is in the log with its status and without its path, and is counted', async () => {
    const { port } = receiver.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/hook-word?token=hush`;
    answers = 500;
    const id = await submit(`?webhook_url=${encodeURIComponent(url)}`);
    await service.work();
    await service.wakeAll();
    await service.work();
    const [told, ...others] = lines('webhook failed');
    assert.deepEqual(others, []);
    assert.deepEqual(
      [told.request_id, told.host, told.status, told.cause],
      [id, `127.0.0.1:${port}`, 500, 'answered 500'],
    );
    assert.doesNotMatch(service.log.join('\n'), /hook-word|hush/);
    assert.equal(await figure('farebox_webhooks_total{result="failed"}'), 1);
    answers = 200;
    await submit(`?webhook_url=${encodeURIComponent(url)}`);
    await service.work();
    await service.wakeAll();
    await service.work();
    assert.equal(await figure('farebox_webhooks_total{result="delivered"}'), 1);
    assert.equal(lines('webhook failed').length, 1);
    await service.audit();
  });
});
