import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql, sql } from '../../../../src/lib/sql/sql.ts';
import { completion, createFake, type SaidReply } from '../../../kit/fake.ts';
import type { TestAccount } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { until } from '../../../kit/until.ts';
import { moneyOf } from '../../../worker/floor.ts';

/** Chat calls whose answer was lost at the first upstream of their model. */

const row = (id: string, upstreams: string, more = '') => `
  - id: lost/${id}
    kind: text
    task: chat
    name: A chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    max: 4096
    max_unit: tokens
    context_tokens: 100000
    max_output_tokens: 8192${more}
    upstreams: ${upstreams}
`;
const both =
  '[{ upstream: fake, model: a, cost_input_usd: "1", cost_output_usd: "2" }, { upstream: other, model: b }]';
const catalog = `owned_by: test
models:
${row('both', both)}
${row('only', '[{ upstream: fake, model: a }]')}
${row('waits', both, '\n    on_lost: wait')}
${row('route', '[{ upstream: fake, model: a, on_lost: wait }, { upstream: other, model: b }]')}
${row('quick', both, '\n    first_byte_seconds: 1')}
`;

let account: TestAccount;
const other = createFake({ name: 'other' });
const { service, fake } = withService({ catalog, upstreams: [other] });
beforeEach(async () => {
  for (const each of [fake, other]) Object.assign(each, { behave: {}, chats: [] });
  account = await service.account();
  await service.db.run(rawSql('delete from upstreams'));
});

const lost = (message = 'answered 500'): SaidReply => ({ outcome: 'unknown', message });

interface ReplyRecord {
  status: number;
  body: any;
  text: string;
  request_id: string;
}

async function say(model: string, stream = false): Promise<ReplyRecord> {
  const body = { model, max_tokens: 5, stream, messages: [{ role: 'user', content: 'hi' }] };
  const reply = await account.post('/v1/chat/completions', body);
  const [newest] = await service.db.run<{ id: string }>(sql`select id from requests
    where account_id = ${account.account_id} order by id desc limit 1`);
  return { status: reply.status, body: reply.body, text: reply.text, request_id: newest!.id };
}
const calls = () => [fake.chats.length, other.chats.length];
const left = (id: string) =>
  service.db.run(sql`select upstream, upstream_model, outcome, cost_usd_micro from attempts
       where request_id = ${id} and left_at is not null order by attempt`);

describe('a chat call whose answer was lost', () => {
  for (const stream of [false, true]) {
    test(`goes on to the next upstream, is charged once, and the first try stays written down (${stream ? 'stream' : 'whole'})`, async () => {
      fake.behave.chat = () => lost();
      other.behave.chat = () =>
        stream
          ? { outcome: 'stream', chunks: chunks() }
          : { outcome: 'reply', reply: completion('hello', usage) };
      const { status, text, request_id } = await say('lost/both', stream);
      assert.equal(status, 200, text);
      assert.match(text, /hello/);
      assert.deepEqual(calls(), [1, 1]);
      assert.match(await moneyOf(service, request_id), /^reserve \d+, charge 9$/);
      assert.deepEqual(await left(request_id), [
        { upstream: 'fake', upstream_model: 'a', outcome: 'unknown', cost_usd_micro: null },
      ]);
      const [ended] = await service.db.run(sql`select status, upstream from requests
        where id = ${request_id}`);
      assert.deepEqual(ended, { status: 'COMPLETED', upstream: 'other' });
    });
  }

  test('goes on although its account has used its share of the database', async () => {
    fake.behave.chat = () => lost();
    other.behave.chat = () => ({ outcome: 'reply', reply: completion('hello', usage) });
    const { key } = account;
    const lists: Promise<unknown>[] = [];
    await service.db.tx(async (tx) => {
      await tx.run(rawSql('lock table metadata_pairs in access exclusive mode'));
      for (let n = 0; n < 4; n++)
        lists.push(service.call('GET', '/v1/requests?metadata.a=b', { key }));
      const waits = `select count(*)::int as n from pg_locks where not granted
        and relation = 'metadata_pairs'::regclass`;
      await until(
        'the share is used',
        async () => (await tx.run<{ n: number }>(rawSql(waits)))[0]!.n === 2,
      );
      const { status, text, request_id } = await say('lost/both');
      assert.equal(status, 200, text);
      assert.match(await moneyOf(service, request_id), /^reserve \d+, charge 9$/);
    });
    await Promise.all(lists);
  });

  test('goes to no other route if the row or the route says wait', async () => {
    fake.behave.chat = () => lost();
    for (const model of ['lost/waits', 'lost/route']) {
      const { status, body, request_id } = await say(model);
      assert.deepEqual([status, body.error.code], [502, 'submit_failed']);
      assert.match(await moneyOf(service, request_id), /^reserve (\d+), release \1$/);
      assert.deepEqual(await left(request_id), []);
    }
    assert.deepEqual(calls(), [2, 0]);
  });

  test('without another upstream fails at once, as one unknown outcome', async () => {
    fake.behave.chat = () => lost();
    const { status, request_id } = await say('lost/only');
    assert.equal(status, 502);
    assert.match(await moneyOf(service, request_id), /^reserve (\d+), release \1$/);
    assert.deepEqual(await left(request_id), [], 'the request itself is what is in doubt');
  });

  test('lost at both, is started once at each', async () => {
    for (const each of [fake, other]) each.behave.chat = () => lost();
    const { status, request_id } = await say('lost/both');
    assert.deepEqual([status, calls()], [502, [1, 1]]);
    assert.match(await moneyOf(service, request_id), /^reserve (\d+), release \1$/);
    assert.equal((await left(request_id)).length, 1);
  });

  test('with an unreadable answer is not started again', async () => {
    fake.behave.chat = () => ({
      outcome: 'unknown',
      message: 'its answer has no choice',
      answer: 'unreadable',
    });
    assert.equal((await say('lost/both')).status, 502);
    assert.deepEqual(calls(), [1, 0]);
  });

  test('with a slow answer is not started again, if the row sets no time', async () => {
    fake.behave.chat = () => ({ outcome: 'unknown', message: 'too slow', answer: 'slow' });
    assert.equal((await say('lost/both', true)).status, 502);
    assert.deepEqual(calls(), [1, 0]);
  });
});

