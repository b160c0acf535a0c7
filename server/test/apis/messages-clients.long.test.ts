import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';
import { withService } from '../kit/with-service.ts';
import { traces } from '../kit/traces.ts';
import { openSandbox, type OpenedSandbox } from '../upstreams/sandbox-kit.ts';

/** Anthropic's clients, with nothing changed but their base address and key, on the sandbox. */

let sandbox: OpenedSandbox;
const { service, account } = withService(async (use) => {
  sandbox = use(await openSandbox());
  const root = resolve(import.meta.dirname, '../../..');
  const catalog = readFileSync(join(root, 'catalog/sandbox.yaml'), 'utf8');
  return { catalog, upstreams: [sandbox.sandbox] };
});

const model = 'sandbox/chat';
const hello = { model, max_tokens: 200, messages: [{ role: 'user' as const, content: 'Hello' }] };
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

interface Client {
  client: Anthropic;
  /** Statuses of the replies so far, one for each call that was really made. */
  replies: number[];
}

function connect(options: ConstructorParameters<typeof Anthropic>[0] = {}): Client {
  const replies: number[] = [];
  const client = new Anthropic({
    baseURL: service.base,
    apiKey: account.key,
    fetch: async (...args) => {
      const reply = await fetch(...args);
      replies.push(reply.status);
      return reply;
    },
    ...options,
  });
  return { client, replies };
}

const Place = z.object({ city: z.string(), days: z.int().min(1).max(7) });
const placeSchema = {
  type: 'object' as const,
  properties: { city: { type: 'string' } },
  required: ['city'],
};

