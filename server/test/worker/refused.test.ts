import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { PollRefused, type StartOutcome } from '../../src/upstreams/upstream.ts';
import { createFake, type Fake } from '../kit/fake.ts';
import type { TestAccount } from '../kit/service.ts';
import { catalogOf, chatRow, imageRow } from '../kit/rows.ts';
import { withService } from '../kit/with-service.ts';
import { card, moneyOf, rowOf, submitted, wake } from './floor.ts';
import type { UpstreamRefusal } from '../../src/core/catalog/upstream-key.ts';

/** The effects of a refusal: which requests wait, and what the operator sees. */

/** An upstream for each test, because log lines are not repeated, and polls of an upstream wait. */
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'] as const;
const rowsOf = (upstream: string) => [
  imageRow(`${upstream}/image`, { upstream, upstream_model: 'picture-1' }),
  imageRow(`${upstream}/sketch`, { upstream, upstream_model: 'sketch-1' }),
  chatRow(`${upstream}/chat`, { upstream, upstream_model: 'talk-1' }),
];
const fakes = names.map((name) => createFake({ name }));
let account: TestAccount;
let fake: Fake;
let logged = 0;
let next = 0;
const catalog = catalogOf(...names.flatMap(rowsOf));
const { service } = withService({ catalog, upstreams: fakes });
beforeEach(async () => {
  fake = fakes[next++]!;
  logged = service.log.length;
  account = await service.account({ open_jobs: 1_000 });
});

const prompt = 'a harbour that nobody is to hear of';
const submit = (row = 'image', who = account) => submitted(who, { prompt }, `${fake.name}/${row}`);
const lines = (message: string) =>
  service.log
    .slice(logged)
    .map((line) => JSON.parse(line))
    .filter(({ msg, upstream }) => msg === message && upstream === fake.name);
const upstreamRow = async (model = '') => {
  const [row] = await service.db.run<{ failures: number; rests: boolean; last_error: string }>(sql`
    select failures, coalesce(paused_until > now(), false) as rests, last_error
       from upstreams where name = ${fake.name} and model = ${model}`);
  return row;
};

/** A metric of this upstream, added up over all processes. */
async function figure(name: string, why: string): Promise<number> {
  const { text } = await service.call('GET', '/metrics', { base: service.base });
  const series = `${name}{upstream="${fake.name}",why="${why}"} `;
  const line = text.split('\n').find((each) => each.startsWith(series));
  return Number(line?.slice(series.length) ?? 0);
}

/** Tries the start of this request `count` times. */
async function tries(id: string, count: number): Promise<void> {
  await service.app.worker!.runOnce();
  for (let i = 1; i < count; i++) {
    await wake(service, id);
    await service.app.worker!.runOnce();
  }
}

/** A job that the upstream has accepted and that still runs. */
async function running(row?: string, who?: TestAccount): Promise<string> {
  fake.behave.poll ??= () => ({ state: 'running' });
  const id = await submit(row, who);
  await service.app.worker!.runOnce();
  assert.equal((await rowOf(service, id)).status, 'IN_PROGRESS');
  return id;
}

const looksAt = (id: string) =>
  [...fake.jobs.values()].find(({ request_id }) => request_id === id)?.polls ?? 0;

async function finished(id: string): Promise<void> {
  await wake(service, id);
  await service.app.worker!.runOnce();
  assert.equal((await card(account, id)).status, 'COMPLETED');
  assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
}

describe('starts of one account only', () => {
  test('that find no connection pause the upstream, because no input can cause that', async () => {
    fake.behave.start = () => refused('unreachable');
    const id = await submit();
    await tries(id, 4);
    assert.equal((await upstreamRow())!.rests, false);
    await wake(service, id);
    await service.app.worker!.runOnce();
    assert.equal((await upstreamRow())!.rests, true);
    const [{ upstream, model, model_id, why, cause, failures }] = lines('upstream paused');
    assert.deepEqual(
      [upstream, model, model_id, why, cause, failures],
      [fake.name, 'picture-1', `${fake.name}/image`, 'unreachable', 'no', 5],
    );
    assert.equal(await figure('farebox_upstream_failures_total', 'unreachable'), 5);
    assert.equal(await moneyOf(service, id), 'reserve 10000');
  });

  test('that end in any other way do not pause it', async () => {
    const ways: StartOutcome[] = [
      refused('busy'),
      refused('redirect'),
      refused('lost'),
      { outcome: 'unknown', message: 'reset' },
    ];
    for (const way of ways) {
      fake.behave.start = () => way;
      await tries(await submit(), 6);
    }
    const { failures, rests } = (await upstreamRow())!;
    assert.deepEqual([failures, rests], [24, false]);
    assert.deepEqual(lines('upstream paused'), []);
    assert.equal(await figure('farebox_upstream_failures_total', 'busy'), 6);
    assert.equal(await figure('farebox_upstream_failures_total', 'redirect'), 6);
    assert.equal(await figure('farebox_upstream_failures_total', 'lost'), 12, 'unknown is lost');
  });
});

