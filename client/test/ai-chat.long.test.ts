import { after, before, beforeEach, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  generateText,
  jsonSchema,
  RetryError,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { createFarebox } from '../src/ai.ts';
import { completion } from '../../server/test/kit/fake.ts';
import { startFaulty, type FaultyProxy } from '../../server/test/kit/faulty.ts';
import { startService, type Service, type TestAccount } from '../../server/test/kit/service.ts';
import { delta, openTap, usageChunk } from '../../server/test/kit/tap.ts';
import { aiCatalog } from './ai-kit.ts';

/** The unmodified AI SDK speaks to text models, through our provider and through the general one. */

let service: Service;
let proxy: FaultyProxy;
let account: TestAccount;
before(async () => {
  service = await startService({ catalog: aiCatalog });
  proxy = await startFaulty(service.base);
});
after(async () => {
  await service.audit();
  await proxy.stop();
  await service.stop();
});
beforeEach(async () => {
  account = await service.account();
  service.fake.behave = {};
  service.fake.chats.length = 0;
  proxy.calls.length = 0;
  proxy.spoil = () => undefined;
});

const ours = () => createFarebox({ apiKey: account.key, baseUrl: `${proxy.base}/v1` })('ai/chat');
const general = () =>
  createOpenAICompatible({
    name: 'farebox',
    apiKey: account.key,
    baseURL: `${proxy.base}/v1`,
    includeUsage: true,
  })('ai/chat');

const ask = { prompt: 'hello', maxOutputTokens: 100, experimental_telemetry: { isEnabled: false } };
const keys = () => proxy.calls.map(({ headers }) => headers['idempotency-key']);

function streamHello(): void {
  service.fake.behave.chat = (call) => {
    const tap = openTap(call);
    for (const piece of ['hel', 'lo']) tap.push(delta(piece));
    tap.push(delta(null, 'stop'));
    tap.push(usageChunk(5, 2));
    tap.end();
    return tap.outcome;
  };
}

describe('our provider', () => {
  test('gives the text and its cost', async () => {
    const { text, usage, providerMetadata, warnings } = await generateText({
      model: ours(),
      ...ask,
      topK: 3,
    });
    assert.equal(text, 'hello');
    assert.equal(usage.totalTokens, 7);
    assert.equal(providerMetadata!.farebox!.charged_usd_micro, '9');
    const { request_id } = providerMetadata!.farebox as { request_id: string };
    const card = await service.call('GET', `/v1/requests/${request_id}`, { key: account.key });
    assert.equal(card.body.charged_usd_micro, '9');
    assert.deepEqual(warnings, [{ type: 'unsupported', feature: 'topK' }]);
    assert.equal(proxy.calls.length, 1);
  });

  test('streams the text, and gives the cost at the end', async () => {
    streamHello();
    const result = streamText({ model: ours(), ...ask });
    const pieces: string[] = [];
    for await (const piece of result.textStream) pieces.push(piece);
    assert.deepEqual(pieces, ['hel', 'lo']);
    const metadata = (await result.providerMetadata)!.farebox!;
    assert.equal(metadata.charged_usd_micro, '9');
    assert.match(String(metadata.request_id), /^[0-9a-f-]{36}$/);
  });

  test('calls tools and goes on with their results', async () => {
    service.fake.behave.chat = ({ body }) => {
      const last = (body.messages as { role: string; content: string }[]).at(-1)!;
      const usage = { prompt_tokens: 5, completion_tokens: 2 };
      if (last.role === 'tool') {
        return { outcome: 'reply', reply: completion(`It says ${last.content}.`, usage) };
      }
      const reply = completion('', usage) as { choices: any[] };
      reply.choices[0].finish_reason = 'tool_calls';
      reply.choices[0].message.tool_calls = [
        {
          id: 'call-1',
          type: 'function',
          function: { name: 'weather', arguments: '{"city":"Oslo"}' },
        },
      ];
      return { outcome: 'reply', reply };
    };
    const weather = tool({
      description: 'The weather of a city.',
      inputSchema: jsonSchema<{ city: string }>({
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
      }),
      execute: async ({ city }) => `rain in ${city}`,
    });
    const model = ours();
    const stopWhen = stepCountIs(3);
    const { text, steps } = await generateText({ model, ...ask, tools: { weather }, stopWhen });
    assert.equal(text, 'It says rain in Oslo.');
    assert.equal(steps.length, 2);
    // Each step is a separate call, so neither counts as a repeat of the other.
    assert.equal(new Set(keys()).size, 2);
  });

  test('repeats what was lost under the same key, and is charged once', async () => {
    // The service answers, but no byte of the answer arrives.
    proxy.spoil = () => (proxy.calls.length === 1 ? { cutAt: 0 } : undefined);
    const { text } = await generateText({ model: ours(), ...ask });
    assert.equal(text, 'hello');
    assert.equal(proxy.calls.length, 2);
    assert.ok(keys()[0] && keys()[0] === keys()[1]);
    assert.equal(service.fake.chats.length, 1);
    assert.equal((await service.balance(account)).available, 100_000_000n - 9n);
    await generateText({ model: ours(), ...ask });
    assert.equal(service.fake.chats.length, 2);
  });

  test('keeps an Idempotency-Key that the caller chose', async () => {
    for (let i = 0; i < 2; i++) {
      await generateText({ model: ours(), ...ask, headers: { 'Idempotency-Key': 'mine' } });
    }
    assert.deepEqual(keys(), ['mine', 'mine']);
    assert.equal(service.fake.chats.length, 1);
  });

  test('stops when its signal is aborted', async () => {
    const stop = new AbortController();
    service.fake.behave.chat = (call) => {
      const tap = openTap(call);
      tap.push(delta('hel'));
      return tap.outcome;
    };
    const result = streamText({ model: ours(), ...ask, abortSignal: stop.signal });
    const seen: string[] = [];
    for await (const part of result.fullStream) {
      seen.push(part.type);
      if (part.type === 'text-delta') stop.abort();
    }
    assert.equal(seen.at(-1), 'abort');
    assert.equal(proxy.calls.length, 1);
  });
});

for (const [name, model] of [
  ['our provider', ours],
  ['the general provider for OpenAI-compatible services', general],
] as const) {
  describe(`what ${name} shows for errors`, () => {
    test('of money: the code and the message, and no second try', async () => {
      account = await service.account({ usd: 0 });
      const error = await generateText({ model: model(), ...ask }).catch((e: unknown) => e);
      assert.ok(APICallError.isInstance(error), String(error));
      assert.equal(error.statusCode, 402);
      assert.equal((error.data as any).error.code, 'insufficient_balance');
      assert.match(error.message, /balance/i);
      assert.equal(proxy.calls.length, 1);
      assert.ok(!JSON.stringify(error).includes(account.key));
    });

    test('of the key: 401, and no second try', async () => {
      account = { ...account, key: 'fbx_no' };
      const error = await generateText({ model: model(), ...ask }).catch((e: unknown) => e);
      assert.ok(APICallError.isInstance(error) && error.statusCode === 401);
      assert.equal(proxy.calls.length, 1);
    });

    test('that pass: tried again after the time in Retry-After', async () => {
      const headers = { 'retry-after': '0' };
      proxy.spoil = () => (proxy.calls.length === 1 ? { status: 503, headers } : undefined);
      const { text } = await generateText({ model: model(), ...ask });
      assert.equal(text, 'hello');
      assert.equal(proxy.calls.length, 2);
      proxy.spoil = () => ({ status: 503, headers });
      const error = await generateText({ model: model(), ...ask }).catch((e: unknown) => e);
      assert.ok(RetryError.isInstance(error), String(error));
    });

    test('in mid-stream: the text so far, then an error part', async () => {
      service.fake.behave.chat = (call) => {
        const tap = openTap(call);
        tap.push(delta('hel'));
        tap.break();
        return tap.outcome;
      };
      const result = streamText({ model: model(), ...ask, onError: () => {} });
      let text = '';
      const errors: any[] = [];
      for await (const part of result.fullStream) {
        if (part.type === 'text-delta') text += part.text;
        if (part.type === 'error') errors.push(part.error);
      }
      assert.equal(text, 'hel');
      assert.equal(errors.length, 1);
      assert.equal(errors[0].code, 'submit_failed');
    });
  });
}

test('the general provider completes and streams by the address alone', async () => {
  assert.equal((await generateText({ model: general(), ...ask })).text, 'hello');
  streamHello();
  const result = streamText({ model: general(), ...ask });
  assert.equal(await result.text, 'hello');
  assert.equal((await result.usage).totalTokens, 7);
});
