/** `fare chat` in pipes: text in, text out, and the cost on stderr. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import { formatUsd } from '../../src/index.ts';
import { startFaulty, type FaultyProxy } from '../../../server/test/kit/faulty.ts';
import { inLong } from '../../../server/test/kit/long.ts';
import { withService } from '../../../server/test/kit/with-service.ts';
import { delta, usageChunk } from '../../../server/test/kit/tap.ts';
import { until } from '../../../server/test/kit/until.ts';
import { whole, words } from './fare-chat-kit.ts';
import { homeOf, refused, well, type Home } from './fare-kit.ts';

let home: Home;
const { service, account } = withService({ account: { usd: 50 } });
beforeEach(() => {
  home = homeOf(service, account.key);
  service.fake.chats.length = 0;
  service.fake.behave = { chat: () => ({ outcome: 'stream', chunks: words('Hello', ' you') }) };
});

async function* endless(signal: AbortSignal) {
  yield delta('One');
  await new Promise((end) => signal.addEventListener('abort', end));
}

const sent = () => service.fake.chats.at(-1)!.body;

describe('fare chat', () => {
  test('one message: stdout gets only the reply, stderr the cost', async () => {
    const ran = well(await home.run(['chat', 'fake/chat', 'Hi', 'there']));
    assert.equal(ran.stdout, 'Hello you\n');
    assert.equal(
      ran.stderr,
      'fake/chat, $1.00 in, $2.00 out per 1M tokens.\n$0.000009 · 5 tokens in, 2 out\n',
    );
    assert.deepEqual(sent().messages, [{ role: 'user', content: 'Hi there' }]);
  });

  inLong('a wrong model, no message, no balance: an error, and no model is called', async () => {
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

  test('a reply that breaks off: the text so far, the fault and the cost, exit 1', async () => {
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

  inLong(
    'a service that goes away in mid-reply: the part that arrived may be charged',
    async () => {
      service.fake.behave.chat = ({ signal }) => ({ outcome: 'stream', chunks: endless(signal) });
      await throughFaulty(undefined, async (env, faulty) => {
        const running = home.start(['chat', 'fake/chat', 'Count'], { env });
        await until('it shows', () => running.stdout().includes('One'));
        await faulty.stop();
        const ran = refused(
          await running.ended,
          1,
          /may be charged for this reply: `fare list` shows the charge\.\n$/,
        );
        assert.equal(ran.stdout, 'One\n');
        assert.doesNotMatch(ran.stderr, /idempotencyKey/);
      });
    },
  );

  inLong(
    'a reply that never comes: says that it may be charged, and not to try again',
    async () => {
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
    },
  );

  test('Ctrl-C breaks the reply off: the model is stopped, exit 130', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    service.fake.behave.chat = (call) => {
      asked.resolve(call.signal);
      return { outcome: 'stream', chunks: endless(call.signal) };
    };
    const running = home.start(['chat', 'fake/chat', 'Count']);
    const signal = await asked.promise;
    await until('it shows', () => running.stdout().includes('One'));
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

  test('Ctrl-C before the first word: the charge is its own, not that of a newer chat', async () => {
    async function* silent(signal: AbortSignal) {
      await new Promise((end) => signal.addEventListener('abort', end));
      yield usageChunk(7, 0);
    }
    service.fake.behave.chat = ({ body, signal }) =>
      JSON.stringify(body).includes('Silence')
        ? { outcome: 'stream', chunks: silent(signal) }
        : whole;
    const running = home.start(['chat', 'fake/chat', 'Silence']);
    await until('the model is asked', () => service.fake.chats.length === 1);
    const messages = [{ role: 'user', content: 'Hi' }];
    const newer = { key: account.key, body: { model: 'fake/chat', messages } };
    assert.equal((await service.call('POST', '/v1/chat/completions', newer)).status, 200);
    running.child.kill('SIGINT');
    const ran = await running.ended;
    assert.equal(ran.code, 130, ran.all);
    const { body } = await account.get('/v1/requests?limit=2');
    const [other, own] = body.data.map((row: any) => BigInt(row.charged_usd_micro));
    assert.notEqual(other, own);
    assert.match(ran.stderr, new RegExp(`\\nCharged \\${formatUsd(own)}\\.\\n$`));
  });

  inLong('Ctrl-C at a model that finishes its reply: said at once, exit 130', async () => {
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
    await until('it shows', () => running.stdout().includes('One'));
    running.child.kill('SIGINT');
    // The reply is still being made, so its charge cannot be known yet.
    const ran = await running.ended;
    assert.equal(ran.code, 130, ran.all);
    assert.match(ran.stderr, /finishes this reply, and all of it is charged/);
    assert.doesNotMatch(ran.stderr, /Charged|Nothing was charged/);
    goOn.resolve();
    const charged = async () => before - (await service.balance(account)).available === 9n;
    await until('all of it is charged', charged);
  });
});

/** The printed and the true cost of a chat. */
async function costOf(work: () => Promise<string>): Promise<{ said: string; real: string }> {
  const before = (await service.balance(account)).available;
  const said = await work();
  const real = formatUsd(before - (await service.balance(account)).available);
  assert.notEqual(real, '$0.00');
  return { said, real };
}

/** Passes only so many bytes of each reply, or all of them. */
async function throughFaulty(
  cutAt: number | undefined,
  work: (env: Record<string, string>, faulty: FaultyProxy) => Promise<void>,
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