describe("Anthropic's own client", () => {
  test('gets a message, with its cost and the id of the call', async () => {
    const { client } = connect();
    const { data, response, request_id } = await client.messages.create(hello).withResponse();
    const [block] = data.content;
    assert.match(block?.type === 'text' ? block.text : '', /^\S.* You wrote 1 word: "Hello"/s);
    assert.match(data.id, /^msg_[0-9a-f-]{36}$/);
    assert.equal(data.stop_reason, 'end_turn');
    assert.equal(data.model, model);
    const { cost_usd_micro } = data.usage as { cost_usd_micro?: string };
    assert.equal(cost_usd_micro, response.headers.get('x-charge-usd-micro'));
    assert.equal(request_id, response.headers.get('x-request-id'));
  });

  test('streams the same message', async () => {
    const { client } = connect();
    const whole = await client.messages.create(hello);
    const stream = client.messages.stream(hello);
    let text = '';
    stream.on('text', (piece) => (text += piece));
    const streamed = await stream.finalMessage();
    assert.deepEqual(streamed.content, whole.content);
    assert.deepEqual(
      [text],
      whole.content.map((block) => block.type === 'text' && block.text),
    );
    // The client's snapshot drops fields that it does not know.
    const { cost_usd_micro: _, ...counts } = whole.usage as typeof whole.usage & {
      cost_usd_micro: string;
    };
    assert.deepEqual(streamed.usage, counts);
    assert.equal(streamed.stop_reason, whole.stop_reason);
  });

  test('is cut at max_tokens, and says so', async () => {
    const { client } = connect();
    const { stop_reason, usage } = await client.messages.create({ ...hello, max_tokens: 3 });
    assert.deepEqual([stop_reason, usage.output_tokens], ['max_tokens', 3]);
  });

  test('shows images and reads them from results of tools', async () => {
    const { client } = connect();
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: png };
    const image = { type: 'image' as const, source };
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: [{ type: 'text', text: 'Look' }, image] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [image] }] },
    ];
    const tools = [{ name: 'look', input_schema: { type: 'object' as const } }];
    const { content } = await client.messages.create({
      ...hello,
      messages,
      tools,
      tool_choice: { type: 'none' },
    });
    assert.match(content[0]?.type === 'text' ? content[0].text : '', /has 4 messages, 2 images/);
  });

  for (const stream of [false, true])
    test(`runs tools by itself, ${stream ? 'streamed' : 'whole'}`, async () => {
      const { client, replies } = connect();
      const asked: unknown[] = [];
      const weather = betaZodTool({
        name: 'weather',
        description: 'The weather of a city.',
        inputSchema: Place,
        run: (place) => {
          asked.push(Place.parse(place));
          return 'sunny, 21 degrees';
        },
      });
      const runner = client.beta.messages.toolRunner({ ...hello, tools: [weather], stream });
      const { content, stop_reason } = await runner.runUntilDone();
      assert.equal(asked.length, 1);
      assert.equal(stop_reason, 'end_turn');
      const [block] = content;
      assert.match(block?.type === 'text' ? block.text : '', /weather answered: "sunny/);
      // It first tries to let the server keep the conversation.
      assert.deepEqual(replies, [400, 200, 200]);
    });

  test('gets JSON that fits its schema', async () => {
    const { client } = connect();
    const format = { type: 'json_schema' as const, schema: placeSchema };
    const { content } = await client.messages.create({ ...hello, output_config: { format } });
    const said = content[0]?.type === 'text' ? content[0].text : '';
    assert.equal(typeof JSON.parse(said).city, 'string');
  });

  test('counts tokens without a charge', async () => {
    const { client } = connect();
    const before = await traces(service);
    const { max_tokens: _, ...prompt } = hello;
    const short = await client.messages.countTokens(prompt);
    const long = await client.messages.countTokens({ ...prompt, system: 'x'.repeat(4_000) });
    assert.ok(short.input_tokens > 0 && short.input_tokens < 50, String(short.input_tokens));
    assert.ok(long.input_tokens >= short.input_tokens + 1_000);
    assert.deepEqual(await traces(service), before);
  });

  const refused = (
    what: string,
    error: Function,
    body: object,
    options?: () => Promise<ConstructorParameters<typeof Anthropic>[0]>,
    replies = 1,
  ) =>
    test(`meets ${what} as its own class`, async () => {
      const { client, replies: seen } = connect({ maxRetries: 1, ...(await options?.()) });
      await assert.rejects(client.messages.create({ ...hello, ...body }), (thrown) => {
        assert.ok(thrown instanceof Anthropic.APIError && thrown instanceof error, String(thrown));
        assert.match(thrown.requestID ?? '', /^req_/);
        assert.equal(typeof thrown.type, 'string');
        return true;
      });
      assert.equal(seen.length, replies);
    });
  refused('a wrong key', Anthropic.AuthenticationError, {}, async () => ({ apiKey: 'fbx_wrong' }));
  refused('an unknown model', Anthropic.BadRequestError, { model: 'sandbox/nothing' });
  refused('an empty balance', Anthropic.PaymentRequiredError, {}, async () => ({
    apiKey: (await service.account({ usd: 0 })).key,
  }));
  refused('a key for other models', Anthropic.PermissionDeniedError, {}, async () => ({
    apiKey: (await service.account({ models: ['sandbox/chat/large'] })).key,
  }));
  refused('too many calls', Anthropic.RateLimitError, {}, async () => {
    const { key } = await service.account({ rpm: 1 });
    await service.call('GET', '/v1/balance', { key });
    return { apiKey: key, maxRetries: 0 };
  });
  const busy = [{ role: 'user', content: 'sandbox:busy' }];
  refused(
    'a busy model, and tries again',
    Anthropic.InternalServerError,
    { messages: busy },
    undefined,
    2,
  );
});

