import { test } from 'node:test';
import assert from 'node:assert/strict';
import { completion } from '../../../kit/fake.ts';
import { fakeCatalog } from '../../../kit/service.ts';
import { before, withService } from '../../../kit/with-service.ts';

/** Fields of a chat reach only upstreams that list them, and a header names the others. */

const row = `
  - id: fake/cached/chat
    kind: text
    task: chat
    name: Cached chat
    price: { unit: 1M tokens, input_usd: "1", output_usd: "2", cache_write_usd: "1.25" }
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 300
`;

const { service, account } = withService({ catalog: fakeCatalog + row });
before(async () => {
  service.fake.passes = new Set(['top_k', 'cache_control']);
});

const cache_control = { type: 'ephemeral' };
const content = [{ type: 'text', text: 'hello', cache_control }];
const body = {
  messages: [{ role: 'user', content }],
  top_k: 40,
  min_p: 0.1,
  service_tier: 'priority',
};
async function* streamed() {
  const choice = { index: 0, delta: { content: 'hi' }, finish_reason: 'stop' };
  yield { choices: [choice], usage: { prompt_tokens: 9, completion_tokens: 1 } };
}

const cases: [model: string, ignored: string, marked: boolean][] = [
  ['fake/chat', 'service_tier, min_p, cache_control', false],
  ['fake/cached/chat', 'service_tier, min_p', true],
];
for (const [model, ignored, marked] of cases)
  for (const stream of [false, true])
    test(`${model} gets what it knows, and the reply${stream ? ', streamed,' : ''} names the rest`, async () => {
      service.fake.behave.chat = () =>
        stream
          ? { outcome: 'stream', chunks: streamed() }
          : {
              outcome: 'reply',
              reply: completion('hi', { prompt_tokens: 9, completion_tokens: 1 }),
            };
      const reply = await account.post('/v1/chat/completions', { ...body, model, stream });
      assert.equal(reply.status, 200, reply.text);
      assert.equal(reply.headers.get('x-ignored-fields'), ignored);
      const part = { type: 'text', text: 'hello', ...(marked && { cache_control }) };
      assert.deepEqual(service.fake.chats.at(-1)!.body, {
        messages: [{ role: 'user', content: [part] }],
        top_k: 40,
        max_tokens: model === 'fake/chat' ? 4_096 : 300,
      });
    });

test('a call whose fields all reach the model has no such header', async () => {
  service.fake.behave = {};
  const messages = [{ role: 'user', content: 'hello' }];
  const reply = await account.post('/v1/chat/completions', {
    model: 'fake/chat',
    messages,
    top_k: 1,
    store: null,
  });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.get('x-ignored-fields'), null);
});

const doors: [path: string, call: object, ignored: string | null, sent: object][] = [
  [
    '/v1/messages',
    { ...body, max_tokens: 9 },
    'min_p, service_tier',
    { top_k: 40, messages: [{ role: 'user', content }] },
  ],
  [
    '/v1/responses',
    { input: 'hello', prompt_cache_key: 'k', top_k: 1, store: false, service_tier: 'flex' },
    'top_k, service_tier, prompt_cache_key',
    { messages: [{ role: 'user', content: 'hello' }] },
  ],
  ['/v1/responses', { input: 'hello', store: false, truncation: 'disabled' }, null, {}],
  [
    '/v1/responses',
    { input: 'hello', store: true, truncation: 'auto', reasoning: { effort: 'low', depth: 3 } },
    'store, truncation, reasoning.depth',
    {},
  ],
  [
    '/v1/messages',
    {
      messages: [{ role: 'user', content: 'hello' }],
      max_tokens: 9,
      tools: ['a', 'b'].map((name) => ({ name, input_schema: {}, eager: true })),
    },
    'tools[].eager',
    {},
  ],
];
for (const [path, call, ignored, sent] of doors)
  test(`${path} names ${ignored ?? 'no field'}, and what it knows reaches the model`, async () => {
    service.fake.behave = {};
    const reply = await account.post(path, { ...call, model: 'fake/cached/chat' });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.headers.get('x-ignored-fields'), ignored);
    assert.partialDeepStrictEqual(service.fake.chats.at(-1)!.body, sent);
    assert.ok(!('prompt_cache_key' in service.fake.chats.at(-1)!.body));
  });
