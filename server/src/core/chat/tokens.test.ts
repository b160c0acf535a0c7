import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  boundRule,
  boundTokens,
  countPromptTokens,
  countTokens,
  estimatePromptTokens,
} from './tokens.ts';

const window = 1_000_000;
const user = (content: unknown) => ({ messages: [{ role: 'user', content }] });
const estimate = (prompt: Parameters<typeof estimatePromptTokens>[0]) =>
  estimatePromptTokens(prompt, window);
const frame = boundRule.fixed + boundRule.per_message;
const sound = (data: string) => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
const named = sound(`file_${'0'.repeat(32)}`);
const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(9e4)}` } };

describe('boundTokens', () => {
  /**
   * `real`: what the greediest of nine vocabularies spends (o200k, cl100k, Llama 2 and 3, Mistral,
   * Claude 2, Qwen 3, DeepSeek 3, Gemma 3), counted with their own tokenisers.
   */
  const measured: [text: string, real: number, bound: number][] = [
    ['', 0, 0],
    ['hello', 1, 4],
    ['The quick brown fox jumps over the lazy dog.', 12, 32],
    ['a b c d e f', 6, 6],
    ['1234567890', 10, 10],
    ['3.14, 2.71, 1.41', 16, 16],
    ['deadbeef', 3, 7],
    ['\n\n\n\n', 4, 4],
    ['                ', 1, 7],
    ['今日は天気が良い', 10, 24],
    ['Жизнь прекрасна', 10, 20],
    ['Ъ '.repeat(300), 601, 900],
    [' ЪЪ'.repeat(300), 1_200, 1_500],
    ['Щ'.repeat(300), 600, 600],
    ['gq'.repeat(300), 600, 600],
    ['qaxa'.repeat(150), 450, 600],
    [' uo'.repeat(150), 300, 300],
    ['qo'.repeat(300), 600, 600],
    ['9,  '.repeat(150), 599, 600],
    ['  ъ'.repeat(150), 450, 500],
    ['qQ'.repeat(200), 400, 400],
    ['Yi'.repeat(30), 60, 60],
    ['ﷺ'.repeat(100), 1_500, 3_300],
    ['ﷻ'.repeat(100), 700, 1_500],
    ['㍿'.repeat(100), 500, 1_200],
    ['ཷ'.repeat(100), 900, 900],
    ['½'.repeat(100), 201, 500],
    ['ᏣᎳᎩ', 9, 9],
    ['😀', 2, 4],
  ];
  for (const [text, real, bound] of measured) {
    test(`${JSON.stringify(text).slice(0, 30)} costs at most ${bound}, in truth ${real}`, () => {
      assert.equal(boundTokens(text), bound);
      assert.ok(bound >= real);
    });
  }

  const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));

  test('lies between a third of the bytes and all of them, as a tokeniser may rewrite them', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = Buffer.byteLength(text);
        const rewritten = [...text].reduce(
          (sum, each) =>
            sum + Math.max(Buffer.byteLength(each), Buffer.byteLength(each.normalize('NFKC'))),
          0,
        );
        assert.ok(boundTokens(text) <= rewritten);
        assert.ok(boundTokens(text) >= bytes / 3);
      }),
    );
  });

  test('never falls when the text grows, and two halves cost no less than the whole', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        assert.ok(boundTokens(a + b) >= boundTokens(a));
        assert.ok(boundTokens(a) + boundTokens(b) >= boundTokens(a + b));
      }),
    );
  });

  test('stops once there is enough', () => {
    const text = 'word '.repeat(1_000_000);
    assert.equal(boundTokens(text, 100), 100);
    assert.equal(boundTokens('word', 100), boundTokens('word'));
  });
});

describe('countTokens', () => {
  test('is a quarter of the bytes, rounded up', () => {
    assert.deepEqual(
      ['', 'a', 'abcd', 'abcde', 'é'.repeat(4), '漢字'].map(countTokens),
      [0, 1, 1, 2, 2, 2],
    );
  });

  test('is never more than the bound', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        assert.ok(countTokens(text) <= boundTokens(text));
      }),
    );
  });
});

describe('estimatePromptTokens', () => {
  const tool = { type: 'function', function: { name: 'f', parameters: {} } };
  const cases: [name: string, prompt: Parameters<typeof estimate>[0], tokens: number][] = [
    ['an empty text', user(''), frame],
    ['a text', user('hello'), frame + 4],
    ['a text part', user([{ type: 'text', text: 'hello' }]), frame + 4],
    ['a refusal', user([{ type: 'refusal', refusal: 'hello' }]), frame + 4],
    ['a picture, whatever its bytes', user([image]), frame + 4_096],
    ['two pictures', user([image, image]), frame + 8_192],
    [
      'sound',
      user([{ type: 'input_audio', input_audio: { data: 'A'.repeat(3_200) } }]),
      frame + 100,
    ],
    [
      'an uploaded sound, by its size as base64',
      { ...user([named, named]), files: { [named.input_audio.data]: { size: 2_400 } } },
      frame + 200,
    ],
    ['an uploaded sound of unknown size: the whole window', user([named]), window],
    ['sound at an address: the whole window', user([sound('https://a.example/b.mp3')]), window],
    [
      'sound in a data: address',
      user([sound(`data:audio/wav;base64,${'A'.repeat(3_178)}`)]),
      frame + 100,
    ],
    ['a file: the whole window', user([{ type: 'file', file: { file_id: 'f' } }]), window],
    ['an unknown part: the whole window', user([{ type: 'hologram' }]), window],
    ['sound without data: the whole window', user([{ type: 'input_audio' }]), window],
    ['two messages', { messages: [...user('').messages, ...user('').messages] }, frame + 16],
    ['null content', user(null), frame],
    [
      'a tool',
      { ...user(''), tools: [tool] },
      frame + 640 + 16 + boundTokens(JSON.stringify([tool])),
    ],
    [
      'an old function',
      { ...user(''), functions: [tool] },
      frame + 640 + 16 + boundTokens(JSON.stringify([tool])),
    ],
    ['an empty list of tools', { ...user(''), tools: [] }, frame],
    ['a reply format', { ...user(''), response_format: { a: 1 } }, frame + boundTokens('{"a":1}')],
  ];
  for (const [name, prompt, tokens] of cases) {
    test(`counts ${name}`, () => assert.equal(estimate(prompt), tokens));
  }

  test('nothing a model may be shown is free', () => {
    const fields = ['name', 'tool_calls', 'tool_call_id', 'reasoning_content', 'refusal', 'x'];
    for (const field of fields) {
      const messages = [{ role: 'assistant', content: 'a', [field]: ['some text of the caller'] }];
      assert.ok(estimate({ messages }) > estimate(user('a')) + 10, field);
    }
  });

  test('is never above the window, and takes no longer for a longer prompt', () => {
    assert.equal(estimatePromptTokens(user('x '.repeat(5_000_000)), 8_192), 8_192);
    const messages = Array.from({ length: 10_000 }, () => ({ role: 'user', content: 'hi' }));
    assert.equal(estimatePromptTokens({ messages }, 8_192), 8_192);
    assert.equal(estimatePromptTokens(user('hello'), 0), 0);
  });

  test('takes other figures for a model that needs them', () => {
    const rule = { ...boundRule, per_image: 48_169 };
    assert.equal(estimatePromptTokens(user([image]), window, rule), frame + 48_169);
  });

  const prompts = fc.record({
    messages: fc.array(
      fc.oneof(
        fc.jsonValue(),
        fc.record({
          role: fc.constantFrom('user', 'assistant'),
          content: fc.oneof(
            fc.string(),
            fc.jsonValue(),
            fc.array(
              fc.oneof(
                fc.jsonValue(),
                fc.record({
                  type: fc.constantFrom('text', 'image_url', 'input_audio', 'file', 'refusal'),
                  text: fc.jsonValue(),
                  input_audio: fc.jsonValue(),
                }),
              ),
            ),
          ),
        }),
      ),
    ),
    tools: fc.jsonValue(),
    functions: fc.jsonValue(),
    response_format: fc.jsonValue(),
  });

  test('is a whole number within the window for any JSON, and never less than the count', () => {
    fc.assert(
      fc.property(prompts, fc.nat(100_000), (prompt, context) => {
        const bound = estimatePromptTokens(prompt, context);
        const count = countPromptTokens(prompt, context);
        assert.ok(Number.isSafeInteger(bound) && Number.isSafeInteger(count));
        assert.ok(count >= 0 && count <= bound && bound <= context);
      }),
    );
  });
});

describe('countPromptTokens', () => {
  test('counts text by quarters and the rest by the smallest figures known', () => {
    assert.equal(countPromptTokens(user('x'.repeat(400)), window), 103);
    assert.equal(countPromptTokens(user([image]), window), 88);
    assert.equal(countPromptTokens(user([{ type: 'file', file: { file_id: 'f' } }]), window), 3);
  });
});
