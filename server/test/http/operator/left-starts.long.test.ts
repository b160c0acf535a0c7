/** Starts that were left for the next route: unknown outcomes of their own, listed, counted and resolved. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { rawSql } from '../../../src/lib/sql/sql.ts';
import { rollUpDays } from '../../../src/operations/accounts/roll-up.ts';
import { placeFor } from '../../commands/cli.ts';
import { completion, createFake, type Fake } from '../../kit/fake.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { operatorOf, startWebService, type Person } from '../../kit/web.ts';
import { moneyOf, rounds } from '../../worker/floor.ts';

const routes =
  '[{ upstream: fake, model: m, cost_usd: "0.004" }, { upstream: other, model: n, cost_usd: "0.006" }]';
const catalog = `owned_by: test
models:
  - id: left/image
    kind: image
    task: text-to-image
    name: An image
    price: { unit: image, usd: "0.01" }
    max: 4
    upstreams: ${routes}
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a dog }
  - id: left/chat
    kind: text
    task: chat
    name: A chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 4096
    max_unit: tokens
    context_tokens: 100000
    max_output_tokens: 8192
    upstreams: [{ upstream: fake, model: a }, { upstream: other, model: b }]
`;

let service: Service;
let fake: Fake;
let other: Fake;
let operator: Person;
let customer: TestAccount;
beforeEach(async () => {
  const synchronous = new Set(['text-to-image']);
  other = createFake({ name: 'other', class: 'C' });
  service = await startWebService({ catalog, upstreams: [other] });
  ({ fake } = service);
  fake.class = 'C';
  for (const each of [fake, other]) each.synchronous = synchronous;
  operator = await operatorOf(service);
  customer = await service.account({ usd: 10 });
});
afterEach(() => service.stop());

const run = (text: string, values: unknown[] = []) => service.db.run<any>(rawSql(text, values));
const look = async (path: string) => {
  const { status, body, text } = await operator.call('GET', `/api/operator${path}`);
  assert.equal(status, 200, text);
  return body;
};
const act = (path: string, body: object) => operator.call('POST', `/api/operator${path}`, body);
const doubts = async (query = '') =>
  (await look(`/unknown?${query}`)).data.map((row: any) => [
    row.request_id,
    row.upstream,
    row.left_at === null ? row.error_code : `left in ${row.attempt}`,
  ]);
const attention = async () => {
  const { data } = await look('/attention');
  const line = data.find(({ what }: { what: string }) => what === 'unknown_outcomes');
  return line ? [line.count, line.of] : null;
};
/** The costs and the number of calls with unknown cost, by upstream. */
const costs = async () => {
  const { by_upstream } = await look('/overview?days=7');
  return Object.fromEntries(
    by_upstream.map((row: any) => [row.name, [row.cost_usd_micro, row.uncosted, row.completed]]),
  );
};

const unknown = { outcome: 'unknown', message: 'answered 502' } as const;

/** An image whose start was lost at the first upstream, and which the next upstream made. */
async function draw(): Promise<string> {
  fake.behave.start = () => unknown;
  const call = { key: customer.key, body: { prompt: 'x' } };
  const { status, body, text } = await service.call('POST', '/v1/queue/left/image', call);
  assert.equal(status, 202, text);
  await rounds(service, 3);
  return body.request_id;
}

/** A chat call that was lost at the first upstream and, with `isLostToo`, at the next one. */
async function talk(isLostToo = false): Promise<string> {
  fake.behave.chat = () => unknown;
  const usage = { prompt_tokens: 5, completion_tokens: 2 };
  const reply = { outcome: 'reply', reply: completion('hello', usage) } as const;
  other.behave.chat = () => (isLostToo ? unknown : reply);
  const messages = [{ role: 'user', content: 'hi' }];
  const body = { model: 'left/chat', max_tokens: 5, messages };
  await service.call('POST', '/v1/chat/completions', { key: customer.key, body });
  const newest = 'select id from requests where account_id = $1 order by id desc limit 1';
  return (await run(newest, [customer.account_id]))[0].id;
}

const attemptOf = async (id: string): Promise<number> => {
  const text = 'select attempt from attempts where request_id = $1 and left_at is not null';
  return (await run(text, [id]))[0].attempt;
};

