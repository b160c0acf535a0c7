/** `fare chat` chooses the model and reads messages. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  fakeCatalog,
  startService,
  type Service,
  type TestAccount,
} from '../../../server/test/kit/service.ts';
import { whole, words } from './fare-chat-kit.ts';
import { homeOf, refused, well, type Home } from './fare-kit.ts';

let service: Service;
let account: TestAccount;
let home: Home;
before(async () => {
  // An id without a slash could also be the first word of a message.
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

const sent = () => service.fake.chats.at(-1)!.body;

describe('fare chat', () => {
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

  test('a message does not wait for the end of stdin, and stdin is not added to it', async () => {
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

  test('a word like an unknown model is refused, neither saved nor sent to another model', async () => {
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

  test('a model of another kind is refused, not sent to the usual model as a message', async () => {
    refused(
      await home.run(['chat', 'fake-image', 'Hi']),
      2,
      /makes images\.\n.*fare run fake-image/,
    );
    refused(await home.run(['chat', 'fake/film/text-to-video']), 2, /makes video\.\n.*fare run /);
    assert.equal(service.fake.chats.length, 0);
  });

  test('no model is named: takes the cheapest, and first says its name and price', async () => {
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
