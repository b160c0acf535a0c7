import assert from 'node:assert/strict';
import { once } from 'node:events';
import { afterEach, describe, test } from 'node:test';
import { outcomeUnprepared } from '../../../src/upstreams/inputs.ts';
import type {
  ChatCall,
  NotAccepted,
  Rejection,
  StartJob,
} from '../../../src/upstreams/upstream.ts';
import { accept, createFake, type Fake, type SaidReply } from '../../kit/fake.ts';
import { assertRefused } from '../../kit/refusal.ts';
import { catalogOf, chatRow, imageRow } from '../../kit/rows.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { until } from '../../kit/until.ts';
import { before, withService } from '../../kit/with-service.ts';
import { S3Server, type S3Call } from '../../storage/s3-server.ts';
import { card, moneyOf, rounds, rowOf, submitted, wake } from '../../worker/floor.ts';

/** How the wait to decode files bears on routes and on time limits. */

const upstreams = [
  { upstream: 'fake', model: 'm' },
  { upstream: 'other', model: 'n' },
];
const catalog = catalogOf(
  chatRow('two/chat', { upstreams }),
  chatRow('two/quick', { upstreams, first_byte_seconds: 1 }),
  imageRow('two/image', { upstreams }),
);

let service: Service;
let fake: Fake;
let other: Fake;

/** Each test has a service in which calls wait so long for their account's share. */
function withWait(
  shareWaitMs: number,
  env: (
    use: <T extends { close(): unknown }>(resource: T) => T,
  ) => Promise<object> = async () => ({}),
): void {
  const opened = withService(async (use) => ({
    catalog,
    upstreams: [(other = createFake({ name: 'other' }))],
    times: { shareWaitMs },
    env: {
      FAREBOX_STEP_TIMEOUT_SECONDS: '0.3',
      FAREBOX_OUTPUT_SECONDS: '0.3',
      ...(await env(use)),
    },
  }));
  before(() => void ({ service, fake } = opened));
  afterEach(() => {
    for (const each of [fake, other]) Object.assign(each, { behave: {}, chats: [], starts: [] });
  });
}

async function inLine(state: 'running' | 'waiting' | 'refused_total'): Promise<number> {
  const gauge = service.app.metrics.registry.getSingleMetric(`farebox_share_${state}`)!;
  const { values } = await gauge.get();
  return values.find(({ labels }) => labels.share === 'decoding')!.value;
}

const chat = (account: TestAccount, model = 'two/chat', stream = false) =>
  account.post('/v1/chat/completions', {
    model,
    max_tokens: 5,
    stream,
    messages: [{ role: 'user', content: 'hi' }],
  });

/** Decodes a file of a call, as adapters do. */
const decoded = (
  { inShare, signal }: Pick<StartJob | ChatCall, 'inShare' | 'signal'>,
  work: () => Promise<void> = async () => {},
): Promise<NotAccepted | Rejection | null> =>
  inShare(work, { signal }).then(() => null, outcomeUnprepared);

const words = (content: string): SaidReply => ({
  outcome: 'stream',
  chunks: [{ choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] }],
});

/** Chats of these accounts that decode until `free` is called. */
async function slow(accounts: TestAccount[]) {
  const { promise, resolve } = Promise.withResolvers<void>();
  fake.behave.chat = async (call) =>
    (await decoded(call, () => promise)) ?? { outcome: 'rejected', message: 'enough' };
  const calls = accounts.map((account) => chat(account));
  await until('they decode', async () => (await inLine('running')) === accounts.length);
  Object.assign(fake, { chats: [], behave: {} });
  return { free: () => (resolve(), Promise.all(calls)) };
}

describe('without a share in time', () => {
  withWait(20);

  const cases = [
    ['its own account', 'rate_limited'],
    ['two others', 'capacity_unavailable'],
  ] as const;
  for (const [whose, code] of cases)
    test(`because of ${whose}, a chat waits once, whatever its routes`, async () => {
      const account = await service.account();
      const others = [await service.account(), await service.account()];
      const { free } = await slow(code === 'rate_limited' ? [account] : others);
      const refused = await inLine('refused_total');
      for (const each of [fake, other])
        each.behave.chat = async (call) => (await decoded(call, assert.fail))!;
      assertRefused(await chat(account), code);
      assert.deepEqual([fake.chats.length, other.chats.length], [1, 0]);
      assert.equal(await inLine('refused_total'), refused + 1);
      await free();
    });

  test('a job stays at its upstream, because no other one would be quicker', async () => {
    const account = await service.account();
    const { free } = await slow([account]);
    fake.behave.start = async (job) => (await decoded(job)) ?? accept(fake, job);
    const id = await submitted(account, { prompt: 'a' }, 'two/image');
    await service.app.worker!.runOnce();
    const { status, upstream, wakes_in } = await rowOf(service, id);
    assert.deepEqual([status, upstream], ['IN_PROGRESS', 'fake']);
    assert.ok(wakes_in! > 0, 'it pauses');
    await free();
    await wake(service, id);
    await rounds(service, 2);
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.equal(other.starts.length, 0);
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });
});

