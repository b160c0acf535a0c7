/** `fare chat` in pipes: text in, text out, and what it cost beside that. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { completion } from '../kit/fake.ts';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { delta, usageChunk } from '../kit/tap.ts';
import { until } from '../kit/until.ts';
import { homeOf, refused, well, type Home } from './fare-kit.ts';

let service: Service;
let account: TestAccount;
let home: Home;
before(async () => {
  service = await startService();
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

const sent = () => service.fake.chats.at(-1)!.body;

describe('fare chat', () => {
  test('one message: the reply is all that stdout gets, its cost stands beside', async () => {
    const ran = well(await home.run(['chat', 'fake/chat', 'Hi', 'there']));
    assert.equal(ran.stdout, 'Hello you\n');
    assert.equal(ran.stderr, '$0.000009 · 5 tokens in, 2 out\n');
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
    service.fake.behave.chat = () => ({
      outcome: 'reply',
      reply: completion('Hello', { prompt_tokens: 5, completion_tokens: 2 }),
    });
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
    refused(await home.run(['chat', 'fake/chat']), 2, /nothing to say/);
    const poor = homeOf(service, (await service.account({ usd: 0 })).key);
    refused(await poor.run(['chat', 'fake/chat', 'Hi']), 4, /Top up/);
    assert.equal(service.fake.chats.length, 0);
  });

  test('a reply that breaks: what came is shown, the fault is said, exit 6', async () => {
    service.fake.behave.chat = () => ({ outcome: 'stream', chunks: broken() });
    async function* broken() {
      yield delta('Half a');
      throw new Error('gone');
    }
    const ran = refused(await home.run(['chat', 'fake/chat', 'Hi']), 6, /\S/);
    assert.equal(ran.stdout, 'Half a\n');
  });

  test('Ctrl-C breaks the reply off: the model is let go, exit 130', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    service.fake.behave.chat = (call) => {
      asked.resolve(call.signal);
      return { outcome: 'stream', chunks: endless(call.signal) };
    };
    async function* endless(signal: AbortSignal) {
      yield delta('One');
      await new Promise((end) => signal.addEventListener('abort', end));
    }
    const running = home.start(['chat', 'fake/chat', 'Count']);
    const signal = await asked.promise;
    await until('it shows', () => running.stdout().includes('One'), 10_000);
    running.child.kill('SIGINT');
    const ran = await running.ended;
    assert.equal(ran.code, 130, ran.all);
    assert.equal(ran.stdout, 'One\n');
    await until('the model is let go', () => signal.aborted);
  });
});
