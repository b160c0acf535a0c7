import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import type { StartJob, StartOutcome, UpstreamClass } from '../../src/upstreams/upstream.ts';
import { begin, claim } from '../kit/by-hand.ts';
import { accept, createFake, images } from '../kit/fake.ts';
import type { TestAccount } from '../kit/service.ts';
import { catalogOf, imageRow } from '../kit/rows.ts';
import { withService } from '../kit/with-service.ts';
import { card, moneyOf, passDeadline, rounds, rowOf, submitted, wake } from './floor.ts';

/** Jobs whose start ended with a fault of the upstream, at a model with another route. */

const both = [
  { upstream: 'fake', model: 'm', cost_usd: '0.004' },
  { upstream: 'other', model: 'n', cost_usd: '0.006' },
];
const catalog = catalogOf(
  imageRow('lost/both', { upstreams: both }),
  imageRow('lost/only', { upstreams: [{ upstream: 'fake', model: 'm' }] }),
  imageRow('lost/waits', { upstreams: both, on_lost: 'wait' }),
  imageRow('lost/next', { upstreams: both, on_lost: 'next' }),
  imageRow('lost/quick', { upstreams: both, first_byte_seconds: 1 }),
);

let account: TestAccount;
const other = createFake({ name: 'other' });
const { service, fake } = withService({
  catalog,
  upstreams: [other],
  env: { FAREBOX_BASE_URL: 'https://callers.example.com/v1' },
});
const atOnce = new Set(['text-to-image']);
beforeEach(async () => {
  // A new account, because a route that lost three starts of an account is tried last for it.
  account = await service.account({ open_jobs: 1_000 });
  for (const each of [fake, other])
    Object.assign(each, { behave: {}, class: 'C', synchronous: atOnce, callback: undefined });
  await service.db.run(rawSql('delete from upstreams'));
  await rounds(service, 3);
});

const lost = (more: object = {}): StartOutcome => ({
  outcome: 'unknown',
  message: 'answered 502',
  ...more,
});
const startsOf = (id: string) =>
  [fake, other].map(({ starts }) => starts.filter(({ request_id }) => request_id === id).length);
const outcome = async (id: string) => {
  const { status, error } = await card(account, id);
  return error === null ? status : `${status} ${error.code}`;
};
const submit = (model = 'lost/both') => submitted(account, { prompt: 'x' }, model);
const left = async (id: string) => {
  const rows = await service.db.run<{ upstream: string; upstream_model: string }>(sql`
    select upstream, upstream_model from attempts
       where request_id = ${id} and left_at is not null order by attempt`);
  return rows.map(({ upstream, upstream_model }) => `${upstream} ${upstream_model}`);
};

const figures = async () => (await service.call('GET', '/metrics')).text;

describe('an image that comes in the answer to its start, if the answer was lost', () => {
  test('is made by the next upstream at once, and charged once', async () => {
    fake.behave.start = () => lost();
    const id = await submit();
    await service.app.worker!.runOnce();
    const { status, upstream, wakes_in } = await rowOf(service, id);
    assert.deepEqual([status, upstream], ['IN_PROGRESS', 'other']);
    assert.ok(wakes_in! <= 0, 'without a pause');
    await rounds(service, 2);
    assert.equal(await outcome(id), 'COMPLETED');
    assert.deepEqual(startsOf(id), [1, 1]);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    assert.deepEqual(await left(id), ['fake m']);
    assert.match(await figures(), /farebox_left_starts\{upstream="fake"\} [1-9]/);
  });

  test('without another upstream ends at once, not at its deadline', async () => {
    fake.behave.start = () => lost();
    const id = await submit('lost/only');
    await service.work();
    assert.equal(await outcome(id), 'FAILED outcome_unknown');
    assert.deepEqual(startsOf(id), [1, 0]);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
    const [attempt] = await service.db.run<{ message: string }>(sql`select message from attempts
      where request_id = ${id}`);
    assert.equal(attempt!.message, 'answered 502', 'what the upstream said stays with it');
  });

  test('lost at both, is started once at each and ends', async () => {
    for (const each of [fake, other]) each.behave.start = () => lost();
    const id = await submit();
    await rounds(service, 4);
    assert.deepEqual([startsOf(id), await outcome(id)], [[1, 1], 'FAILED outcome_unknown']);
    assert.deepEqual(await left(id), ['fake m']);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  test('is not started again at the first one while the next one has no free slot', async () => {
    fake.behave.start = () => lost();
    other.behave.start = () => ({ outcome: 'not_accepted', message: 'full' });
    const id = await submit();
    await rounds(service, 5);
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    assert.equal(startsOf(id)[0], 1);
    assert.ok(startsOf(id)[1]! > 1);
    await passDeadline(service, id);
    await service.work();
    assert.equal(await outcome(id), 'FAILED timeout');
    assert.deepEqual(await left(id), ['fake m']);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  test('waits for the next route while that route is paused', async () => {
    await service.db.run(sql`insert into upstreams (name, paused_until)
      values ('other', now() + interval '60 s')`);
    fake.behave.start = () => lost();
    const id = await submit();
    await service.work();
    const { status, upstream, wakes_in } = await rowOf(service, id);
    assert.deepEqual([status, upstream, startsOf(id)], ['IN_PROGRESS', 'other', [1, 0]]);
    assert.ok(wakes_in! > 30, String(wakes_in));
  });

  for (const [what, model, more] of [
    ['where the row says wait', 'lost/waits', {}],
    ['after an answer that came and cannot be read', 'lost/both', { answer: 'unreadable' }],
    ['after one that was slow, as the row sets no time', 'lost/both', { answer: 'slow' }],
  ] as const) {
    test(`goes to no other route ${what}, and ends at once`, async () => {
      fake.behave.start = () => lost(more);
      const id = await submit(model);
      await service.work();
      assert.deepEqual([startsOf(id), await outcome(id)], [[1, 0], 'FAILED outcome_unknown']);
      assert.deepEqual(await left(id), []);
    });
  }

  test('too slow for first_byte_seconds, is aborted and made by the next one', async () => {
    let isLetGo = false;
    fake.behave.start = ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          isLetGo = true;
          resolve(lost());
        });
      });
    const id = await submit('lost/quick');
    const began = performance.now();
    await rounds(service, 3);
    assert.deepEqual([isLetGo, startsOf(id), await outcome(id)], [true, [1, 1], 'COMPLETED']);
    assert.ok(performance.now() - began < 15_000, 'long before a start has to end');
  });

  test('goes on too if the process died during the call', async () => {
    const id = await submit();
    const claims = await claim(service.db, 'fake', 100);
    assert.ok(
      await begin(
        service.db,
        claims.find((each) => each.id === id)!,
      ),
    );
    await rounds(service, 3);
    assert.deepEqual([startsOf(id), await outcome(id)], [[0, 1], 'COMPLETED']);
    assert.equal((await left(id)).length, 1);
  });
});

