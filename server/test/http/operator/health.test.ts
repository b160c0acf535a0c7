/** The operator's calls about catalog, upstreams, queue and unknown outcomes. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { newId } from '../../../src/lib/id.ts';
import { rawSql, sql } from '../../../src/lib/sql/sql.ts';
import { rollUpDays } from '../../../src/operations/accounts/roll-up.ts';
import { accept, createFake, images, type Fake } from '../../kit/fake.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { operatorOf, startWebService, type Person } from '../../kit/web.ts';

const key = 'a-key-that-nobody-may-see-0123456789';
const secret = 'a-secret-of-callbacks-that-nobody-may-see';

/** An upstream with a key, and another one whose variable is not set. */
const acme = (host: string) => `
upstream:
  name: acme
  adapter: openai
  url: http://${host}/v1
  key_from: ACME_KEY
  secret_from: ACME_SECRET
  concurrency: 3
models:
  - { id: acme/chat, kind: text, task: chat, name: Acme chat, price: { unit: 1M tokens, input_usd: "2", output_usd: "4" },
      cost_input_usd: "1", cost_output_usd: "5", context_tokens: 1000, max_output_tokens: 1000, upstream_model: there }
  - { id: acme/lost/chat, kind: text, task: chat, name: Acme lost, price: { unit: 1M tokens, input_usd: "2", output_usd: "4" },
      context_tokens: 1000, max_output_tokens: 1000, upstream_model: gone }
`;
const unset = `# Costs of our own list, read on 2026-11-01.
upstream: { name: unset, adapter: openai, url: "https://unset.example/v1", key_from: UNSET_KEY }
models:
  - id: unset/chat
    kind: text
    task: chat
    name: Unset chat
    checked_on: 2020-02-29
    price: { unit: 1M tokens, input_usd: "1", output_usd: "1" }
    cost_input_usd: "0.5" # unset.example/prices, 2026-11-01
    context_tokens: 1000
    max_output_tokens: 1000
`;
const broken = `upstream: fake
models:
  - id: broken/image
    kind: image
    task: text-to-image
    name: Broken
    price: { unit: image, usd: "free" }
    input_schema: { type: object }
    example: {}
`;