describe('a start that was left for the next route', () => {
  for (const [what, make] of [
    ['image', draw],
    ['chat', talk],
  ] as const) {
    test(`is an unknown outcome beside its completed request, resolved once (${what})`, async () => {
      const id = await make();
      const attempt = await attemptOf(id);
      const money = await moneyOf(service, id);
      assert.match(money, /^reserve \d+, charge \d+$/);
      const balance = await service.balance(customer);
      assert.deepEqual(await doubts(), [[id, 'fake', `left in ${attempt}`]]);
      assert.deepEqual(await attention(), [1, ['fake 1']]);
      const { waiting, open, by_upstream } = await look('/unknown');
      assert.deepEqual([waiting, open, by_upstream[0].upstream], [[], 1, 'fake']);
      const before = await look(`/requests/${id}`);
      const started = await costs();
      assert.deepEqual(started.fake, ['0', 1, 0], 'no request ended there');

      const body = { attempt, outcome: 'ran', cost_usd_micro: '4200', note: 'their invoice' };
      assert.equal((await act(`/requests/${id}/resolve`, body)).status, 200);
      assert.deepEqual([await doubts(), await attention()], [[], null]);
      const ended = { ...started, fake: ['4200', 0, 0] };
      assert.deepEqual(await costs(), ended, 'it is booked where it was left, and nowhere else');
      const after = await look(`/requests/${id}`);
      const grown = BigInt(after.cost_usd_micro ?? 0) - BigInt(before.cost_usd_micro ?? 0);
      assert.equal(grown, before.cost_usd_micro === null ? 0n : 4200n);
      assert.equal(after.attempts.find((each: any) => each.left_at).cost_usd_micro, '4200');
      const [found] = (await look('/unknown?state=resolved&limit=1')).data;
      assert.deepEqual(
        [found.request_id, found.cost_usd_micro, found.resolution.note],
        [id, '4200', 'their invoice'],
      );

      const logged = (await look('/log')).data;
      assert.deepEqual(
        [logged[0].action, logged[0].target, logged[0].details.attempt],
        ['request.resolve', id, attempt],
      );
      const again = await act(`/requests/${id}/resolve`, { ...body, cost_usd_micro: '9' });
      assert.match(again.text, /already booked/);
      const since = '2020-01-01T00:00:00Z';
      const many = { upstream: 'fake', since, outcome: 'ran', cost_usd_micro: '9' };
      assert.equal((await act('/unknown/resolve', many)).body.resolved, 0);
      assert.deepEqual(await costs(), ended, 'a second one changes nothing');
      assert.equal(await moneyOf(service, id), money);
      assert.deepEqual(
        await service.balance(customer),
        balance,
        'the customer pays what they paid',
      );
      await service.audit();
    });
  }

  test('of a request that ends unknown too are two, page by page, each resolved apart', async () => {
    const id = await talk(true);
    const attempt = await attemptOf(id);
    const both = [
      [id, 'fake', `left in ${attempt}`],
      [id, 'other', 'outcome_unknown'],
    ];
    assert.deepEqual(await doubts(), both);
    assert.deepEqual(await attention(), [2, ['fake 1', 'other 1']]);
    for (const state of ['open', 'all']) {
      const first = await look(`/unknown?state=${state}&limit=1`);
      const next = await look(`/unknown?state=${state}&limit=1&cursor=${first.next_cursor}`);
      const seen = [first, next].map(({ data }) => [data[0].request_id, data[0].upstream]);
      assert.deepEqual(seen, [
        [id, 'fake'],
        [id, 'other'],
      ]);
    }
    assert.equal((await operator.call('GET', '/api/operator/unknown?cursor=x.1')).status, 400);
    const none = await act(`/requests/${id}/resolve`, { attempt: 99, outcome: 'did_not_run' });
    assert.equal(none.status, 404);
    const body = { outcome: 'ran', cost_usd_micro: '3' };
    assert.equal((await act(`/requests/${id}/resolve`, body)).status, 200);
    assert.deepEqual(await doubts(), both.slice(0, 1), 'the other is still open');
    const started = { attempt, outcome: 'did_not_run' };
    assert.equal((await act(`/requests/${id}/resolve`, started)).status, 200);
    assert.deepEqual(await doubts(), []);
    const { fake: left, other: ended } = await costs();
    assert.deepEqual([left[0], ended[0]], ['0', '3']);
    assert.match(await moneyOf(service, id), /^reserve (\d+), release \1$/);
    await service.audit();
  });

  test('counts on the day it was left, also where that day is summed up already', async () => {
    const id = await draw();
    await run(
      `update attempts set left_at = left_at - interval '3 days' where request_id = $1
         and left_at is not null`,
      [id],
    );
    const day = async () =>
      run(`select upstream, completed, failed, charged_usd_micro as charged, cost_usd_micro as cost,
        uncosted from revenue where day = (now() at time zone 'utc')::date - 3`);
    await rollUpDays(service.db);
    const none = { upstream: 'fake', completed: 0n, failed: 0n, charged: 0n };
    assert.deepEqual(await day(), [{ ...none, cost: 0n, uncosted: 1n }]);
    const body = { attempt: await attemptOf(id), outcome: 'ran', cost_usd_micro: '4200' };
    assert.equal((await act(`/requests/${id}/resolve`, body)).status, 200);
    assert.deepEqual(await day(), [{ ...none, cost: 4200n, uncosted: 0n }]);
    assert.deepEqual((await costs()).fake, ['4200', 0, 0]);
    const [spent] = await run(
      `select cost_usd_micro as cost, charged_usd_micro as charged from spending
       where account_id = $1 and day = (now() at time zone 'utc')::date - 3`,
      [customer.account_id],
    );
    assert.deepEqual(spent, { cost: 4200n, charged: 0n });
  });
});

