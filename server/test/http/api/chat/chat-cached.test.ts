import { test } from 'node:test';
import assert from 'node:assert/strict';
import type { Json } from '../../../../src/lib/json.ts';
import { sql } from '../../../../src/lib/sql/sql.ts';
import { completion } from '../../../kit/fake.ts';
import { fakeCatalog } from '../../../kit/service.ts';
import { withService } from '../../../kit/with-service.ts';

/**
 * Prompt tokens of a cache have prices of their own: the highest is reserved, and the charge
 * follows the upstream's usage, through every API for chat.
 */

const row = `
  - id: fake/cached/chat
    kind: text
    task: chat
    name: Cached chat
    price:
      unit: 1M tokens
      input_usd: "10"
      output_usd: "20"
      cached_input_usd: "1"
      cache_write_usd: "12.5"
    cost_input_usd: "5"
    cost_output_usd: "10"
    cost_cached_input_usd: "0.5"
    cost_cache_write_usd: "6"
    upstream_model: chat
    context_tokens: 100000
    max_output_tokens: 300
`;

const { service, account } = withService({ catalog: fakeCatalog + row });

const messages = [{ role: 'user', content: 'hello' }];
const model = 'fake/cached/chat';
const doors: Record<string, object> = {
  '/v1/chat/completions': { model, messages, max_tokens: 100 },
  '/v1/responses': { model, input: 'hello', max_output_tokens: 100 },
  '/v1/messages': { model, messages, max_tokens: 100 },
};
const tokens = { prompt_tokens: 100, completion_tokens: 10 };
const usages: Record<string, [usage: Json, charge: bigint, cost: bigint]> = {
  'as OpenAI reports it': [
    { ...tokens, prompt_tokens_details: { cached_tokens: 60 } },
    60n + 400n + 200n,
    30n + 200n + 100n,
  ],
  'as OpenRouter reports it': [
    { ...tokens, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 } },
    60n + 375n + 100n + 200n,
    30n + 180n + 50n + 100n,
  ],
  'as Anthropic reports it': [
    { ...tokens, cache_read_input_tokens: 60, cache_creation_input_tokens: 30 },
    60n + 375n + 100n + 200n,
    30n + 180n + 50n + 100n,
  ],
  'as Anthropic reports it, beside the prompt': [
    {
      prompt_tokens: 10,
      completion_tokens: 10,
      total_tokens: 20,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
    },
    60n + 375n + 100n + 200n,
    30n + 180n + 50n + 100n,
  ],
  'not reported': [tokens, 1_000n + 200n, 500n + 100n],
  'of more than the prompt': [
    { ...tokens, prompt_tokens_details: { cached_tokens: 1_000_000 } },
    100n + 200n,
    50n + 100n,
  ],
};

async function* streamed(usage: Json, breaks: boolean) {
  const head = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'chat' };
  const choice = { index: 0, delta: { role: 'assistant', content: 'hi there' } };
  if (breaks) {
    yield { ...head, choices: [{ ...choice, finish_reason: null }], usage };
    throw new Error('the upstream dies');
  }
  yield { ...head, choices: [{ ...choice, finish_reason: 'stop' }] };
  yield { ...head, choices: [], usage };
}

/** Makes a call whose upstream reports this usage. Returns reservation, charge and cost. */
async function call(path: string, stream: boolean, usage: Json, breaks = false) {
  const earlier = await service.balance(account);
  service.fake.behave.chat = () =>
    stream
      ? { outcome: 'stream', chunks: streamed(usage, breaks) }
      : { outcome: 'reply', reply: completion('hi there', usage) };
  const body = { ...doors[path], stream };
  const reply = await account.post(path, body);
  assert.equal(reply.status, 200, reply.text);
  const later = await service.balance(account);
  assert.equal(later.reserved, 0n, 'a reservation was left');
  const [stored] = await service.db.run<{ quoted: bigint; charged: bigint; cost: bigint }>(sql`
    select quoted_usd_micro as quoted, charged_usd_micro as charged,
      cost_usd_micro as cost from requests join request_results on request_id = requests.id
      order by requests.created_at desc limit 1`);
  assert.equal(earlier.available - later.available, stored!.charged);
  return { ...stored!, reply };
}

for (const [how, [usage, charge, cost]] of Object.entries(usages))
  test(`a use of the cache ${how} is charged at its prices, and costs its costs`, async () => {
    for (const path of Object.keys(doors))
      for (const stream of [false, true]) {
        const { quoted, charged, cost: spent, reply } = await call(path, stream, usage);
        assert.deepEqual([charged, spent], [charge, cost], `${path} ${stream}`);
        assert.ok(quoted >= 1_250n, 'less than the highest price was reserved');
        if (!stream) assert.equal(reply.body.usage.cost_usd_micro, String(charge), path);
      }
  });

test('a stream that breaks off is charged the cached tokens that were reported by then', async () => {
  const told = { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 60 } };
  for (const early of [told, { ...told, completion_tokens: null }])
    for (const path of Object.keys(doors)) {
      const { charged, cost } = await call(path, true, early, true);
      // The 8 bytes that arrived are two tokens.
      assert.deepEqual([charged, cost], [60n + 400n + 40n, 30n + 200n + 20n], path);
    }
});

test('a caller sees the prices, and the cached tokens that were charged', async () => {
  const { key } = account;
  const card = await service.call('GET', `/v1/models/${model}`, { key });
  assert.deepEqual(card.body.price, { input: 10, output: 20, cached_input: 1, cache_write: 12.5 });
  const guide = await (await fetch(`${service.base}/llms.txt`)).text();
  assert.ok(guide.includes('$10 in, $1 from cache, $12.5 to cache, $20 out per 1M tokens'));
  const page = await (await fetch(`${service.base}/models/${card.body.id}`)).text();
  for (const [what, price] of [
    ['In', '$10.00'],
    ['In, from cache', '$1.00'],
    ['To cache', '$12.50'],
    ['Out', '$20.00'],
  ])
    assert.ok(page.includes(`<td>${what}</td><td>${price} / 1M tokens</td>`), what);
  const plain = await service.call('GET', '/v1/models/fake/chat', { key });
  assert.deepEqual(plain.body.price, { input: 1, output: 2 });
  const body = { model_id: model, input: { input_tokens: 1_000_000, output_tokens: 0 } };
  const estimate = await service.call('POST', '/v1/estimate', { key, body });
  assert.equal(estimate.body.price_usd_micro, '12500000');
  assert.deepEqual(estimate.body.input_prices_usd_micro, {
    input: '10000000',
    cached_input: '1000000',
    cache_write: '12500000',
  });
  const [usage] = usages['as Anthropic reports it, beside the prompt']!;
  const { reply } = await call('/v1/chat/completions', false, usage);
  const { prompt_tokens, total_tokens, prompt_tokens_details } = reply.body.usage;
  assert.deepEqual([prompt_tokens, total_tokens], [100, 110]);
  assert.deepEqual(prompt_tokens_details, { cached_tokens: 60, cache_write_tokens: 30 });
  const message = await call('/v1/messages', false, usage);
  const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } =
    message.reply.body.usage;
  assert.deepEqual(
    [input_tokens, cache_read_input_tokens, cache_creation_input_tokens],
    [10, 60, 30],
  );
});
