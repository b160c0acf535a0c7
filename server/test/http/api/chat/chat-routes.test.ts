import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql, sql } from '../../../../src/lib/sql/sql.ts';
import { completion, createFake, type Fake, type SaidReply } from '../../../kit/fake.ts';
import { assertRefused } from '../../../kit/refusal.ts';
import type { Reply } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';
import { until } from '../../../kit/until.ts';
import { wellAgain } from '../../../kit/well.ts';

/**
 * Chat at a model with two upstreams: the second is called if the first surely accepted nothing.
 */

const catalog = `
owned_by: test
models:
  - id: two/chat
    kind: text
    task: chat
    name: Chat
    price: { unit: 1M tokens, input_usd: "10", output_usd: "20" }
    max: 4096
    max_unit: tokens
    context_tokens: 100000
    max_output_tokens: 8192
    upstreams:
      - { upstream: fake, model: first, cost_input_usd: "5", cost_output_usd: "10" }
      - { upstream: other, model: second, cost_input_usd: "6", cost_output_usd: "12" }
  - id: two/image
    kind: image
    task: text-to-image
    name: Image
    price: { unit: image, usd: "0.01" }
    upstreams: [{ upstream: fake, model: m }]
    input_schema: { type: object, properties: { prompt: { type: string } }, required: [prompt] }
    example: { prompt: a dog }
`;
let other: Fake;
const { service, account, fake } = withService(async () => {
  other = createFake({ name: 'other' });
  return { catalog, upstreams: [other], env: { FAREBOX_LOG_LEVEL: 'debug' } };
});
beforeEach(async () => {
  for (const each of [fake, other]) Object.assign(each, { behave: {}, chats: [] });
  await wellAgain(service, 'two/image');
});

const chat = (more: object = {}, { key } = account): Promise<Reply> =>
  service.call('POST', '/v1/chat/completions', {
    key,
    body: { model: 'two/chat', messages: [{ role: 'user', content: 'hi' }], ...more },
  });
const called = () => [fake, other].map(({ chats }) => chats.length);
const refuse =
  (more: object = {}): (() => SaidReply) =>
  () => ({ outcome: 'not_accepted', message: 'the secret reason', ...more });
const last = async () =>
  (
    await service.db.run<Record<string, unknown>>(sql`
      select r.upstream, r.status, s.cost_usd_micro from requests r
        join request_results s on s.request_id = r.id order by r.id desc limit 1`)
  )[0]!;

const usage = { prompt_tokens: 1_000, completion_tokens: 100 };

describe('a call that the first upstream did not take', () => {
  for (const stream of [false, true]) {
    test(`goes to the next one, is charged once, and kept at the cost of that one${stream ? ', streamed' : ''}`, async () => {
      fake.behave.chat = refuse();
      other.behave.chat = () =>
        stream
          ? { outcome: 'stream', chunks: chunks() }
          : { outcome: 'reply', reply: completion('hello', usage) };
      const before = (await service.balance(account)).available;
      const reply = await chat(stream ? { stream } : {});
      assert.equal(reply.status, 200, reply.text);
      assert.match(reply.text, /hello/);
      assert.doesNotMatch(reply.text, /secret reason|second|other/);
      const line = service.log.findLast((each) => each.includes('"msg":"start failed"'))!;
      const { upstream, model, outcome, cause } = JSON.parse(line);
      assert.deepEqual(
        [upstream, model, outcome, cause],
        ['fake', 'first', 'not_accepted', 'the secret reason'],
      );
      assert.deepEqual(called(), [1, 1]);
      assert.equal(other.chats[0]!.model, 'second');
      assert.equal(before - (await service.balance(account)).available, 12_000n);
      assert.deepEqual(await last(), {
        upstream: 'other',
        status: 'COMPLETED',
        cost_usd_micro: 7_200n,
      });
    });
  }

  test('names only the fields that the answering upstream did not get', async () => {
    const passed = [fake.passes, other.passes];
    fake.passes = new Set(['top_k']);
    other.passes = new Set(['min_p']);
    try {
      fake.behave.chat = refuse();
      const reply = await chat({ top_k: 1, min_p: 0.1 });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.headers.get('x-ignored-fields'), 'top_k');
      const { top_k, min_p } = other.chats.at(-1)!.body;
      assert.deepEqual([top_k, min_p], [undefined, 0.1]);
    } finally {
      [fake.passes, other.passes] = passed as [Set<string>, Set<string>];
    }
  });

  test('goes on after a lost answer or at a lack of the model, but not after a refused input', async () => {
    for (const [outcome, status, calls] of [
      [{ outcome: 'rejected', message: 'bad' }, 400, [1, 0]],
      [{ outcome: 'unknown', message: 'reset' }, 200, [1, 1]],
      [{ outcome: 'rejected', message: 'no pictures', lacking: true }, 200, [1, 1]],
    ] as [SaidReply, number, number[]][]) {
      for (const each of [fake, other]) Object.assign(each, { chats: [] });
      fake.behave.chat = () => outcome;
      assert.equal((await chat()).status, status);
      assert.deepEqual(called(), calls);
    }
  });

  test('fails with 503 and its reservation released, if no upstream accepts it', async () => {
    fake.behave.chat = refuse();
    other.behave.chat = refuse({ retry_after_ms: 9_000 });
    const before = await service.balance(account);
    const reply = await chat();
    assertRefused(reply, 'capacity_unavailable');
    assert.equal(reply.headers.get('retry-after'), '9');
    assert.deepEqual(called(), [1, 1]);
    assert.deepEqual(await service.balance(account), before);
  });
});

