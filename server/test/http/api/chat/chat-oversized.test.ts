import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { FetchError } from '../../../../src/lib/outbound/fetch.ts';
import { sql } from '../../../../src/lib/sql/sql.ts';
import { createFake } from '../../../kit/fake.ts';
import { withService } from '../../../kit/with-service.ts';
import { delta } from '../../../kit/tap.ts';
import { setFront } from '../../../upstreams/fakes/kit.ts';
import { fakeOpenai, type FakeOpenai } from '../../../upstreams/fakes/openai.ts';

/**
 * Replies that log probabilities make larger than we take: their usage stands at their end, so the
 * whole reservation is charged. A prompt token costs one micro-USD and a completion token two.
 */

const row = (id: string, upstreams: string, more = '') => `  - id: ${id}
    kind: text
    task: chat
    name: A chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2" }
    context_tokens: 100000
    max_output_tokens: 8192
    upstreams: ${upstreams}
${more}`;
/** The prompt's bound: 128 for the call, 16 for the message, 2 for "hi". */
const prompt = 128n + 16n + 2n;
const reserved = prompt + 2n * 1_000n;

let vendor: FakeOpenai;
const other = createFake({ name: 'other' });
const { service, account } = withService(async (use) => {
  vendor = use(await fakeOpenai());
  const upstream = `{ name: vendor, adapter: openai, url: "${vendor.url}", key_from: VENDOR_KEY }`;
  const both = '[{ upstream: vendor, model: gpt-fake }, { upstream: other, model: m }]';
  const catalog = `upstream: ${upstream}
models:
${row('a/vendor', both, '    first_byte_seconds: 60\n')}${row('a/fake', '[{ upstream: fake, model: m }]')}${row('a/own', '[{ upstream: fake, model: m }]', '    on_disconnect: stop\n')}`;
  const env = { VENDOR_KEY: vendor.key };
  return { catalog, env, upstreams: [other] };
});

async function asked(model: string, stream = false) {
  const { available: earlier } = await service.balance(account);
  const messages = [{ role: 'user', content: 'hi' }];
  const body = { model, messages, stream, max_tokens: 1_000, logprobs: true, top_logprobs: 20 };
  const reply = await account.post('/v1/chat/completions', body);
  const { available, reserved: held } = await service.balance(account);
  const [end] = await service.db.run<{ status: string }>(sql`select status from requests
    where account_id = ${account.account_id} order by id desc limit 1`);
  assert.equal(held, 0n);
  return { reply, cost: earlier - available, status: end!.status };
}

test('a whole reply is charged its reservation, and no other route is asked', async () => {
  async function* pieces(): AsyncGenerator<string> {
    yield '{"id":"1","choices":[{"index":0,"logprobs":{"content":["';
    for (let i = 0; i < 33; i++) yield 'x'.repeat(1024 * 1024);
    yield '"]},"message":{"role":"assistant","content":"hi"}}],"usage":{"prompt_tokens":9,"completion_tokens":1000}}';
  }
  setFront(vendor.url, async () => ({ pieces: pieces() }));
  try {
    const { reply, cost, status } = await asked('a/vendor');
    assert.equal(reply.status, 502);
    assert.match(reply.body.error.message, /larger than this server accepts.* charged in full/);
    assert.deepEqual([cost, status], [reserved, 'COMPLETED']);
    assert.equal(other.chats.length, 0);
  } finally {
    setFront(vendor.url, null);
  }
});

describe('a stream', () => {
  for (const [model, charged] of [
    ['a/fake', reserved],
    // 3 for the message, 1 for its word, and a token for four delivered bytes.
    ['a/own', 4n + 2n * 3n],
  ] as const) {
    test(`of ${model} is charged ${charged}`, async () => {
      service.fake.behave.chat = () => ({ outcome: 'stream', chunks: chunks() });
      const { reply, cost, status } = await asked(model, true);
      service.fake.behave = {};
      assert.match(reply.text, /ten bytes /);
      assert.match(reply.text, /submit_failed/);
      assert.deepEqual([cost, status], [charged, 'COMPLETED']);
    });
  }

  for (const begun of ['', `data: ${JSON.stringify(delta('ten bytes '))}\n\n`])
    test(`with an event that is too long ${begun ? 'after a word' : 'at once'} is charged in full`, async () => {
      async function* pieces() {
        yield `${begun}data: {"choices":[{"index":0,"delta":{"content":"`;
        for (let i = 0; i < 5; i++) yield 'x'.repeat(1024 * 1024);
        yield `"}}]}\n\n`;
      }
      const headers = { 'content-type': 'text/event-stream' };
      setFront(vendor.url, async () => ({ headers, pieces: pieces() }));
      try {
        const { reply, cost, status } = await asked('a/vendor', true);
        assert.match(reply.text, /submit_failed/);
        assert.deepEqual([cost, status], [reserved, 'COMPLETED']);
        assert.equal(other.chats.length, 0);
      } finally {
        setFront(vendor.url, null);
      }
    });

  async function* chunks() {
    yield delta('ten bytes ');
    throw new FetchError('too_large', 'larger than we take', { sent: true });
  }
});
