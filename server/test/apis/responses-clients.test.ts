import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAI } from '@ai-sdk/openai';
import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from '@openai/agents';
import { generateObject, generateText, isStepCount, streamText, tool as aiTool } from 'ai';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import {
  chunkOf,
  eventsOf,
  replyOf,
  sayings,
  streamOf,
  usual,
} from '../upstreams/fakes/openai-chat.ts';
import { tinyPng } from '../kit/fake.ts';
import { openStage, type Stage } from './responses-kit.ts';

/** Stock clients of OpenAI's Responses, with nothing changed but their base address and key. */

type Json = Record<string, any>;

let stage: Stage;
let client: OpenAI;
const model = 'stage/chat';
const sandbox = 'stage/sandbox';
const picture = `data:image/png;base64,${tinyPng.toString('base64')}`;

before(async () => {
  stage = await openStage();
  const { service, account } = stage;
  client = new OpenAI({ baseURL: `${service.base}/v1`, apiKey: account.key, maxRetries: 0 });
});
after(() => stage.close());

const weather = {
  type: 'function' as const,
  name: 'weather',
  description: 'The weather of a city.',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};

describe("OpenAI's client", () => {
  test('reads a whole reply, with its usage and charge', async () => {
    const asked = { model, input: 'Say hello.', instructions: 'Be brief.', max_output_tokens: 50 };
    const { data, response } = await client.responses.create(asked).withResponse();
    assert.equal(data.output_text, sayings.join(''));
    assert.equal(data.status, 'completed');
    assert.match(data.id, /^resp_[0-9a-f-]{36}$/);
    const { input_tokens, output_tokens, input_tokens_details, output_tokens_details } =
      data.usage!;
    assert.deepEqual([input_tokens, output_tokens], [9, 4]);
    assert.equal(input_tokens_details.cached_tokens, 2);
    assert.equal(output_tokens_details.reasoning_tokens, 1);
    const cost = (data.usage as Json).cost_usd_micro;
    assert.equal(response.headers.get('x-charge-usd-micro'), cost);
    assert.deepEqual(stage.asked().messages, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Say hello.' },
    ]);
    assert.equal(stage.asked().max_tokens, 50);
  });

  test('streams, and its own snapshot equals the last response', async () => {
    const stream = client.responses.stream({ model, input: 'Say hello.' });
    const types: string[] = [];
    const numbers: number[] = [];
    for await (const event of stream) {
      types.push(event.type);
      numbers.push(event.sequence_number);
    }
    assert.deepEqual(types, [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      ...sayings.map(() => 'response.output_text.delta'),
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    assert.deepEqual(numbers, [...numbers.keys()]);
    const last = await stream.finalResponse();
    assert.equal(last.output_text, sayings.join(''));
    assert.equal(last.usage?.output_tokens, usual.completion_tokens);
  });

  test('calls tools, and sends the whole conversation back', async () => {
    const input: OpenAI.Responses.ResponseInputItem[] = [
      { role: 'user', content: 'How is the weather?' },
    ];
    const first = await client.responses.create({ model: sandbox, input, tools: [weather] });
    const [call] = first.output;
    assert.ok(call?.type === 'function_call');
    assert.deepEqual([call.name, Object.keys(JSON.parse(call.arguments))], ['weather', ['city']]);
    input.push(call, {
      type: 'function_call_output',
      call_id: call.call_id,
      output: 'Sunny, 21 degrees.',
    });
    const second = await client.responses.create({ model: sandbox, input, tools: [weather] });
    assert.match(second.output_text, /weather answered: "Sunny, 21 degrees\."/);
  });

  test('parses a reply that follows a schema', async () => {
    const format = zodTextFormat(z.object({ city: z.string(), degrees: z.number() }), 'weather');
    const parsed = await client.responses.parse({
      model: sandbox,
      input: 'The weather, please.',
      text: { format },
    });
    assert.equal(typeof parsed.output_parsed?.city, 'string');
  });

  test('sends images, also as the output of a tool', async () => {
    await client.responses.create({
      model,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image_url: picture, detail: 'low' },
          ],
        },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c1',
          output: [
            { type: 'input_text', text: 'A picture.' },
            { type: 'input_image', image_url: picture, detail: 'auto' },
          ],
        },
      ],
    });
    const image = (detail: string) => ({ type: 'image_url', image_url: { url: picture, detail } });
    assert.deepEqual(stage.asked().messages, [
      { role: 'user', content: [{ type: 'text', text: 'What is it?' }, image('low')] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'A picture.' },
      {
        role: 'user',
        content: [{ type: 'text', text: 'The result of tool call c1 has:' }, image('auto')],
      },
    ]);
  });

  test('sends reasoning back to the model unchanged, streamed or not', async () => {
    const format = 'anthropic-claude-v1';
    const details = [
      { type: 'reasoning.text', text: 'Hm, ', format, index: 0 },
      { type: 'reasoning.text', text: 'the weather.', format, index: 0 },
      { type: 'reasoning.text', signature: 'c2ln', format, index: 0 },
    ];
    const whole = { ...details[0], text: 'Hm, the weather.', signature: 'c2ln' };
    const called = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const message = { content: null, reasoning_details: [whole], tool_calls: [called] };
    const chunks = [
      ...details.map((detail) => chunkOf({ reasoning_details: [detail] })),
      chunkOf({ tool_calls: [{ index: 0, ...called }] }),
      chunkOf({}, { usage: usual }, 'tool_calls'),
    ];
    stage.fake.chat.script({ json: replyOf({}, message) }, streamOf(eventsOf(chunks)));
    const question = { role: 'user' as const, content: 'The weather?' };
    const asked = { model, input: [question] };
    const replies = [
      await client.responses.create(asked),
      await client.responses.stream(asked).finalResponse(),
    ];
    for (const { output } of replies) {
      assert.deepEqual(
        output.map(({ type }) => type),
        ['reasoning', 'function_call'],
      );
      const [reasoning] = output;
      assert.ok(reasoning?.type === 'reasoning');
      assert.deepEqual(reasoning.content, [{ type: 'reasoning_text', text: 'Hm, the weather.' }]);
      const done = { type: 'function_call_output' as const, call_id: 'c1', output: 'Sunny.' };
      // Clients may drop everything except the encrypted content.
      const kept = { ...reasoning, content: undefined, summary: [] };
      const input = [question, kept, ...output.slice(1), done];
      await client.responses.create({ model, input: input as never });
      assert.deepEqual(stage.asked().messages[1], {
        role: 'assistant',
        content: null,
        reasoning_details: [whole],
        tool_calls: [called],
      });
    }
  });

  test('meets errors as its own classes, with the field at fault', async () => {
    const other = new OpenAI({ baseURL: `${stage.service.base}/v1`, apiKey: 'x', maxRetries: 0 });
    await assert.rejects(other.responses.create({ model, input: 'x' }), OpenAI.AuthenticationError);
    await assert.rejects(
      client.responses.create({ model, input: 'x', tools: [{ type: 'web_search' }] }),
      (error: unknown) =>
        error instanceof OpenAI.BadRequestError &&
        error.param === 'tools[0].type' &&
        error.message.includes('web_search'),
    );
    await assert.rejects(
      client.responses.create({
        model: 'stage/text',
        input: [
          { role: 'user', content: 'hello' },
          { role: 'user', content: [{ type: 'input_image', image_url: picture, detail: 'auto' }] },
        ],
      }),
      (error: unknown) =>
        error instanceof OpenAI.BadRequestError &&
        error.param === 'input[1].content[0]' &&
        !error.message.includes('messages['),
    );
  });

  test('a reply that breaks off ends with response.failed', async () => {
    const error = { message: 'HIDDEN', type: 'server_error' };
    stage.fake.chat.script(streamOf(eventsOf([chunkOf({ content: 'Hel' }), { error }])));
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    const stream = await client.responses.create({ model, input: 'x', stream: true });
    for await (const event of stream) events.push(event);
    const last = events.at(-1)!;
    assert.ok(last.type === 'response.failed');
    assert.equal(last.response.error!.code as string, 'submit_failed');
    assert.equal(last.response.output_text ?? '', '');
    assert.ok(last.response.usage!.output_tokens > 0);
    assert.ok(!JSON.stringify(events).includes('HIDDEN'));
  });
});

