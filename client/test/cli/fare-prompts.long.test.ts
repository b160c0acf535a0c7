/** `fare` on a terminal: questions, Ctrl-C, a conversation. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { formatUsd } from '../../src/index.ts';
import { images } from '../../../server/test/kit/fake.ts';
import { inShort, inLong } from '../../../server/test/kit/long.ts';
import { startService, type Service, type TestAccount } from '../../../server/test/kit/service.ts';
import { delta, usageChunk } from '../../../server/test/kit/tap.ts';
import { until } from '../../../server/test/kit/until.ts';
import { catalog, homeOf, onTerminal, well, withoutTerminal, type Home } from './fare-kit.ts';

const skip = withoutTerminal() ?? false;
const ctrlC = '\u0003';
const ctrlD = '\u0004';

let service: Service;
let account: TestAccount;
let home: Home;
before(async () => {
  service = await startService({ catalog });
  account = await service.account({ usd: 50 });
});
beforeEach(() => {
  service.fake.behave = {};
  home = homeOf(service, account.key);
});
after(async () => {
  await service.audit();
  await service.stop();
});

const cat = ['run', 'fake/image', '--prompt', 'a cat'];
const dear = ['run', 'fake/dear', '--prompt', 'a cat', '--no-save'];

describe('Ctrl-C', { skip }, () => {
  test('while it waits: the request is cancelled and nothing is charged', async () => {
    const before = await service.balance(account);
    const terminal = onTerminal(home, cat);
    await terminal.see(/In the queue, next/);
    terminal.type(ctrlC);
    await terminal.see(/Cancelled while it waited in the queue\. Nothing was charged/);
    assert.equal(await terminal.ended, 130);
    assert.deepEqual(await service.balance(account), before);
    assert.equal(well(await home.run(['list', '--json', '-n', '1'])).lines[0].status, 'CANCELLED');
  });

  test('while the request runs: it goes on, and resume continues it', async () => {
    let over = false;
    service.fake.behave.poll = () =>
      over ? { state: 'done', result: images(1) } : { state: 'running', progress: 0.5 };
    const terminal = onTerminal(home, cat);
    await terminal.see(/In the queue/);
    await service.work();
    await terminal.see(/Running █+░+ 50%/);
    terminal.type(ctrlC);
    await terminal.see(/goes on without this command/);
    await terminal.see(/fare resume [0-9a-f-]{36}/);
    assert.equal(await terminal.ended, 5);
    over = true;
    await service.wakeAll();
    await service.work();
    const resumed = onTerminal(home, ['resume']);
    await resumed.see(/✔.* a-cat-[0-9a-f]{6}\.png/);
    await resumed.see(/Charged \$0\.01/);
    assert.equal(await resumed.ended, 0);
  });
});

describe('a dear price is asked about', { skip }, () => {
  test('no: nothing is submitted, exit 4', async () => {
    const before = await service.transfers();
    const terminal = onTerminal(home, dear);
    await terminal.see(/Defaults used: .*resolution=2k/);
    await terminal.see(/Spend \$1\.00\?/);
    terminal.type('n');
    await terminal.see(/Nothing was submitted/);
    assert.equal(await terminal.ended, 4);
    assert.equal(await service.transfers(), before);
  });

  test('Ctrl-C at the question: likewise, exit 130', async () => {
    const before = await service.transfers();
    const terminal = onTerminal(home, dear);
    await terminal.see(/Spend \$1\.00\?/);
    terminal.type(ctrlC);
    assert.equal(await terminal.ended, 130);
    assert.equal(await service.transfers(), before);
  });

  test('yes: it is submitted', async () => {
    const terminal = onTerminal(home, [...dear, '--no-wait']);
    await terminal.see(/Spend \$1\.00\?/);
    terminal.type('y');
    await terminal.see(/Queued/);
    assert.equal(await terminal.ended, 0);
    await service.work();
  });
});

test('fare login asks for address and key, and never shows the key', { skip }, async () => {
  const bare = homeOf(service, null);
  const terminal = onTerminal(bare, ['login', '--base-url', service.base]);
  await terminal.see(/API key/);
  terminal.type(`${account.key}\r`);
  await terminal.see(/Signed in to/);
  assert.equal(await terminal.ended, 0);
  assert.doesNotMatch(terminal.shown(), /fbx_/);
  assert.equal(fs.statSync(bare.settingsFile).mode & 0o777, 0o600);
});

test('fare chat keeps the conversation, changes models, adds the cost up', { skip }, async () => {
  service.fake.chats.length = 0;
  service.fake.behave.chat = () => ({ outcome: 'stream', chunks: evil() });
  async function* evil() {
    yield delta('Hel\u001B]0;owned\u0007lo');
    yield usageChunk(5, 2);
  }
  const terminal = onTerminal(home, ['chat', 'fake/chat']);
  await terminal.see(/fake\/chat, \$1\.00 in, \$2\.00 out per 1M tokens/);
  terminal.type('Hi\r');
  await terminal.see(/Hel\]0;ownedlo/);
  await terminal.see(/\$0\.000009/);
  terminal.type('/model fake/drain/chat\r');
  await terminal.see(/fake\/drain\/chat, \$1/);
  terminal.type('And you\r');
  await terminal.see(/\$0\.000009/);
  terminal.type(ctrlD);
  await terminal.see(/\$0\.000018 in all/);
  assert.equal(await terminal.ended, 0);
  const { messages } = service.fake.chats.at(-1)!.body;
  assert.deepEqual(
    (messages as { role: string }[]).map(({ role }) => role),
    ['user', 'assistant', 'user'],
  );
  assert.equal(service.fake.chats.length, 2);
  // A model's text must not move the cursor or rename the window.
  assert.ok(!terminal.shown().includes('\u001B]0;owned'));
});

inLong('fare chat: a reply that breaks is counted as well', { skip }, async () => {
  service.fake.behave.chat = () => ({ outcome: 'stream', chunks: broken() });
  async function* broken() {
    yield delta('Half a');
    throw new Error('gone');
  }
  const before = (await service.balance(account)).available;
  const terminal = onTerminal(home, ['chat', 'fake/chat']);
  await terminal.see(/Ctrl-D/);
  terminal.type('Hi\r');
  await terminal.see(/Half a[^]*Charged \$0\.0\d+ for the part received/);
  terminal.type(ctrlD);
  await terminal.see(/\$0\.0\d+ in all/);
  assert.equal(await terminal.ended, 0);
  const cost = before - (await service.balance(account)).available;
  assert.ok(cost > 0n);
  assert.ok(terminal.shown().includes(`${formatUsd(cost)} in all`), terminal.shown());
});

describe('fare chat: /cost has what a reply costs in the end', { skip }, () => {
  for (const left of inShort(1, ['after its first words', 'before its first words']))
    test(`that was left ${left}`, async () => {
      const goOn = Promise.withResolvers<void>();
      const asked = Promise.withResolvers<void>();
      const isBefore = left.startsWith('before');
      async function* slow() {
        asked.resolve();
        if (isBefore) await goOn.promise;
        yield delta('One');
        await goOn.promise;
        yield delta(' two');
        yield usageChunk(5, 2);
      }
      service.fake.behave.chat = () => ({ outcome: 'stream', chunks: slow() });
      const before = (await service.balance(account)).available;
      const terminal = onTerminal(home, ['chat', 'fake/drain/chat', '--max-tokens', '10']);
      await terminal.see(/Ctrl-D/);
      terminal.type('Hi\r');
      await asked.promise;
      if (!isBefore) await terminal.see(/One/);
      terminal.type(ctrlC);
      await terminal.see(/all of it is charged: \/cost shows it/);
      terminal.type('/cost\r');
      await terminal.see(/\$0\.00 so far, and at most \$0\.000\d+ for a reply not charged yet/);
      goOn.resolve();
      const charged = async () => before - (await service.balance(account)).available === 9n;
      await until('it is charged', charged);
      terminal.type('/cost\r');
      await terminal.see(/\$0\.000009 so far\./);
      terminal.type(ctrlD);
      await terminal.see(/\$0\.000009 in all\./);
      assert.equal(await terminal.ended, 0);
    });
});