test('a call that this server cannot prepare goes on, and pauses no upstream', async () => {
  fake.behave.chat = () => ({ outcome: 'not_accepted', message: 'no disk', unasked: true });
  other.behave.chat = () => ({ outcome: 'reply', reply: completion('hello', usage) });
  for (let i = 1; i <= 6; i++) {
    assert.equal((await say('lost/both')).status, 200);
    assert.deepEqual(calls(), [i, i]);
  }
  const [noted] = await service.db.run(rawSql("select from upstreams where name = 'fake'"));
  assert.equal(noted, undefined);
});

describe('first_byte_seconds', () => {
  test('lets a stream that does not begin go on to the next upstream', async () => {
    const given: AbortSignal[] = [];
    fake.behave.chat = ({ signal }) => {
      given.push(signal);
      return new Promise<SaidReply>((resolve) => {
        signal.addEventListener('abort', () => resolve(lost('given up')));
      });
    };
    other.behave.chat = () => ({ outcome: 'stream', chunks: chunks() });
    const { status, text, request_id } = await say('lost/quick', true);
    assert.equal(status, 200, text);
    assert.match(text, /hello/);
    assert.equal(given[0]!.aborted, true, 'the slow one is let go');
    assert.equal((await left(request_id)).length, 1);
  });

  test('does not end a call at the last upstream, whose work is billed', async () => {
    const times: unknown[] = [];
    fake.behave.chat = ({ signal, first_byte_seconds }) => {
      times.push(first_byte_seconds);
      return new Promise<SaidReply>((resolve) => {
        signal.addEventListener('abort', () => resolve(lost('given up')));
      });
    };
    other.behave.chat = ({ first_byte_seconds }) => {
      times.push(first_byte_seconds);
      return { outcome: 'stream', chunks: chunks() };
    };
    const { status, text } = await say('lost/quick', true);
    assert.equal(status, 200, text);
    assert.deepEqual(times, [1, undefined]);
  });

  test('does not bound a reply that is not streamed, whose first byte is its last', async () => {
    let isOver = false;
    fake.behave.chat = ({ signal, first_byte_seconds }) => {
      assert.equal(first_byte_seconds, undefined);
      isOver = signal.aborted;
      return { outcome: 'reply', reply: completion('hello', usage) };
    };
    assert.equal((await say('lost/quick')).status, 200);
    assert.deepEqual([isOver, calls()], [false, [1, 0]]);
  });
});

const usage = { prompt_tokens: 5, completion_tokens: 2 };
async function* chunks() {
  yield { choices: [{ index: 0, delta: { role: 'assistant', content: 'hello' } }] };
  yield { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  yield { choices: [], usage };
}