describe('a job that has an id, if the answer to its start was lost', () => {
  beforeEach(() => {
    for (const each of [fake, other]) each.synchronous = undefined;
  });

  test('of class C ends at once: no later answer can come', async () => {
    fake.behave.start = () => lost();
    const id = await submit();
    await service.work();
    assert.deepEqual([startsOf(id), await outcome(id)], [[1, 0], 'FAILED outcome_unknown']);
    assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
  });

  for (const kind of ['A', 'B', 'C', 'C+'] as UpstreamClass[]) {
    test(`of class ${kind} goes on if the row says next`, async () => {
      Object.assign(fake, { class: kind, find: async () => assert.fail('looked for') });
      fake.callback = async () => null;
      fake.behave.start = () => lost();
      const id = await submit('lost/next');
      await rounds(service, 3);
      fake.find = undefined;
      assert.deepEqual([startsOf(id), await outcome(id)], [[1, 1], 'COMPLETED']);
      assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    });
  }

  test('of class A stays if its repeat is limited, because the first start may have made it', async () => {
    fake.class = 'A';
    const answers: ((job: StartJob) => StartOutcome)[] = [
      (job) => (accept(fake, job), lost()),
      () => ({ outcome: 'not_accepted', why: 'busy', message: 'answered 429' }),
    ];
    fake.behave.start = (job) => (answers.shift() ?? ((again) => accept(fake, again)))(job);
    const id = await submit('lost/waits');
    await rounds(service, 3);
    for (let i = 0; i < 3; i++) {
      await service.db.run(rawSql('delete from upstreams'));
      await wake(service, id);
      await service.work();
    }
    assert.deepEqual([startsOf(id), await outcome(id)], [[3, 0], 'COMPLETED']);
    assert.equal(fake.jobs.size, 1, 'made once');
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('of class C+ waits for its callback, which names the job', async () => {
    fake.class = 'C+';
    fake.callback = async ({ body }) => JSON.parse(body.toString()) as Record<string, unknown>;
    const addresses: string[] = [];
    fake.behave.start = (job) => {
      accept(fake, job);
      addresses.push(job.callback_url!);
      return lost();
    };
    const id = await submit();
    await rounds(service, 3);
    assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
    await callBack(addresses[0]!, { key: id });
    await rounds(service, 1);
    assert.deepEqual([startsOf(id), await outcome(id)], [[1, 0], 'COMPLETED']);
  });

  test('left for the next one, a late callback completes nothing and charges nothing twice', async () => {
    fake.class = 'C+';
    fake.callback = async ({ body }) => JSON.parse(body.toString()) as Record<string, unknown>;
    const addresses: string[] = [];
    fake.behave.start = (job) => {
      accept(fake, job);
      addresses.push(job.callback_url!);
      return lost();
    };
    let isDone = false;
    const asked: unknown[] = [];
    fake.behave.poll = (handle) => assert.fail(`polled ${JSON.stringify(handle)}`);
    other.behave.start = () => ({ outcome: 'accepted', handle: { key: 'second' } });
    other.behave.poll = (handle) => {
      asked.push(handle.key);
      return isDone ? { state: 'done', result: images(1) } : { state: 'running' };
    };
    const id = await submit('lost/next');
    await service.app.worker!.runOnce();
    await callBack(addresses[0]!, { key: id });
    await wake(service, id);
    await service.work();
    await callBack(addresses[0]!, { key: id });
    isDone = true;
    await rounds(service, 2);
    assert.deepEqual([startsOf(id), await outcome(id)], [[1, 1], 'COMPLETED']);
    assert.deepEqual([...new Set(asked)], ['second']);
    await callBack(addresses[0]!, { key: id });
    await rounds(service, 1);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    const [attempt] = await service.db.run(sql`select upstream, outcome, handle from attempts
         where request_id = ${id} and left_at is not null`);
    const handle = { key: id };
    assert.deepEqual(attempt, { upstream: 'fake', outcome: 'unknown', handle }, 'for the operator');
  });

  async function callBack(address: string, body: object): Promise<void> {
    const path = new URL(address).pathname;
    const reply = await service.call('POST', path, { body });
    assert.equal(reply.status, 200, reply.text);
  }
});
