import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { HumanMessage } from '@langchain/core/messages';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { createAgent } from 'langchain';
import OpenAI from 'openai';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import { startService, type Service, type TestAccount } from '../kit/service.ts';
import { openSandbox, type OpenedSandbox } from '../upstreams/sandbox-kit.ts';

/** Stock clients, unmodified, get tool calls and structured outputs from the sandbox. */

let sandbox: OpenedSandbox;
let service: Service;
let account: TestAccount;
before(async () => {
  sandbox = await openSandbox();
  const catalog = readFileSync(
    join(resolve(import.meta.dirname, '../../..'), 'catalog/sandbox.yaml'),
    'utf8',
  );
  service = await startService({ catalog, upstreams: [sandbox.sandbox] });
  account = await service.account();
});
after(async () => {
  await service.audit();
  await service.stop();
  await sandbox.close();
});

const model = 'sandbox/chat';
const City = z.object({
  name: z.string().max(40),
  population: z.int().min(1_000),
  founded: z.iso.date().nullable(),
  districts: z.array(z.object({ name: z.string(), kind: z.enum(['old', 'new']) })).min(2),
});
const Place = z.object({ city: z.string(), days: z.int().min(1).max(7) });

/** A tool that records its arguments and answers. */
function weather() {
  const asked: z.infer<typeof Place>[] = [];
  const answer = async (place: unknown) => {
    asked.push(Place.parse(place));
    return 'sunny, 21 degrees';
  };
  return { asked, answer };
}

const openai = () => new OpenAI({ baseURL: `${service.base}/v1`, apiKey: account.key });

describe('the OpenAI client', () => {
  test('parses a reply by its schema', async () => {
    const { choices } = await openai().chat.completions.parse({
      model,
      messages: [{ role: 'user', content: 'Describe Lisbon.' }],
      response_format: zodResponseFormat(City, 'city'),
    });
    assert.equal(choices[0]!.message.parsed!.districts.length, 2);
  });

  for (const stream of [false, true]) {
    test(`runs tools to a final answer, ${stream ? 'streamed' : 'whole'}`, async () => {
      const { asked, answer } = weather();
      const runner = openai().chat.completions.runTools({
        model,
        stream: stream as false,
        messages: [{ role: 'user', content: 'Weather in Lisbon?' }],
        tools: [
          {
            type: 'function',
            function: {
              name: 'weather',
              description: 'Looks up the weather',
              parse: (text: string) => JSON.parse(text) as unknown,
              function: answer,
              parameters: z.toJSONSchema(Place) as Record<string, unknown>,
            },
          },
        ],
      });
      const text = await runner.finalContent();
      assert.match(text!, /weather answered: "sunny, 21 degrees"/);
      assert.equal(asked.length, 1);
    });
  }
});

describe('the AI SDK', () => {
  const sdk = () =>
    createOpenAICompatible({
      name: 'farebox',
      apiKey: account.key,
      baseURL: `${service.base}/v1`,
      supportsStructuredOutputs: true,
    })(model);

  test('generates an object', async () => {
    const { object } = await generateObject({ model: sdk(), schema: City, prompt: 'Lisbon' });
    assert.equal(object.districts.length, 2);
  });

  test('calls tools, whole and streamed', async () => {
    const { asked, answer } = weather();
    const tools = { weather: tool({ inputSchema: Place, execute: answer }) };
    const ask = { model: sdk(), tools, prompt: 'Weather?', stopWhen: stepCountIs(5) };
    const { text, steps } = await generateText(ask);
    assert.match(text, /weather answered: "sunny/);
    assert.equal(steps.length, 2);
    assert.match(await streamText(ask).text, /weather answered: "sunny/);
    assert.equal(asked.length, 2);
  });
});

describe('LangChain', () => {
  const chat = () =>
    new ChatOpenAI({
      model,
      apiKey: account.key,
      configuration: { baseURL: `${service.base}/v1` },
    });

  for (const method of ['jsonSchema', 'functionCalling'] as const) {
    test(`gives structured output by ${method}`, async () => {
      const city = await chat().withStructuredOutput(City, { method }).invoke('Describe Lisbon.');
      assert.deepEqual(City.parse(city), city);
    });
  }

  test('runs an agent with tools, and one that ends with an object', async () => {
    const { asked, answer } = weather();
    const tools = [
      langchainTool(answer, { name: 'weather', description: 'Weather', schema: Place }),
    ];
    const messages = [new HumanMessage('Weather in Lisbon?')];
    const plain = await createAgent({ model: chat(), tools }).invoke({ messages });
    assert.match(String(plain.messages.at(-1)!.content), /weather answered: "sunny/);
    const shaped = await createAgent({ model: chat(), tools, responseFormat: City }).invoke({
      messages,
    });
    assert.ok(City.safeParse(shaped.structuredResponse).success);
    assert.equal(asked.length, 2);
  });
});
