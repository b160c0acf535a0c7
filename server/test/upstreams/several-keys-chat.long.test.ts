import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { rawSql, sql } from '../../src/lib/sql/sql.ts';
import { completion } from '../kit/fake.ts';
import { before, operatorOf, withWebService, type Person } from '../kit/web.ts';
import { moneyOf } from '../worker/floor.ts';
import type { Answer } from './fakes/kit.ts';
import {
  endPause,
  keys,
  limited,
  nameOf,
  paused,
  serveKeyed,
  told,
  wrongKey,
  type KeyedFake,
} from './several-keys-kit.ts';

/** Chat calls at an upstream with several keys. */

const catalog = (url: string) => `
upstream: { name: talk, adapter: openai, url: "${url}", key_from: TALK_KEY }
models:
  - { id: talk/one, kind: text, task: chat, name: One, price: { unit: 1M tokens, input_usd: "1", output_usd: "2" },
      context_tokens: 1000, max_output_tokens: 100, upstream_model: one }
`;

let server: KeyedFake;
let operator: Person;
const { service, account } = withWebService(async (use) => {
  server = use(
    await serveKeyed((call) => {
      if (call.path.endsWith('/models')) return { json: { data: [{ id: 'one' }] } };
      if (!call.json().stream) return { json: completion('hello', usage) };
      return { headers: { 'content-type': 'text/event-stream' }, body: events };
    }),
  );
  return {
    catalog: catalog(server.url),
    env: { TALK_KEY: ` ${keys.a} ${keys.b}\n${keys.c} ${keys.a}\n` },
  };
});
before(async () => void (operator = await operatorOf(service)));
beforeEach(async () => {
  server.forget();
  service.log.length = 0;
  await service.db.run(rawSql('delete from upstreams'));
});

const usage = { prompt_tokens: 5, completion_tokens: 2 };
const events = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'hello' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage },
]
  .map((event) => `data: ${JSON.stringify(event)}\n\n`)
  .concat('data: [DONE]\n\n')
  .join('');

async function say(stream = false) {
  const body = {
    model: 'talk/one',
    max_tokens: 5,
    stream,
    messages: [{ role: 'user', content: 'hi' }],
  };
  return account.post('/v1/chat/completions', body);
}
async function says(count: number, stream = false): Promise<number[]> {
  const statuses: number[] = [];
  while (statuses.length < count) statuses.push((await say(stream)).status);
  return statuses;
}
const shown = () => server.shown(/completions/);
const sorted = (text: string) => [...text].toSorted().join('');
const newest = async () => {
  const [row] = await service.db.run<{ id: string }>(sql`select id from requests order by id desc
    limit 1`);
  return row!.id;
};
/** The keys' turns continue from the test before. */
const turned = (text: string, from: string) => {
  const order = 'abc';
  return [...text].map((each) => order[(order.indexOf(each) + order.indexOf(from)) % 3]).join('');
};

for (const stream of [false, true])
  describe(`several keys, ${stream ? 'streams' : 'whole replies'}`, () => {
    test('are taken in turn', async () => {
      assert.deepEqual(await says(6, stream), [200, 200, 200, 200, 200, 200]);
      const [first] = shown();
      assert.equal(shown(), turned('abcabc', first!));
      assert.deepEqual(await paused(service, 'talk'), []);
    });

    test('a key at its limit is paused alone, and no call fails', async () => {
      server.answers.a = limited(60);
      assert.deepEqual(await says(6, stream), [200, 200, 200, 200, 200, 200]);
      assert.equal(shown().replaceAll(/[bc]/g, ''), 'a', 'it was called again while it was paused');
      assert.match(shown().replace('a', ''), /^(bc){3}$|^(cb){3}$/);
      assert.deepEqual(await paused(service, 'talk'), ['a one']);
      delete server.answers.a;
      await endPause(service, 'talk', 'a');
      assert.deepEqual(await says(3, stream), [200, 200, 200]);
      assert.equal(sorted(shown().slice(-3)), 'abc');
    });
  });