describe('an input that is refused', () => {
  const why = 'the upstream was never asked';
  for (const unasked of [true, false]) {
    test(`${unasked ? 'before any call proves nothing' : 'by the upstream shows that it works'}`, async () => {
      fake.behave.start = () => refused('busy');
      await tries(await submit(), 2);
      const reject = () =>
        ({ outcome: 'rejected', message: 'no', ...(unasked && { unasked }) }) as const;
      fake.behave = { start: reject, chat: reject };
      const id = await submit();
      await tries(id, 1);
      const { status, error } = await card(account, id);
      assert.deepEqual([status, error.code], ['FAILED', 'upstream_rejected']);
      assert.equal(await moneyOf(service, id), 'reserve 10000, release 10000');
      assert.equal((await upstreamRow())!.failures, unasked ? 2 : 0, why);

      const talk = async () => {
        const messages = [{ role: 'user', content: prompt }];
        const body = { model: `${fake.name}/chat`, messages };
        const call = { key: account.key, body, base: service.base };
        return (await service.call('POST', '/v1/chat/completions', call)).status;
      };
      fake.behave.chat = () => refused('busy');
      assert.equal(await talk(), 503);
      const before = (await upstreamRow())!.failures;
      fake.behave.chat = reject;
      assert.equal(await talk(), 400);
      assert.equal((await upstreamRow())!.failures, unasked ? before : 0, `${why}, nor in a chat`);
    });
  }
});

describe('the log line about a fault that only the operator can correct', () => {
  test('names upstream, model and row, of each model that is missing', async () => {
    fake.behave.start = () => refused('model');
    for (const row of ['image', 'sketch']) await tries(await submit(row), 2);
    const told = lines('the upstream does not have a model that the catalog names');
    assert.deepEqual(
      told.map(({ upstream, model, model_id, call, cause }) => [
        upstream,
        model,
        model_id,
        call,
        cause,
      ]),
      [
        [fake.name, 'picture-1', `${fake.name}/image`, 'start', 'no'],
        [fake.name, 'sketch-1', `${fake.name}/sketch`, 'start', 'no'],
      ],
      'each once',
    );
  });

  test('names them for a refused key, in a chat too, once', async () => {
    fake.behave.chat = () => refused('credential');
    const body = { model: `${fake.name}/chat`, messages: [{ role: 'user', content: prompt }] };
    for (let i = 0; i < 2; i++)
      await account.post('/v1/chat/completions', body, { base: service.base });
    const told = lines('the upstream rejects your key');
    assert.equal(told.length, 1);
    const { upstream, model, model_id } = told[0];
    assert.deepEqual([upstream, model, model_id], [fake.name, 'talk-1', `${fake.name}/chat`]);
  });
});

describe('a refused poll', () => {
  test('with a pause: polls wait as long, starts go on, and it is logged', async () => {
    const [first, second] = [await running(), await running()];
    const apart = `update requests set wake_at = now() + interval '1 hour' where id = $1`;
    await service.db.run(rawSql(apart, [second]));
    fake.behave.poll = () => {
      throw new PollRefused(`slow down: ${prompt}`, 'busy', 50_000);
    };
    await wake(service, first);
    await service.app.worker!.runOnce();
    const { wakes_in } = await rowOf(service, first);
    assert.ok(wakes_in! > 45 && wakes_in! <= 50, String(wakes_in));
    assert.equal(await figure('farebox_upstream_polls_refused_total', 'busy'), 1);
    assert.equal(await figure('farebox_upstream_failures_total', 'busy'), 0, 'no start failed');
    const [line] = lines('step failed, will be tried again');
    assert.deepEqual([line.upstream, line.step, line.why], [fake.name, 'poll', 'busy']);

    const looks = looksAt(second);
    await wake(service, second);
    await service.app.worker!.runOnce();
    const other = await rowOf(service, second);
    assert.equal(looksAt(second), looks, 'nor is another job looked at meanwhile');
    assert.ok(other.wakes_in! > 40 && other.wakes_in! <= 52, String(other.wakes_in));
    const { failures, rests, last_error } = (await upstreamRow())!;
    assert.deepEqual([failures, rests], [0, false]);
    assert.match(last_error, /^slow down/);
    await running('image', await service.account());
    assert.deepEqual(lines('upstream paused'), []);
  });

  test('waits at most two minutes, and without a wish for the usual time', async () => {
    const asks = [undefined, NaN, -1, 86_400_000];
    for (const ms of asks) {
      const id = await running();
      fake.behave.poll = () => {
        throw new PollRefused('slow down', 'busy', ms);
      };
      await wake(service, id);
      await service.app.worker!.runOnce();
      const wakes_in = (await rowOf(service, id)).wakes_in!;
      // The machine's clock may be adjusted by some milliseconds in between.
      if (ms === asks.at(-1)) assert.ok(wakes_in > 115 && wakes_in < 121, String(wakes_in));
      else assert.ok(wakes_in <= 1, `${ms}: ${wakes_in}`);
      fake.behave = {};
    }
  });

  for (const [why, sentence] of [
    ['credential', 'the upstream rejects your key'],
    ['account', 'your account at the upstream is out of credit'],
  ] as const) {
    test(`${why}: is an error in the log, once; the job goes on when it is corrected`, async () => {
      const id = await running();
      fake.behave.poll = () => {
        throw new PollRefused(`not with this: ${prompt}`, why);
      };
      for (let i = 0; i < 3; i++) {
        await wake(service, id);
        await service.app.worker!.runOnce();
      }
      const told = lines(sentence);
      assert.equal(told.length, 1);
      const { level, upstream, model_id, call, cause } = told[0];
      assert.deepEqual(
        [level, upstream, model_id, call, cause],
        [50, fake.name, `${fake.name}/image`, 'poll', 'not with this: …'],
      );
      assert.equal(await figure('farebox_upstream_polls_refused_total', why), 3);
      const { failures, rests, last_error } = (await upstreamRow())!;
      assert.deepEqual([failures, rests], [0, false], 'starts say themselves what is wrong');
      assert.match(last_error, /^not with this/);
      fake.behave = {};
      await finished(id);
    });
  }
});

function refused(why: UpstreamRefusal): StartOutcome & { outcome: 'not_accepted' } {
  return { outcome: 'not_accepted', why, message: 'no' };
}