test('an upstream whose account is empty is paused; callers learn nothing about its money', async () => {
  fake.behave.chat = refuse({ why: 'account' });
  const lines = service.log.length;
  for (let i = 0; i < 3; i++) {
    const reply = await chat();
    assert.equal(reply.status, 200, reply.text);
  }
  const [first, second] = called();
  // The first answer pauses the upstream for all accounts, as soon as the service sees the pause.
  assert.ok(first! >= 1 && first! <= 3 && second === 3, String(called()));
  // A call without money takes no slot, but is refused by the pause first.
  const { key } = await service.account({ usd: 0 });
  await until('the service has seen it', async () => {
    const call = { key, body: { prompt: 'x' } };
    return (await service.call('POST', '/v1/queue/two/image', call)).status === 503;
  });
  const told = service.log.slice(lines).map((line) => JSON.parse(line));
  assert.ok(told.some(({ level, msg }) => level === 50 && /out of credit/.test(msg)));
  const asked = called()[0]!;
  await chat();
  assert.equal(called()[0], asked, 'it is not asked again');
});

test('an account whose calls are lost at a route tries that route last; others do not notice', async () => {
  fake.behave.chat = () => ({ outcome: 'unknown', message: 'status 500' });
  const [own, stranger] = [await service.account(), await service.account()];
  for (let i = 0; i < 20; i++) assert.equal((await chat({}, own)).status, 200);
  assert.deepEqual(called(), [3, 20]);
  // For other accounts the route stays first; its answers to them change nothing for this account.
  fake.behave = {};
  assert.equal((await chat({}, stranger)).status, 200);
  assert.deepEqual(called(), [4, 20]);
  assert.equal((await chat({}, own)).status, 200);
  assert.deepEqual(called(), [4, 21]);
  // The route is put last, not left out. Once it has answered, it is first again.
  other.behave.chat = refuse();
  for (const calls of [
    [5, 22],
    [6, 22],
  ]) {
    assert.equal((await chat({}, own)).status, 200);
    assert.deepEqual(called(), calls);
  }
});

test("an upstream's own cost is stored, and shown to no caller", async () => {
  fake.behave.chat = () => ({
    outcome: 'reply',
    reply: completion('hello', {
      ...usage,
      cost: 0.004321,
      is_byok: false,
      cost_details: { a: 1 },
    }),
  });
  const { body } = await chat();
  assert.deepEqual(
    [body.usage.cost_usd_micro, body.usage.cost, body.usage.cost_details],
    ['12000', undefined, undefined],
  );
  assert.equal((await last()).cost_usd_micro, 4_321n);
});

test('a stream that an upstream breaks off is counted, and a whole one is not', async () => {
  const broken_off = async () => {
    const { values } = await service.app.metrics.upstreamFailures.get();
    return values.find(({ labels }) => labels.why === 'broke_off')?.value ?? 0;
  };
  fake.behave.chat = () => ({ outcome: 'stream', chunks: broken({ message: 'no' }) });
  const before = await broken_off();
  await chat({ stream: true });
  assert.equal(await broken_off(), before + 1);
  fake.behave.chat = () => ({ outcome: 'stream', chunks: chunks() });
  await chat({ stream: true });
  assert.equal(await broken_off(), before + 1);
});

test("the caller's text in an upstream's error is in no log line and no list of failures", async () => {
  const secret = 'the patient of ward seventy-seven';
  const error = { message: `cannot read "${secret}"` };
  fake.behave.chat = ({ stream }) =>
    stream
      ? { outcome: 'stream', chunks: broken(error) }
      : { outcome: 'unknown', message: error.message };
  const messages = [{ role: 'user', content: secret }];
  const broke = await chat({ stream: true, messages });
  assert.match(broke.text, /submit_failed/);
  await chat({ messages });
  const failures = await service.db.run(rawSql('select name, last_error from upstreams'));
  assert.match(JSON.stringify(failures), /cannot read/);
  const logged = service.log.filter((line) => line.includes('cannot read'));
  assert.ok(logged.some((line) => line.includes('chat stream broke')));
  assert.ok(logged.every((line) => /"model_id":"two\/chat"/.test(line)));
  for (const text of [...logged, JSON.stringify(failures), broke.text])
    assert.doesNotMatch(text, /patient|seventy/);
});

async function* broken(error: object): AsyncGenerator<Record<string, unknown>> {
  yield* (await Array.fromAsync(chunks())).slice(0, 1);
  yield { choices: [], error };
}

async function* chunks(): AsyncGenerator<Record<string, unknown>> {
  const base = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'theirs' };
  yield { ...base, choices: [{ index: 0, delta: { role: 'assistant', content: 'hello' } }] };
  yield { ...base, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  yield { ...base, choices: [], usage };
}