describe('the time in the line is not that of the upstream:', () => {
  withWait(60_000);

  test('a start', async () => {
    const [account, hasty] = [await service.account(), await service.account()];
    const { free } = await slow([account]);
    let given: AbortSignal | undefined;
    fake.class = 'C';
    fake.behave.start = async (job) => {
      given = job.signal;
      return (await decoded(job)) ?? accept(fake, job);
    };
    const id = await submitted(account, { prompt: 'a' }, 'two/image');
    const handling = [service.app.worker!.runOnce()];
    await until('it waits', async () => (await inLine('waiting')) === 1);
    // Begins later and has the same time, which passes.
    const late = Promise.withResolvers<unknown>();
    fake.behave.start = async ({ signal }) => {
      late.resolve(once(signal, 'abort'));
      await late.promise;
      return { outcome: 'rejected', message: 'late' };
    };
    await submitted(hasty, { prompt: 'a' }, 'two/image');
    handling.push(service.app.worker!.runOnce());
    await late.promise;
    assert.equal(given!.aborted, false);
    await free();
    await Promise.all(handling);
    await rounds(service, 2);
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
    assert.equal(other.starts.length, 0);
  });

  test('the end of a job', async () => {
    const [account, hasty] = [await service.account(), await service.account()];
    const { free } = await slow([account]);
    const id = await submitted(account, { prompt: 'a' }, 'two/image');
    const handling: Promise<unknown>[] = [];
    await until('its output waits', async () => {
      handling.push(service.app.worker!.runOnce());
      return (await inLine('waiting')) === 1;
    });
    fake.behave.chat = async ({ signal }) => {
      await once(signal, 'abort');
      return { outcome: 'unknown', message: 'late' };
    };
    other.behave.chat = () => words('a second later');
    assert.match((await chat(hasty, 'two/quick', true)).text, /a second later/);
    await free();
    await Promise.all(handling);
    assert.equal((await card(account, id)).status, 'COMPLETED');
    assert.equal(fake.jobs.get(id)?.polls, 1, 'nothing was repeated');
    assert.equal(await moneyOf(service, id), 'reserve 10000, charge 10000');
  });

  test('the first byte of a stream', async () => {
    const [account, hasty] = [await service.account(), await service.account()];
    const { free } = await slow([account]);
    fake.behave.chat = async (call) => (await decoded(call)) ?? words('by the first');
    const patient = chat(account, 'two/quick', true);
    await until('it waits', async () => (await inLine('waiting')) === 1);
    fake.behave.chat = async ({ signal }) => {
      await once(signal, 'abort');
      return { outcome: 'unknown', message: 'late' };
    };
    other.behave.chat = () => words('by the other');
    assert.match((await chat(hasty, 'two/quick', true)).text, /by the other/);
    assert.deepEqual([fake.chats.length, other.chats.length], [2, 1]);
    await free();
    assert.match((await patient).text, /by the first/);
    assert.deepEqual([fake.chats.length, other.chats.length], [2, 1]);
  });
});

describe('outputs that wait in the line', () => {
  const store = new S3Server();
  withWait(20, async (use) => ({
    FAREBOX_STORAGE: `s3+http://AKTEST:se%2Fcr%2Bet@${new URL(await use(store).listen()).host}/bucket?region=eu-test-1`,
  }));

  test('have no copies on this machine, wherever they are stored', async () => {
    const account = await service.account();
    const { free } = await slow([account]);
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.push(await submitted(account, { prompt: 'a' }, 'two/image'));
    const handling: Promise<unknown>[] = [];
    await until('they wait', async () => {
      handling.push(service.app.worker!.runOnce());
      return (await inLine('waiting')) === ids.length;
    });
    const isRead = ({ method, key }: S3Call) => method === 'GET' && key.startsWith('outputs/');
    assert.equal(store.calls.filter(isRead).length, 0);
    await free();
    await Promise.all(handling);
    assert.equal(store.calls.filter(isRead).length, ids.length);
    for (const id of ids) assert.equal((await card(account, id)).status, 'COMPLETED');
  });
});