describe('the AI SDK', () => {
  const openai = () =>
    createOpenAI({ baseURL: `${stage.service.base}/v1`, apiKey: stage.account.key });
  const tools = {
    weather: aiTool({
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      execute: () => 'Sunny, 21 degrees.',
    }),
  };
  const asked = { prompt: 'How is the weather?', stopWhen: isStepCount(3), maxRetries: 0 };

  test('generates a text, with a tool in between', async () => {
    const { text, steps, usage } = await generateText({
      model: openai()(sandbox),
      tools,
      ...asked,
    });
    assert.match(text, /weather answered: "Sunny, 21 degrees\."/);
    assert.equal(steps.length, 2);
    assert.ok(usage.outputTokens! > 0);
  });

  test('streams the same', async () => {
    const result = streamText({ model: openai()(sandbox), tools, ...asked });
    assert.match(await result.text, /weather answered: "Sunny, 21 degrees\."/);
    assert.equal(await result.finishReason, 'stop');
  });

  test('generates an object', async () => {
    const { object } = await generateObject({
      model: openai()(sandbox),
      schema: z.object({ city: z.string() }),
      prompt: 'A city.',
    });
    assert.equal(typeof object.city, 'string');
  });

  test('by default refers to a text of an earlier turn, and gets an error that says what to do', async () => {
    const { response } = await generateText({ model: openai()(model), prompt: 'Say hello.' });
    const messages = [...response.messages, { role: 'user' as const, content: 'Again.' }];
    await assert.rejects(
      generateText({ model: openai()(model), messages, maxRetries: 0 }),
      /input\[0\]\.type is item_reference.*store is false/,
    );
  });

  test('with store false, sends reasoning and texts of earlier steps back', async () => {
    const details = [{ type: 'reasoning.encrypted', data: 'QUJD', id: 'rs_1', index: 0 }];
    const called = {
      id: 'c1',
      type: 'function',
      function: { name: 'weather', arguments: '{"city":"x"}' },
    };
    const message = { content: 'I look.', reasoning_details: details, tool_calls: [called] };
    stage.fake.chat.script({ json: replyOf({}, message) });
    const { text } = await generateText({
      model: openai()(model),
      tools,
      ...asked,
      providerOptions: { openai: { store: false } },
    });
    assert.equal(text, sayings.join(''));
    assert.deepEqual(stage.asked().messages[1], {
      role: 'assistant',
      content: 'I look.',
      reasoning_details: details,
      tool_calls: [called],
    });
  });
});

describe('OpenAI Agents', () => {
  const lookUp = tool({
    name: 'weather',
    description: 'The weather of a city.',
    parameters: z.object({ city: z.string() }),
    execute: () => 'Sunny, 21 degrees.',
  });
  const run = async (stream: boolean) => {
    setTracingDisabled(true);
    const modelProvider = new OpenAIProvider({ openAIClient: client });
    const runner = new Runner({ modelProvider, tracingDisabled: true });
    const agent = new Agent({ name: 'Guide', model: sandbox, tools: [lookUp] });
    if (!stream) return (await runner.run(agent, 'How is the weather?')).finalOutput;
    const result = await runner.run(agent, 'How is the weather?', { stream: true });
    await result.completed;
    return result.finalOutput;
  };
  for (const stream of [false, true])
    test(`run an agent with a tool${stream ? ', streamed' : ''}`, async () => {
      assert.match((await run(stream)) ?? '', /weather answered: "Sunny, 21 degrees\."/);
    });
});