test('the command line lists them, resolves one, and all of an upstream with the requests', async (t) => {
  const env = { DATABASE_URL: service.databaseUrl, FAREBOX_UNSAFE_DATABASE: 'on' };
  const place = placeFor(t, env);
  const farebox = async (...args: string[]) => {
    const ran = await place.run([...args, '--json']);
    assert.equal(ran.code, 0, ran.stderr);
    return ran.json;
  };
  const [long, one, both] = [await draw(), await draw(), await talk(true)];
  await run(
    `update attempts set left_at = left_at - interval '2 hours' where request_id = $1
       and left_at is not null`,
    [long],
  );
  fake.behave = { chat: () => unknown };
  const alone = await lostAtTheFirst();
  const listed = await farebox('unknown', 'list', '--upstream', 'fake');
  assert.deepEqual(
    listed.data.map((row: any) => [row.request_id, row.left_at === null]),
    [
      [alone, true],
      [both, false],
      [one, false],
      [long, false],
    ],
  );
  assert.deepEqual(
    listed.by_upstream.map((sum: any) => [sum.upstream, sum.count]),
    [
      ['fake', 4],
      ['other', 1],
    ],
  );
  const told = (await place.run(['unknown', 'list'])).stdout;
  assert.match(told, new RegExp(`${one} .* fake +left \\(attempt \\d+\\)`));

  const attempt = String(await attemptOf(one));
  const resolving = ['request', 'resolve', one, '--attempt', attempt, '--outcome', 'ran'];
  const done = await farebox(...resolving, '--cost-usd', '0.0021');
  assert.deepEqual([done.request_id, done.cost_usd_micro], [one, '2100']);
  const again = await place.run([...resolving, '--cost-usd', '1']);
  assert.equal(again.code, 2);
  assert.match(again.stderr, /already booked/);
  assert.match(
    (await place.run(['request', 'show', one])).stdout,
    /given up for the next route, at 0\.0021 USD/,
  );

  const balance = await service.balance(customer);
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const all = ['unknown', 'resolve', '--upstream', 'fake', '--since', since, '--outcome', 'ran'];
  const logRows = () => run(`select id from operator_log where action = 'request.resolve_many'`);
  const before = (await logRows()).length;
  const nope = await place.run([...all.with(3, 'nope'), '--cost-usd', '1']);
  assert.equal(nope.code, 2);
  assert.match(nope.stderr, /no upstream "nope"; there are .*fake/);
  assert.equal((await logRows()).length, before, 'what is refused leaves no row');
  for (const none of [
    ['--until', since],
    ['--model', 'left/none'],
  ]) {
    const { json } = await place.run([...all, ...none, '--cost-usd', '1', '--json']);
    assert.deepEqual(json, { resolved: 0, is_all: true }, none[0]);
  }
  for (const resolved of [2, 0]) {
    const { json } = await place.run([...all, '--cost-usd', '0.001', '--json']);
    assert.deepEqual(json, { resolved, is_all: true });
  }
  assert.deepEqual(await doubts(), [
    [both, 'other', 'outcome_unknown'],
    [long, 'fake', `left in ${await attemptOf(long)}`],
  ]);
  assert.deepEqual((await costs()).fake[0], String(2100 + 2 * 1000));
  assert.deepEqual(await service.balance(customer), balance, 'no customer pays for any of it');
  await service.audit();
});

/**
 * A chat call with an unreadable answer, which ends it at the first upstream as an unknown outcome.
 */
async function lostAtTheFirst(): Promise<string> {
  fake.behave.chat = () => ({ ...unknown, answer: 'unreadable' });
  const messages = [{ role: 'user', content: 'hi' }];
  const body = { model: 'left/chat', max_tokens: 5, messages };
  await service.call('POST', '/v1/chat/completions', { key: customer.key, body });
  const newest = 'select id from requests where account_id = $1 order by id desc limit 1';
  return (await run(newest, [customer.account_id]))[0].id;
}