let service: Service;
let fake: Fake;
let operator: Person;
let customer: TestAccount;
let server: Server;
before(async () => {
  server = createServer((req, res) => {
    const taken = req.headers.authorization === `Bearer ${key}`;
    res.writeHead(taken ? 200 : 401, { 'content-type': 'application/json' });
    res.end(JSON.stringify(taken ? { object: 'list', data: [{ id: 'there' }] } : { error: key }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  fake = createFake({ class: 'C', concurrency: 1 });
  service = await startWebService({ fake, env: { ACME_KEY: key, ACME_SECRET: secret } });
  const put = (name: string, text: string) =>
    writeFileSync(join(service.dir, 'catalog', `${name}.yaml`), text);
  put('acme', acme(host));
  put('unset', unset);
  put('broken', broken);
  await service.app.catalog.reload();
  operator = await operatorOf(service);
  customer = await service.account({ usd: 10 });
});
after(async () => {
  await service.stop();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(() => {
  fake.behave = {};
});

const look = async (path: string) => {
  const reply = await operator.call('GET', `/api/operator${path}`);
  assert.equal(reply.status, 200, reply.text);
  assert.ok(!reply.text.includes(key) && !reply.text.includes(secret), 'a secret is told');
  return reply.body;
};
const act = async (path: string, body: object = {}) => {
  const reply = await operator.call('POST', `/api/operator${path}`, body);
  assert.ok(!reply.text.includes(key) && !reply.text.includes(secret), 'a secret is told');
  return reply;
};
const logged = async () =>
  service.db.run<{ action: string; target: string; text: string }>(sql`select action, target,
    l::text as text from operator_log l order by id`);
const submit = async (prompt = 'a cat') => {
  const reply = await customer.post('/v1/queue/fake/image', { prompt });
  assert.equal(reply.status, 202, reply.text);
  return reply.body.request_id as string;
};

describe('the catalog', () => {
  test('shows each row with its margin, and why one is hidden', async () => {
    const { data, problems } = await look('/models');
    const row = (id: string) => data.find((each: { id: string }) => each.id === id);
    assert.deepEqual(row('fake/image').margins, [
      {
        of: 'unit',
        price_usd_micro: '10000',
        cost_usd_micro: '4000',
        margin_usd_micro: '6000',
        margin_ppm: 600_000,
      },
    ]);
    assert.equal(row('fake/image').state, 'live');
    const { rates } = await look('/models/fake/film/text-to-video');
    assert.deepEqual(
      rates.map(
        (rate: { resolution: string; cost_usd_micro: string; margin_usd_micro: string }) => [
          rate.resolution,
          rate.cost_usd_micro,
          rate.margin_usd_micro,
        ],
      ),
      [
        ['480p', '10000', '40000'],
        ['720p', '20000', '80000'],
      ],
    );
    const [input, output] = row('acme/chat').margins;
    assert.deepEqual([input.margin_usd_micro, output.margin_usd_micro], ['1000000', '-1000000']);
    const hidden = row('unset/chat');
    assert.deepEqual([hidden.state, hidden.file, hidden.line], ['hidden', 'unset.yaml', 4]);
    assert.match(hidden.reason, /needs UNSET_KEY/);
    assert.deepEqual([hidden.checked_on, hidden.price_is_old], ['2020-02-29', true]);
    assert.deepEqual([row('acme/chat').checked_on, row('acme/chat').price_is_old], [null, false]);
    const left = row('broken/image');
    assert.deepEqual([left.state, left.file], ['left_out', 'broken.yaml']);
    assert.equal(left.problem.line, 7);
    assert.ok(problems.some((each: { file: string; line: number }) => each.line === 7));
  });

  test('keeps showing the last good row of a file that turned bad, and says so', async () => {
    const path = join(service.dir, 'catalog', 'unset.yaml');
    writeFileSync(path, unset.replace('kind: text', 'kind: smell'));
    await service.app.catalog.reload();
    const { data } = await look('/models');
    const row = data.find((each: { id: string }) => each.id === 'unset/chat');
    assert.equal(row.state, 'hidden');
    assert.equal(row.kind, 'text');
    assert.equal(row.problem.file, 'unset.yaml');
    writeFileSync(path, unset);
    await service.app.catalog.reload();
  });

  test('shows where the cost of a row comes from, and its revenue', async () => {
    const row = await look('/models/unset/chat');
    assert.equal(row.note, 'unset.example/prices, 2026-11-01');
    assert.equal(row.file_note, 'Costs of our own list, read on 2026-11-01.');
    assert.equal(row.recent.completed, 0);
    await submit();
    await service.work();
    const sold = await look('/models/fake/image');
    assert.equal(sold.recent.completed, 1);
    assert.equal(sold.recent.margin_usd_micro, '6000');
    assert.equal(sold.example.prompt, 'a cat');
    const none = await operator.call('GET', '/api/operator/models/no/such');
    assert.equal(none.status, 404);
  });
});

describe('the upstreams', () => {
  const one = async (name: string) =>
    (await look('/upstreams')).data.find((each: { name: string }) => each.name === name);

  test('show how they are set up, without secrets', async () => {
    const live = await one('acme');
    assert.deepEqual(
      [live.adapter, live.set_up, live.has_credential, live.concurrency, live.rows],
      ['openai', true, true, 3, 2],
    );
    assert.match(live.url, /^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    const missing = await one('unset');
    assert.deepEqual([missing.set_up, missing.variables], [false, ['UNSET_KEY']]);
    assert.match(missing.reason, /needs UNSET_KEY/);
    assert.equal(missing.url, 'https://unset.example/v1');
  });

  test('are tested by calls that cost nothing, which is logged', async () => {
    const reply = await act('/upstreams/acme/test');
    assert.equal(reply.status, 200, reply.text);
    const { ok, answers, credential_taken, missing } = reply.body;
    assert.deepEqual([ok, answers, credential_taken], [false, true, true]);
    assert.deepEqual(
      missing.map(({ id }: { id: string }) => id),
      ['acme/lost/chat'],
    );
    const last = (await logged()).at(-1)!;
    assert.deepEqual([last.action, last.target], ['upstream.test', 'acme']);
    assert.ok(!last.text.includes(key));
    assert.equal((await act('/upstreams/nobody/test')).status, 404);
  });

  test('are paused, with the reason, until an operator ends the pause; then they are called at once', async () => {
    fake.behave = {
      start: () => ({
        outcome: 'not_accepted',
        message: `full, Bearer ${key}`,
        retry_after_ms: 90_000,
        account_wide: true,
      }),
    };
    const id = await submit();
    await service.work();
    const resting = await one('fake');
    assert.ok(Date.parse(resting.paused_until) > Date.now());
    assert.match(resting.last_error, /^full/);
    assert.equal(resting.last_hour.starts_refused, 1);
    fake.behave = {};
    const reply = await act('/upstreams/fake/resume');
    assert.deepEqual(reply.body, { was_paused: true });
    const last = (await logged()).at(-1)!;
    assert.deepEqual([last.action, last.target], ['upstream.wake', 'fake']);
    assert.equal((await one('fake')).paused_until, null);
    await service.wakeAll();
    await service.work();
    const status = await customer.get(`/v1/requests/${id}/status`);
    assert.equal(status.body.status, 'COMPLETED');
  });

  test('count starts of jobs only, however often a chat was left for its next route', async () => {
    const { starts, starts_refused } = (await one('fake')).last_hour;
    const id = await submit();
    await service.work();
    await service.db.run(rawSql(`update requests set kind = 'text' where id = $1`, [id]));
    await service.db.run(sql`update attempts set outcome = 'unknown' where request_id = ${id}`);
    const now = (await one('fake')).last_hour;
    assert.deepEqual([now.starts, now.starts_refused], [starts, starts_refused]);
    assert.ok(starts > 0);
    await service.db.run(rawSql(`update requests set kind = 'image' where id = $1`, [id]));
    await service.db.run(sql`update attempts set outcome = 'accepted' where request_id = ${id}`);
    assert.equal((await one('fake')).last_hour.starts, starts + 1);
  });

  test('show the durations and costs of starts and runs', async () => {
    const { last_hour } = await one('fake');
    assert.ok(last_hour.completed >= 2);
    assert.equal(last_hour.failed, 0);
    assert.equal(last_hour.error_ppm, 0);
    assert.ok(last_hour.run_median_ms >= 0 && last_hour.run_p95_ms >= last_hour.run_median_ms);
    assert.ok(last_hour.start_median_ms >= 0);
  });

  for (const name of ['fake', 'unset'])
    test(`show each of the last 24 hours, also those without a request: ${name}`, async () => {
      const { hours } = await look(`/upstreams/${name}`);
      const newest = new Date(Date.now() - (Date.now() % 3_600_000));
      assert.deepEqual(
        hours.map(({ from }: { from: string }) => from),
        Array.from({ length: 24 }, (_, at) =>
          new Date(newest.getTime() - (23 - at) * 3_600_000).toISOString(),
        ),
      );
      const idle = { completed: 0, failed: 0, rejected: 0, run_median_ms: null, run_p95_ms: null };
      const { from, ...first } = hours[0];
      assert.deepEqual(first, { ...idle, cost_usd_micro: '0' }, from);
      const ran = hours.filter(({ completed }: { completed: number }) => completed > 0);
      assert.equal(ran.length > 0, name === 'fake');
    });
});

describe('the queue', () => {
  test('shows waiting requests, oldest first, page by page', async () => {
    const held = Promise.withResolvers<void>();
    fake.behave = {
      start: async (job, self) => {
        await held.promise;
        return accept(self, job);
      },
      poll: () => ({ state: 'running', progress: 0.5 }),
    };
    const running = await submit('first');
    const work = service.app.worker!.runOnce();
    const second = await submit('second');
    const third = await submit('third');
    const depth = await look('/queue');
    const upstream = depth.upstreams.find((each: { upstream: string }) => each.upstream === 'fake');
    assert.deepEqual([upstream.waiting >= 2, upstream.concurrency], [true, 1]);
    assert.equal(depth.accounts[0].email, customer.email);
    assert.equal(depth.models[0].model_id, 'fake/image');
    held.resolve();
    await work;
    const list = await look('/queue/requests?upstream=fake&limit=2');
    assert.deepEqual(
      list.data.map((row: { request_id: string; waits_for: { what: string } }) => [
        row.request_id,
        row.waits_for.what,
      ]),
      [
        [running, 'result'],
        [second, 'slot'],
      ],
    );
    const next = await look(`/queue/requests?upstream=fake&limit=2&cursor=${list.next_cursor}`);
    assert.deepEqual([next.data.length, next.data[0].request_id], [1, third]);
    assert.equal((await look('/queue/requests?status=IN_PROGRESS')).data.length, 1);
    assert.equal((await look('/queue/requests?older_seconds=3600')).data.length, 0);
    const bad = await operator.call('GET', '/api/operator/queue/requests?status=COMPLETED');
    assert.equal(bad.status, 400);

    const before = await service.balance(customer);
    const cancelled = await act(`/requests/${second}/cancel`);
    assert.deepEqual(cancelled.body, { request_id: second, status: 'CANCELLED' });
    const now = await service.balance(customer);
    assert.equal(now.reserved, before.reserved - 10_000n);
    assert.equal(now.available, before.available + 10_000n);
    const rows = await logged();
    assert.deepEqual([rows.at(-1)!.action, rows.at(-1)!.target], ['request.cancel', second]);
    for (const id of [second, running]) {
      const again = await act(`/requests/${id}/cancel`);
      assert.equal(again.status, 409);
      assert.equal(again.body.error.code, 'not_cancellable');
    }
    assert.equal((await act(`/requests/${newId()}/cancel`)).status, 404);
    assert.equal((await logged()).length, rows.length);
    fake.behave = { poll: () => ({ state: 'done', result: images(1) }) };
    await service.wakeAll();
    await service.work();
    await service.audit();
  });
});

describe('unknown outcomes', () => {
  const lose = async () => {
    fake.behave = { start: () => ({ outcome: 'unknown', message: `reset, Bearer ${key}` }) };
    const id = await submit();
    await service.work();
    return id;
  };
  const end = async (id: string) => {
    await service.db.run(sql`update requests set deadline_at = now() - interval '1 s'
      where id = ${id}`);
    await service.wakeAll();
    await service.work();
  };

  test('are free for the customer, and resolved once', async () => {
    // The answer to a repeat may still come.
    fake.class = 'A';
    const id = await lose();
    const waiting = (await look('/unknown')).waiting.find(
      (row: { request_id: string }) => row.request_id === id,
    );
    assert.deepEqual([waiting.status, waiting.class], ['IN_PROGRESS', 'A']);
    const early = await act(`/requests/${id}/resolve`, { outcome: 'did_not_run' });
    assert.equal(early.status, 400);
    await end(id);
    fake.class = 'C';
    const charged = await service.balance(customer);
    const open = await look('/unknown');
    assert.deepEqual([open.open, open.waiting.length], [1, 0]);
    assert.deepEqual(
      [open.data[0].request_id, open.data[0].cost_usd_micro, open.data[0].attempt],
      [id, null, 1],
    );
    assert.match(open.data[0].message, /^reset/);
    const wrong = [
      { outcome: 'maybe' },
      { outcome: 'ran' },
      { outcome: 'ran', cost_usd_micro: '-1' },
      { outcome: 'did_not_run', note: 'x'.repeat(1001) },
    ];
    for (const body of wrong) {
      assert.equal((await act(`/requests/${id}/resolve`, body)).status, 400);
    }
    const before = (await logged()).length;
    const found = { outcome: 'ran', cost_usd_micro: '4200', note: 'on their invoice' };
    assert.equal((await act(`/requests/${id}/resolve`, found)).status, 200);
    const again = await act(`/requests/${id}/resolve`, { outcome: 'did_not_run' });
    assert.equal(again.status, 400);
    assert.match(again.body.error.message, /already booked/);
    assert.equal((await logged()).length, before + 1);
    assert.equal((await look('/unknown')).open, 0);
    const [row] = (await look('/unknown?state=resolved')).data;
    assert.deepEqual([row.cost_usd_micro, row.resolution.note], ['4200', 'on their invoice']);
    assert.deepEqual(await service.balance(customer), charged);
    await service.audit();
  });

  const late = async () => {
    fake.behave = { poll: () => ({ state: 'running' }) };
    const id = await submit();
    await service.work();
    return id;
  };
  const uncosted = async () => (await look('/overview?days=7')).totals.uncosted as number;

  test('are those of jobs that ran out of time too, whose cost counts once it is known', async () => {
    const before = await uncosted();
    const id = await late();
    await end(id);
    const charged = await service.balance(customer);
    const { data, open } = await look('/unknown');
    assert.deepEqual(
      [open, data[0].request_id, data[0].error_code, data[0].cost_usd_micro],
      [1, id, 'timeout', null],
    );
    assert.match(data[0].handle, /key/);
    assert.equal(await uncosted(), before + 1);
    const found = { outcome: 'ran', cost_usd_micro: '4000' };
    assert.equal((await act(`/requests/${id}/resolve`, found)).status, 200);
    assert.equal((await act(`/requests/${id}/resolve`, found)).status, 400);
    assert.deepEqual([(await look('/unknown')).open, await uncosted()], [0, before]);
    assert.equal((await look(`/requests/${id}`)).cost_usd_micro, '4000');
    assert.deepEqual(await service.balance(customer), charged);
    await service.audit();
  });

  test('do not include starts that no upstream accepted', async () => {
    const before = await uncosted();
    fake.behave = { start: () => ({ outcome: 'not_accepted', message: 'busy' }) };
    const id = await submit();
    await service.work();
    await end(id);
    assert.deepEqual([(await look('/unknown')).open, await uncosted()], [0, before]);
    const reply = await act(`/requests/${id}/resolve`, { outcome: 'did_not_run' });
    assert.equal(reply.status, 400);
  });

  test('of a day with stored sums change these sums by the cost', async () => {
    const id = await lose();
    await end(id);
    const past = `now() - interval '3 days'`;
    await service.db.run(
      rawSql(`update request_results set created_at = ${past} where request_id = $1`, [id]),
    );
    // The sums of that day are not stored yet.
    await service.db.run(rawSql('delete from revenue_days'));
    await rollUpDays(service.db);
    const sums = async () => {
      const [row] = await service.db.run<{ model: bigint; account: bigint; uncosted: bigint }>(sql`
        select (select sum(cost_usd_micro)::bigint from revenue) as model,
          (select sum(cost_usd_micro)::bigint from spending) as account,
          (select sum(uncosted)::bigint from revenue) as uncosted`);
      return row!;
    };
    const before = await sums();
    const found = { outcome: 'ran', cost_usd_micro: '77' };
    assert.equal((await act(`/requests/${id}/resolve`, found)).status, 200);
    const now = await sums();
    assert.deepEqual([now.model - before.model, now.account - before.account], [77n, 77n]);
    assert.deepEqual([before.uncosted, now.uncosted], [1n, 0n]);
  });

  test('are not invented: for a request with a known outcome nothing is booked', async () => {
    const id = await submit();
    await service.work();
    const reply = await act(`/requests/${id}/resolve`, { outcome: 'ran', cost_usd_micro: '1' });
    assert.equal(reply.status, 400);
    assert.equal(
      (await act(`/requests/${newId()}/resolve`, { outcome: 'did_not_run' })).status,
      404,
    );
  });
});