/** The kind of calls that Claude Code makes: it runs the tools and sends the conversation again. */
describe('a coding agent', () => {
  const cache_control = { type: 'ephemeral' as const };
  const names = ['Read', 'Write', ...Array.from({ length: 18 }, (_, i) => `Tool${i}`)];
  const call = {
    model,
    max_tokens: 32_000,
    temperature: 1,
    stream: true as const,
    system: ['You are an agent.', 'Be brief.'].map((text) => ({
      type: 'text' as const,
      text,
      cache_control,
    })),
    tools: names.map((name) => ({
      name,
      description: `${name}s a file.`,
      input_schema: placeSchema,
    })),
    thinking: { type: 'enabled' as const, budget_tokens: 31_999 },
    metadata: { user_id: `user_${'0'.repeat(64)}_account__session_${'1'.repeat(36)}` },
    context_management: {
      edits: [{ type: 'clear_thinking_20251015' as const, keep: 'all' as const }],
    },
  };
  const betas = ['claude-code-20250219', 'interleaved-thinking-2025-05-14'];

  test('works through two rounds of tools', async () => {
    const { client } = connect({ apiKey: null, authToken: account.key });
    const words = 'sandbox:tool=Read sandbox:tool=Write';
    const ask = [
      { type: 'text' as const, text: '<system-reminder>…</system-reminder>' },
      { type: 'text' as const, text: words, cache_control },
    ];
    const messages: Anthropic.Beta.BetaMessageParam[] = [{ role: 'user', content: ask }];
    const called: string[] = [];
    for (let round = 0; round < 3; round++) {
      const reply = await client.beta.messages.stream({ ...call, messages, betas }).finalMessage();
      messages.push({
        role: 'assistant',
        content: reply.content as Anthropic.Beta.BetaContentBlockParam[],
      });
      const uses = reply.content.filter((block) => block.type === 'tool_use');
      assert.equal(reply.stop_reason, uses.length > 0 ? 'tool_use' : 'end_turn');
      called.push(...uses.map(({ name }) => name));
      if (uses.length === 0) break;
      const results = uses.map(({ id }, i) => ({
        type: 'tool_result' as const,
        tool_use_id: id,
        content: [{ type: 'text' as const, text: `line ${i}`, cache_control }],
        is_error: i > 0,
      }));
      messages.push({ role: 'user', content: results });
    }
    assert.deepEqual(called, ['Read', 'Write']);
    const [last] = messages.at(-1)!.content as Anthropic.Beta.BetaTextBlock[];
    assert.match(last!.text, /Read answered: "line 0"\nWrite answered: "Error: line 1"/);
    const counted = await client.beta.messages.countTokens({
      model,
      messages,
      tools: call.tools,
      system: call.system,
    });
    assert.ok(counted.input_tokens > 500);
  });
});

describe('the AI SDK', () => {
  const anthropic = () =>
    createAnthropic({ baseURL: `${service.base}/v1`, apiKey: account.key })(model);
  const weather = (asked: unknown[]) =>
    tool({
      inputSchema: Place,
      execute: async (place) => {
        asked.push(place);
        return 'sunny, 21 degrees';
      },
    });

  test('generates text, and counts tokens and cost', async () => {
    const { text, usage, finishReason } = await generateText({
      model: anthropic(),
      prompt: 'Hello',
    });
    assert.match(text, /You wrote 1 word/);
    assert.equal(finishReason, 'stop');
    assert.ok(usage.inputTokens! > 0 && usage.outputTokens! > 0);
  });

  for (const streamed of [false, true])
    test(`runs a tool ${streamed ? 'in a stream' : 'in whole replies'}`, async () => {
      const asked: unknown[] = [];
      const call = {
        model: anthropic(),
        prompt: 'Weather?',
        tools: { weather: weather(asked) },
        stopWhen: stepCountIs(3),
      };
      const text = streamed ? await streamText(call).text : (await generateText(call)).text;
      assert.match(text, /weather answered: "sunny/);
      assert.equal(asked.length, 1);
    });

  test('generates an object', async () => {
    const { object } = await generateObject({
      model: anthropic(),
      schema: Place,
      prompt: 'Where?',
    });
    assert.ok(Place.safeParse(object).success);
  });
});
