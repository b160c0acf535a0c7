/** `fare chat` in pipes: text in, text out, and what it cost beside that. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { formatUsd } from '../../../client/src/index.ts';
import { completion } from '../kit/fake.ts';
import { startFaulty, type Faulty } from '../kit/faulty.ts';
import { fakeCatalog, startService, type Service, type TestAccount } from '../kit/service.ts';
import { delta, usageChunk } from '../kit/tap.ts';
import { until } from '../kit/until.ts';
import { homeOf, refused, well, type Home } from './fare-kit.ts';

let service: Service;
let account: TestAccount;
let home: Home;
before(async () => {
  // An id without a slash could as well be the first word of a message.
  const catalog = fakeCatalog.replace('id: fake/image', 'id: fake-image');
  service = await startService({ catalog });
  account = await service.account({ usd: 50 });
});
beforeEach(() => {
  home = homeOf(service, account.key);
  service.fake.chats.length = 0;
  service.fake.behave = { chat: () => ({ outcome: 'stream', chunks: words('Hello', ' you') }) };
});
after(async () => {
  await service.audit();
  await service.stop();
});

async function* words(...texts: string[]) {
  for (const text of texts) yield delta(text);
  yield usageChunk(5, 2);
}

async function* endless(signal: AbortSignal) {
  yield delta('One');
  await new Promise((end) => signal.addEventListener('abort', end));
}

const whole = {
  outcome: 'reply',
  reply: completion('Hello', { prompt_tokens: 5, completion_tokens: 2 }),
} as const;

const sent = () => service.fake.chats.at(-1)!.body;

describe('fare chat', () => {
  test('one message: the reply is all that stdout gets, its cost stands beside', async () => {
    const ran = well(await home.run(['chat', 'fake/chat', 'Hi', 'there']));
    assert.equal(ran.stdout, 'Hello you\n');
    assert.equal(
      ran.stderr,
      'fake/chat, $1.00 in, $2.00 out per 1M tokens.\n$0.000009 · 5 tokens in, 2 out\n',
    );
    assert.deepEqual(sent().messages, [{ role: 'user', content: 'Hi there' }]);
  });

  test('a message, "-" and a pipe: first the one, then the other', async () => {
    const args = ['chat', '-s', 'Be brief.', '--max-tokens', '7', '-q', 'Sum up:', '-'];
    const ran = well(await home.run(args, { stdin: 'a text\nof lines\n' }));
    assert.equal(ran.stderr, '');
    assert.deepEqual(sent().messages, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Sum up:\n\na text\nof lines' },
    ]);
    assert.equal(sent().max_tokens, 7);
  });

  test('a message does not wait for the end of stdin, nor is that added to it', async () => {
    const running = home.start(['chat', 'fake/chat', 'Hi'], { stdin: null });
    const ran = well(await running.ended);
    assert.equal(ran.stdout, 'Hello you\n');
    running.child.stdin!.destroy();
    well(await home.run(['chat', 'fake/chat', 'Ho'], { stdin: 'not asked for' }));
    const said = service.fake.chats.map(({ body }) => body.messages);
    assert.deepEqual(said.flat(), [
      { role: 'user', content: 'Hi' },
      { role: 'user', content: 'Ho' },
    ]);
    well(await home.run(['chat', '-'], { stdin: 'All of it' }));
    assert.deepEqual(sent().messages, [{ role: 'user', content: 'All of it' }]);
  });

  test('the setting chat-model decides where no model is named', async () => {
    well(await home.run(['settings', 'chat-model', 'fake/drain/chat']));
    const { json } = well(await home.run(['settings', 'chat-model', '--json']));
    assert.equal(json.chat_model, 'fake/drain/chat');
    service.fake.behave.chat = () => whole;
    const reply = well(await home.run(['chat', '--json'], { stdin: 'Hi' })).json;
    assert.equal(reply.model, 'fake/drain/chat');
    assert.equal(reply.choices[0].message.content, 'Hello');
    assert.equal(reply.usage.cost_usd_micro, '9');
  });

  test('a wrong model, nothing to say, no balance: said, and nobody is called', async () => {
    refused(
      await home.run(['chat', 'fake/caht', 'Hi']),
      2,
      /no text model fake\/caht[^]*fake\/chat/,
    );
    refused(await home.run(['chat', 'fake/chat']), 2, /There is no message/);
    const poor = homeOf(service, (await service.account({ usd: 0 })).key);
    refused(await poor.run(['chat', 'fake/chat', 'Hi']), 4, /Top up/);
    assert.equal(service.fake.chats.length, 0);
  });

  test('what looks like a model and is none is neither kept nor said to another one', async () => {
    refused(await home.run(['settings', 'chat-model', 'nope/x']), 2, /no text model nope\/x/);
    refused(await home.run(['settings', 'chat-model', 'fake-image']), 2, /makes images/);
    assert.equal(well(await home.run(['settings', 'chat-model'])).stdout, 'none\n');
    refused(await home.run(['chat', 'gpt-5.5', 'hi']), 2, /no text model gpt-5\.5/);
    assert.equal(service.fake.chats.length, 0);
    for (const words of [['Well-known', 'facts?'], ['5-minute', 'eggs'], ['gpt-5.5 is what?']]) {
      well(await home.run(['chat', ...words]));
      assert.deepEqual(sent().messages, [{ role: 'user', content: words.join(' ') }]);
    }
  });

  test('a model of another kind is refused, not sent to the usual one as a word', async () => {
    refused(
      await home.run(['chat', 'fake-image', 'Hi']),
      2,
      /makes images\.\n.*fare run fake-image/,
    );
    refused(await home.run(['chat', 'fake/film/text-to-video']), 2, /makes video\.\n.*fare run /);
    assert.equal(service.fake.chats.length, 0);
  });

  test('a reply that breaks: what came, the fault and what it costs, exit 1', async () => {
    service.fake.behave.chat = () => ({ outcome: 'stream', chunks: broken() });
    async function* broken() {
      yield delta('Half a');
      throw new Error('gone');
    }
    const cost = await costOf(async () => {
      const ran = refused(
        await home.run(['chat', 'fake/chat', 'Hi']),
        1,
        /\S[^]*\nCharged \$0\.0\d+ for the part received\.\n/,
      );
      assert.equal(ran.stdout, 'Half a\n');
      return /Charged (\S+)/.exec(ran.stderr)![1]!;
    });
    assert.equal(cost.said, cost.real);
  });

  test('a service that goes away in mid-reply: what came may be charged', async () => {
    service.fake.behave.chat = ({ signal }) => ({ outcome: 'stream', chunks: endless(signal) });
    await throughFaulty(undefined, async (env, faulty) => {
      const running = home.start(['chat', 'fake/chat', 'Count'], { env });
      await until('it shows', () => running.stdout().includes('One'), 10_000);
      await faulty.stop();
      const ran = refused(
        await running.ended,
        1,
        /may be charged for this reply: `fare list` shows the charge\.\n$/,
      );
      assert.equal(ran.stdout, 'One\n');
      assert.doesNotMatch(ran.stderr, /idempotencyKey/);
    });
  });

  test('a reply that never comes may be charged: said, and no reason to try again', async () => {
    await throughFaulty(0, async (env) => {
      for (const more of [[], ['--json']]) {
        if (more.length > 0) service.fake.behave.chat = () => whole;
        const ran = await home.run(['chat', 'fake/chat', 'Hi', ...more], { env });
        refused(
          ran,
          1,
          /\nThe connection to \S+ failed[^.]*\.\n.*may be charged for this reply: `fare list`.*\n$/,
        );
        if (more.length > 0) assert.equal(ran.json.error.code, 'connection_error');
      }
    });
    assert.equal(service.fake.chats.length, 2);
  });

  test('Ctrl-C breaks the reply off: the model is let go, exit 130', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    service.fake.behave.chat = (call) => {
      asked.resolve(call.signal);
      return { outcome: 'stream', chunks: endless(call.signal) };
    };
    const running = home.start(['chat', 'fake/chat', 'Count']);
    const signal = await asked.promise;
    await until('it shows', () => running.stdout().includes('One'), 10_000);
    running.child.kill('SIGINT');
    const ran = await running.ended;
    assert.equal(ran.code, 130, ran.all);
    assert.equal(ran.stdout, 'One\n');
    assert.match(
      ran.stderr,
      /\nYou may be charged for the part already received: .*\nCharged \$0\.0\d+\.\n$/,
    );
    await until('the model is let go', () => signal.aborted);
  });

  test('Ctrl-C at a model that finishes its reply: said at once, exit 130', async () => {
    const goOn = Promise.withResolvers<void>();
    async function* slow() {
      yield delta('One');
      await goOn.promise;
      yield delta(' two');
      yield usageChunk(5, 2);
    }
    service.fake.behave.chat = () => ({ outcome: 'stream', chunks: slow() });
    const before = (await service.balance(account)).available;
    const running = home.start(['chat', 'fake/drain/chat', 'Count']);
    await until('it shows', () => running.stdout().includes('One'), 10_000);
    running.child.kill('SIGINT');
    // The reply is still being made, so no look at its charge could have ended.
    const ran = await running.ended;
    assert.equal(ran.code, 130, ran.all);
    assert.match(ran.stderr, /finishes this reply, and all of it is charged/);
    assert.doesNotMatch(ran.stderr, /Charged|Nothing was charged/);
    goOn.resolve();
    const charged = async () => before - (await service.balance(account)).available === 9n;
    await until('all of it is charged', charged, 10_000);
  });

  test('no model is named: the cheapest, and which it is and costs is said first', async () => {
    const catalog = fakeCatalog.replace(
      'input_usd: "1", output_usd: "2"',
      'input_usd: "3", output_usd: "18"',
    );
    const other = await startService({ catalog });
    try {
      const { key } = await other.account();
      const there = homeOf(other, key);
      other.fake.behave.chat = () => whole;
      const ran = well(await there.run(['chat', 'Hi', '--json']));
      assert.equal(ran.json.model, 'fake/drain/chat');
      assert.equal(ran.stderr, 'fake/drain/chat, $1.00 in, $2.00 out per 1M tokens.\n');
    } finally {
      await other.stop();
    }
  });

  test('Ctrl-C while a whole reply is waited for: one JSON object says so, exit 130', async () => {
    const asked = Promise.withResolvers<void>();
    const answers = Promise.withResolvers<typeof whole>();
    service.fake.behave.chat = () => (asked.resolve(), answers.promise);
    const running = home.start(['chat', 'fake/chat', 'Hi', '--json']);
    await asked.promise;
    running.child.kill('SIGINT');
    const ran = await running.ended;
    answers.resolve(whole);
    assert.equal(ran.code, 130, ran.all);
    const message =
      'The model finishes this reply, and all of it is charged: `fare list` shows it.';
    assert.deepEqual(JSON.parse(ran.stdout), { error: { code: 'interrupted', message } });
    assert.equal(service.fake.chats.length, 1, 'it was not called again');
  });
});

/** The cost that a chat printed, and the real one. */
async function costOf(work: () => Promise<string>): Promise<{ said: string; real: string }> {
  const before = (await service.balance(account)).available;
  const said = await work();
  const real = formatUsd(before - (await service.balance(account)).available);
  assert.notEqual(real, '$0.00');
  return { said, real };
}

/** So many bytes of each reply come through; or all. */
async function throughFaulty(
  cutAt: number | undefined,
  work: (env: Record<string, string>, faulty: Faulty) => Promise<void>,
) {
  const faulty = await startFaulty(service.base);
  if (cutAt !== undefined)
    faulty.spoil = ({ path }) => (path.includes('/chat/') ? { cutAt } : undefined);
  try {
    await work({ FAREBOX_BASE_URL: `${faulty.base}/v1`, FAREBOX_API_KEY: account.key }, faulty);
  } finally {
    await faulty.stop();
  }
}
