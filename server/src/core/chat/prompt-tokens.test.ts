import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { promptIn } from '../../../test/kit/chat-apis.ts';
import type { Block } from './conversation.ts';
import {
  boundPromptTokens,
  boundRule,
  boundTokens,
  countPromptTokens,
  type Prompt,
} from './tokens.ts';

const window = 1_000_000;
const messages = (content: unknown) => [{ role: 'user', content }];
const user = (content: unknown) => promptIn({ messages: messages(content) });
const beside = (more: object) => promptIn({ messages: messages(''), ...more });
const bound = (prompt: Prompt, context_tokens: number) =>
  boundPromptTokens(prompt, { context_tokens });
const estimate = (prompt: Prompt) => bound(prompt, window);
const frame = boundRule.fixed + boundRule.per_message;
const sound = (data: string) => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
const named = sound(`file_${'0'.repeat(32)}`);
const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(9e4)}` } };
const file = { type: 'file', file: { file_id: 'f' } };

describe('boundPromptTokens', () => {
  const own = { name: 'f', description: null, parameters: { type: 'object', properties: {} } };
  const tool = { type: 'function', function: own };
  const written = boundTokens(JSON.stringify(tool));
  const grammar = { syntax: 'lark', definition: 'start: "a"' };
  const custom = { type: 'custom', custom: { name: 'f', format: { type: 'grammar', grammar } } };
  const schema = { type: 'object', properties: { name_of_a_field: { type: 'string' } } };
  const asked = { type: 'json_schema', json_schema: { name: 'n', schema } };
  const result = (call: string) => ({ type: 'result', call, at: '', failed: false, blocks: [] });
  const turn = (...blocks: object[]) => ({ by: 'user', name: null, at: '', blocks });
  const nothing = { tools: [], format: null };

  const cases: [name: string, prompt: Prompt, tokens: number][] = [
    ['an empty text', user(''), frame],
    ['a text', user('hello'), frame + 4],
    ['a text part', user([{ type: 'text', text: 'hello' }]), frame + 4],
    ['a refusal', user([{ type: 'refusal', refusal: 'hello' }]), frame + 4],
    ['a picture, whatever its bytes', user([image]), frame + 4_096],
    ['two pictures', user([image, image]), frame + 8_192],
    ['sound', user([sound('A'.repeat(3_200))]), frame + 100],
    [
      'an uploaded sound, by its size as base64',
      { ...user([named, named]), files: { [named.input_audio.data]: { size: 2_400 } } },
      frame + 200,
    ],
    ['an uploaded sound of unknown size: the whole window', user([named]), window],
    ['sound at an address: the whole window', user([sound('https://a.example/b.mp3')]), window],
    [
      'sound in a data: address',
      user([sound(`data:audio/wav;base64,${'A'.repeat(3_200)}`)]),
      frame + 100,
    ],
    ['a file: the whole window', user([file]), window],
    ['two messages', promptIn({ messages: [...messages(''), ...messages('')] }), frame + 16],
    [
      'results of tools, each as a message',
      { ...nothing, turns: [turn(result('a'), result('b'), result('c'))] as never },
      frame + 2 * 16 + 3,
    ],
    [
      'results of tools and what is said beside them',
      { ...nothing, turns: [turn(result('a'), { type: 'text', text: 'hello' })] as never },
      frame + 16 + 1 + 4,
    ],
    ['a tool', beside({ tools: [tool] }), frame + 640 + 16 + written],
    [
      'a tool whose input has a grammar',
      beside({ tools: [custom] }),
      frame +
        640 +
        16 +
        boundTokens(
          JSON.stringify({ ...tool, function: { ...own, parameters: null, ...grammar } }),
        ),
    ],
    ['an old function', beside({ functions: [own] }), frame + 640 + 16 + written],
    ['an empty list of tools', beside({ tools: [] }), frame],
    [
      'a reply format',
      beside({ response_format: asked }),
      frame +
        boundTokens(
          JSON.stringify({ type: 'schema', name: 'n', description: null, schema, strict: null }),
        ),
    ],
    [
      'JSON as a reply format',
      beside({ response_format: { type: 'json_object' } }),
      frame + boundTokens('{"type":"json"}'),
    ],
  ];
  for (const [name, prompt, tokens] of cases) {
    test(`counts ${name}`, () => assert.equal(estimate(prompt), tokens));
  }

  test('nothing a model may be shown is free', () => {
    const said = 'some text of the caller';
    const fields: Record<string, unknown> = {
      name: said,
      tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: said } }],
      function_call: { name: said, arguments: '{}' },
      reasoning: said,
      reasoning_content: said,
      reasoning_details: [{ type: 'reasoning.encrypted', data: said }],
      refusal: said,
    };
    const least = estimate(user('a')) + 10;
    for (const [field, value] of Object.entries(fields)) {
      const message = { role: 'assistant', content: 'a', [field]: value };
      assert.ok(estimate(promptIn({ messages: [message] })) > least, field);
    }
    const signed = [{ type: 'reasoning.text', text: '', signature: said }];
    const results = [
      { role: 'assistant', content: 'a', reasoning_details: signed },
      { role: 'tool', tool_call_id: said, content: 'a' },
      { role: 'tool', tool_call_id: 'c', content: said },
      { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: said }] },
    ];
    for (const message of results)
      assert.ok(estimate(promptIn({ messages: [message] })) > least, JSON.stringify(message));
  });

  test('is never above the window, and takes no longer for a longer prompt', () => {
    assert.equal(bound(user('x '.repeat(5_000_000)), 8_192), 8_192);
    const many = Array.from({ length: 10_000 }, () => ({ role: 'user', content: 'hi' }));
    assert.equal(bound(promptIn({ messages: many }), 8_192), 8_192);
    assert.equal(bound(user('hello'), 0), 0);
  });

  test('takes other figures for a model that needs them', () => {
    const model = { context_tokens: window, image_tokens: 48_169 };
    assert.equal(boundPromptTokens(user([image]), model), frame + 48_169);
  });

  const at = fc.constant('messages[0]');
  const text = fc.record({ type: fc.constantFrom('text', 'refusal'), text: fc.string(), at });
  const media = fc.record({
    type: fc.constantFrom('image', 'audio', 'file'),
    at,
    media: fc.record({
      type: fc.constant(null),
      from: fc.constantFrom('base64', 'text', 'url', 'file_id'),
      value: fc.oneof(fc.string(), fc.constantFrom('file_1', '__proto__', 'toString')),
      name: fc.constant(null),
      at,
    }),
  });
  const block = fc.oneof(
    text,
    media,
    fc.record({
      type: fc.constant('thought'),
      form: fc.constantFrom('text', 'summary', 'hidden'),
      text: fc.string(),
      signature: fc.option(fc.string()),
      at,
    }),
    fc.record({
      type: fc.constant('call'),
      id: fc.string(),
      name: fc.string(),
      input: fc.string(),
    }),
    fc.record({
      type: fc.constant('result'),
      call: fc.string(),
      blocks: fc.array(fc.oneof(text, media), { maxLength: 3 }),
    }),
  );
  const prompts = fc.record({
    turns: fc.array(
      fc.record({
        by: fc.constantFrom('user', 'assistant'),
        name: fc.option(fc.string()),
        blocks: fc.array(block as fc.Arbitrary<unknown> as fc.Arbitrary<Block>, { maxLength: 5 }),
        at,
      }),
      { maxLength: 5 },
    ),
    tools: fc.array(
      fc.record({
        name: fc.string(),
        description: fc.option(fc.string()),
        parameters: fc.option(fc.dictionary(fc.string(), fc.jsonValue())),
        strict: fc.option(fc.boolean()),
        custom: fc.option(
          fc.record({
            grammar: fc.option(fc.record({ syntax: fc.string(), definition: fc.string() })),
          }),
        ),
      }),
      { maxLength: 3 },
    ),
    format: fc.option(fc.constant({ type: 'json' as const })),
    files: fc.constantFrom({}, { file_1: { size: 12_345 } }),
  });

  test('is a whole number within the window, and never less than the count', () => {
    fc.assert(
      fc.property(prompts as fc.Arbitrary<Prompt>, fc.nat(100_000), (prompt, context) => {
        const most = bound(prompt, context);
        const count = countPromptTokens(prompt, context);
        assert.ok(Number.isSafeInteger(most) && Number.isSafeInteger(count));
        assert.ok(count >= 0 && count <= most && most <= context);
      }),
    );
  });
});

describe('countPromptTokens', () => {
  test('counts text by quarters and the rest by the smallest figures known', () => {
    assert.equal(countPromptTokens(user('x'.repeat(400)), window), 103);
    assert.equal(countPromptTokens(user([image]), window), 88);
    assert.equal(countPromptTokens(user([file]), window), 3);
  });
});