describe('a refused key', () => {
  test('is paused alone at the first answer, and the log names it', async () => {
    server.answers.b = wrongKey;
    assert.deepEqual(await says(4), [200, 200, 200, 200]);
    assert.deepEqual(await paused(service, 'talk'), ['b']);
    const lines = service.log.map((line) => JSON.parse(line)).filter(({ level }) => level >= 40);
    const [{ level, msg, upstream, key }, ...others] = lines;
    assert.deepEqual(
      [level, msg, upstream, key, others],
      [50, 'the upstream rejects your key', 'talk', nameOf('b'), []],
    );
    const attention = await operator.call('GET', '/api/operator/attention');
    const refused = attention.body.data.find(({ what }: any) => what === 'credential_refused');
    assert.deepEqual([refused.count, refused.of], [1, [`talk#${nameOf('b')}`]]);
    const page = await operator.call('GET', '/api/operator/upstreams');
    const own = page.body.data.find(({ name }: any) => name === 'talk');
    assert.deepEqual([own.paused_until, own.failures, own.last_error], [null, 0, null]);
    assert.deepEqual(
      own.keys.map((each: any) => [each.key, each.paused_until !== null, each.last_error]),
      [
        [nameOf('a'), false, null],
        [nameOf('b'), true, 'this key was revoked'],
        [nameOf('c'), false, null],
      ],
    );
    assert.ok(!page.body.data.some(({ name }: any) => name.includes('#')), 'a key as an upstream');
    const metrics = await service.call('GET', '/metrics');
    const gauge = metrics.text.match(/^farebox_upstream_key_paused_seconds\{.*$/gm)!;
    assert.equal(gauge.length, 3);
    const ofB = `farebox_upstream_key_paused_seconds{upstream="talk",key="${nameOf('b')}",model=""}`;
    assert.ok(Number(gauge.find((line) => line.startsWith(ofB))!.split(' ')[1]) > 30);
    assert.match(
      metrics.text,
      /farebox_upstream_failures_total\{upstream="talk",why="credential"\} 1\n/,
    );
    for (const text of [...service.log, attention.text, page.text, metrics.text])
      assert.deepEqual(told(text), []);
  });

  test('is tried by the test of the upstream, each key by itself', async () => {
    server.answers.b = wrongKey;
    await says(3);
    const { body, text } = await operator.call('POST', '/api/operator/upstreams/talk/test', {});
    assert.deepEqual([body.ok, body.credential_taken, body.listed], [false, false, 1]);
    assert.deepEqual(body.keys, [
      { key: nameOf('a'), taken: true },
      { key: nameOf('b'), taken: false },
      { key: nameOf('c'), taken: true },
    ]);
    assert.deepEqual(body.problems, [`key ${nameOf('b')}: answered 401: this key was revoked`]);
    assert.deepEqual(told(text), []);
    delete server.answers.b;
    const again = await operator.call('POST', '/api/operator/upstreams/talk/test', {});
    assert.deepEqual([again.body.ok, again.body.credential_taken], [true, true]);
    const { body: attention } = await operator.call('GET', '/api/operator/attention');
    assert.ok(!attention.data.some(({ what }: any) => what === 'credential_refused'));
  });

  test('is used again at once if the operator ends the pause of the upstream', async () => {
    server.answers.b = wrongKey;
    await says(3);
    delete server.answers.b;
    await operator.call('POST', '/api/operator/upstreams/talk/resume', {});
    assert.deepEqual(await paused(service, 'talk'), []);
    server.calls.length = 0;
    await says(3);
    assert.match(shown(), /b/);
  });
});

describe('an input that is refused whichever key is shown', () => {
  const refusals: Record<string, Answer> = {
    'for what it says': {
      status: 403,
      json: {
        code: 'permission-denied',
        error:
          'Content violates usage guidelines. Team: t, API key ID: k, Failed check: SAFETY_CHECK_TYPE_BIO',
      },
    },
    'for its size': {
      status: 429,
      json: {
        error: {
          message:
            'Request too large for one on tokens per min (TPM): Limit 30000, Requested 45000.',
          type: 'tokens',
          code: 'rate_limit_exceeded',
        },
      },
    },
  };
  for (const [what, refusal] of Object.entries(refusals))
    for (const stream of [false, true])
      test(`${what} pauses no key${stream ? ', as a stream' : ''}`, async () => {
        for (const letter of ['a', 'b', 'c'] as const) server.answers[letter] = () => refusal;
        const { status, body } = await say(stream);
        assert.deepEqual([status, body.error.code], [400, 'invalid_input']);
        assert.equal(shown().length, 1, 'it was sent again with another key');
        assert.match(await moneyOf(service, await newest()), /^reserve (\d+), release \1$/);
        assert.deepEqual(await paused(service, 'talk'), []);
        server.forget();
        assert.deepEqual(await says(3, stream), [200, 200, 200]);
        assert.equal(sorted(shown()), 'abc');
        const lines = service.log.map((line) => JSON.parse(line));
        assert.ok(!lines.some(({ level }) => level >= 50), 'an alarm');
      });
});

describe('while all keys are paused', () => {
  test('a call fails after one try with each, the upstream is paused, and the first pause that ends resumes it', async () => {
    for (const letter of ['a', 'b', 'c'] as const) server.answers[letter] = wrongKey;
    const reply = await say();
    assert.deepEqual([reply.status, reply.body.error.code], [503, 'capacity_unavailable']);
    assert.match(await moneyOf(service, await newest()), /^reserve (\d+), release \1$/);
    assert.equal(sorted(shown()), 'abc', 'each once');
    assert.deepEqual(await paused(service, 'talk'), ['a', 'b', 'c', 'own']);
    const lines = service.log.map((line) => JSON.parse(line));
    const rests = lines.filter(({ msg }) => msg === 'upstream paused');
    assert.deepEqual(
      rests.map(({ upstream, keys: which, key }) => [upstream, which, key]),
      [['talk', 'all paused', undefined]],
    );
    const [times] = await service.db.run<{ is_first: boolean }>(sql`
      select (select paused_until from upstreams where name = 'talk' and model = '') =
        (select min(paused_until) from upstreams where name like 'talk#%' and model = '') as is_first`);
    assert.equal(times!.is_first, true);
    server.forget();
    await endPause(service, 'talk', 'c');
    await endPause(service, 'talk', null);
    assert.deepEqual(await untilServed(), [200, 200]);
    assert.equal(shown(), 'cc');
  });

  test('for a model, the model is paused; calls of an upstream that is away blame no key', async () => {
    for (const letter of ['a', 'b', 'c'] as const) server.answers[letter] = limited(3);
    assert.equal((await say()).status, 503);
    assert.deepEqual(await paused(service, 'talk'), ['a one', 'b one', 'c one', 'own one']);
    server.forget();
    await service.db.run(rawSql('delete from upstreams'));
    const away = { status: 503, headers: { 'retry-after': '30' }, json: { error: 'away' } };
    for (const letter of ['a', 'b', 'c'] as const) server.answers[letter] = () => away;
    await untilAsked();
    assert.equal(shown().length, 1, 'one key is asked of an upstream that is away');
    assert.deepEqual(await paused(service, 'talk'), ['own one']);
  });
});

/** Calls until the process has noticed that the upstream is no longer paused. */
async function untilServed(): Promise<number[]> {
  for (;;) {
    const { status } = await say();
    if (status === 200) return [200, (await say()).status];
    assert.equal(server.calls.length, 0);
  }
}

async function untilAsked(): Promise<void> {
  while (server.calls.length === 0) await say();
}
