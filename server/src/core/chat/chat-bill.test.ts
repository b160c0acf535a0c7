import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chargeableUsage, type Bill, type DeliveryEnd } from './chat-bill.ts';
import { boundTokens, estimatePromptTokens } from './tokens.ts';

const body = { messages: [{ role: 'user', content: 'How many legs has a cat?' }] };
const chat = { body, files: {} };
const model = {
  context_tokens: 8_000,
  image_tokens: 4_096,
  on_disconnect: 'stop',
  hidden_tokens: false,
} as const;
const max_tokens = 1_000;
/** 13 bytes: four tokens at four bytes each. */
const text = 'Four, I think';

interface Said {
  content?: string;
  finish?: string | null;
  usage?: unknown;
  error?: unknown;
  calls?: unknown[];
  /** The caller stopped reading. */
  left?: true;
}

function completion({
  content,
  finish = null,
  usage,
  error,
  calls,
}: Said): Record<string, unknown> {
  const message = { role: 'assistant', content, ...(calls && { tool_calls: calls }) };
  return {
    choices: [{ index: 0, message, finish_reason: finish }],
    ...(usage !== undefined && { usage }),
    ...(error !== undefined && { error }),
  };
}

type Expected = { prompt_tokens: number | 'counted'; completion_tokens: number } | null;
const used = { prompt_tokens: 9, completion_tokens: 5 };
const notCached = { cached_tokens: 0, cache_write_tokens: 0 };
const counted = (completion_tokens: number): Expected => ({
  prompt_tokens: 'counted',
  completion_tokens,
});
const call = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"a":12}' } };

const cases: [what: string, said: Said, failed: boolean, bill: Expected][] = [
  [
    "the upstream's own usage is taken",
    { content: text, finish: 'stop', usage: used },
    false,
    used,
  ],
  [
    'a usage of zero is a figure',
    { content: text, finish: 'stop', usage: { prompt_tokens: 0, completion_tokens: 0 } },
    false,
    { prompt_tokens: 0, completion_tokens: 0 },
  ],
  [
    'a usage without the prompt has it counted',
    { content: text, finish: 'stop', usage: { completion_tokens: 5 } },
    false,
    counted(5),
  ],
  [
    'a usage of the prompt alone has the completion counted',
    { content: text, finish: 'stop', usage: { prompt_tokens: 900 } },
    false,
    { prompt_tokens: 900, completion_tokens: 4 },
  ],
  [
    'a usage of a prompt of zero alone is none',
    { content: text, finish: 'stop', usage: { prompt_tokens: 0 } },
    false,
    counted(4),
  ],
  [
    'a stream that broke after the usage of its prompt costs that and what came',
    { content: text, usage: { prompt_tokens: 900, completion_tokens: null } },
    true,
    { prompt_tokens: 900, completion_tokens: 4 },
  ],
  [
    'a caller who left after the usage of the prompt pays that and what came',
    { content: text, usage: { prompt_tokens: 900 }, left: true },
    false,
    { prompt_tokens: 900, completion_tokens: 4 },
  ],
  [
    'a caller who left before any word pays nothing for a told prompt',
    { content: '', usage: { prompt_tokens: 900 }, left: true },
    false,
    { prompt_tokens: 0, completion_tokens: 0 },
  ],
  [
    'a usage that is none is not believed',
    { content: text, finish: 'stop', usage: { prompt_tokens: -1, completion_tokens: 5 } },
    false,
    counted(4),
  ],
  [
    'without usage what was delivered is counted',
    { content: text, finish: 'stop' },
    false,
    counted(4),
  ],
  ['tool calls count as delivered', { finish: 'tool_calls', calls: [call] }, false, counted(3)],
  [
    'an empty reply that finished costs its prompt',
    { content: '', finish: 'stop' },
    false,
    counted(0),
  ],
  [
    'a caller who left before any word pays nothing',
    { content: '', left: true },
    false,
    { prompt_tokens: 0, completion_tokens: 0 },
  ],
  [
    'a caller who left midway pays for the whole prompt and for what came',
    { content: text, left: true },
    false,
    counted(4),
  ],
  [
    'a caller who left before the usage pays no less for the prompt',
    { content: text, finish: 'stop', left: true },
    false,
    counted(4),
  ],
  [
    'a caller who left after the usage pays that',
    { content: text, usage: used, left: true },
    false,
    used,
  ],
  [
    'a stream that broke midway costs the whole prompt and what came',
    { content: text },
    true,
    counted(4),
  ],
  ['a stream that broke after its usage costs that', { content: text, usage: used }, true, used],
  ['a stream that broke before any word is free', { content: '' }, true, null],
  [
    'a stream that broke before any word is free whatever usage it claims',
    { content: '', usage: used },
    true,
    null,
  ],
  [
    'an error finish without a word is free',
    { content: '', finish: 'error', usage: used },
    false,
    null,
  ],
  [
    'an error beside the reply without a word is free',
    { content: '', finish: 'stop', error: { message: 'x' }, usage: used },
    false,
    null,
  ],
  ['an error finish after words costs them', { content: text, finish: 'error' }, false, counted(4)],
];

describe('chargeableUsage', () => {
  for (const [what, said, failed, bill] of cases) {
    test(what, () => {
      const end = failed ? 'broken' : said.left ? 'given_up' : 'complete';
      const delivered = { completion: completion(said), end } as const;
      const got = chargeableUsage(chat, max_tokens, model, delivered);
      if (typeof bill?.prompt_tokens !== 'string')
        return assert.deepEqual(got, bill && { ...bill, ...notCached });
      const most = estimatePromptTokens(chat.body, model.context_tokens);
      assert.ok(got!.prompt_tokens > 0 && got!.prompt_tokens < most);
      assert.equal(got!.completion_tokens, bill.completion_tokens);
    });
  }

  test('leaving before the usage does not make pictures cheap', () => {
    const image_url = { url: 'https://example.com/a.png' };
    const content = Array.from({ length: 3 }, () => ({ type: 'image_url', image_url }));
    const body = { messages: [{ role: 'user', content }] };
    const seen = { ...model, context_tokens: 100_000 };
    const said = completion({ content: text });
    const left = { completion: said, end: 'given_up' } as const;
    const bill = chargeableUsage({ body, files: {} }, max_tokens, seen, left);
    const whole = chargeableUsage({ body, files: {} }, max_tokens, seen, {
      completion: said,
      end: 'complete',
    });
    assert.ok(bill!.prompt_tokens >= 3 * 4_096, String(bill!.prompt_tokens));
    assert.ok(bill!.prompt_tokens <= estimatePromptTokens(body, 100_000));
    assert.ok(whole!.prompt_tokens < 3 * 100, String(whole!.prompt_tokens));
  });

  test('uploaded sound costs its size, not its name', () => {
    const data = `file_${'0'.repeat(32)}`;
    const content = [{ type: 'input_audio', input_audio: { data, format: 'wav' } }];
    const body = { messages: [{ role: 'user', content }] };
    const prompt = { body, files: { [data]: { size: 3 * 2 ** 20 } } };
    const seen = { ...model, context_tokens: 1_000_000 };
    const promptOf = (row: Parameters<typeof chargeableUsage>[2], end: DeliveryEnd) =>
      chargeableUsage(prompt, max_tokens, row, { completion: completion({ content: text }), end })!
        .prompt_tokens;
    assert.ok(promptOf({ ...seen, on_disconnect: 'finish' }, 'complete') > 2 ** 17);
    assert.ok(promptOf(seen, 'given_up') > 2 ** 17);
    assert.equal(promptOf(seen, 'complete'), 3 + 2 ** 10);
  });

  test('a reply without choices is an empty one that a caller did not wait for', () => {
    const nothing = { prompt_tokens: 0, completion_tokens: 0, ...notCached };
    for (const choices of [undefined, null, [], 'x', [null]]) {
      const delivered = { completion: { choices }, end: 'complete' } as const;
      assert.deepEqual(chargeableUsage(chat, max_tokens, model, delivered), nothing);
    }
  });

  describe('of an outside service', () => {
    const outside = { ...model, on_disconnect: 'finish', hidden_tokens: false as boolean } as const;
    const thinks: typeof outside = { ...outside, hidden_tokens: true };
    const prompt_tokens = estimatePromptTokens(chat.body, model.context_tokens);
    const bound = { prompt_tokens, completion_tokens: boundTokens(text) };
    const whole = { prompt_tokens, completion_tokens: max_tokens };
    const early = { prompt_tokens: 9, completion_tokens: 1 };
    const told = {
      prompt_tokens: 9_000,
      prompt_tokens_details: { cached_tokens: 8_000, cache_write_tokens: 500 },
    };
    const read = { prompt_tokens: 9_000, cached_tokens: 8_000, cache_write_tokens: 500 };
    const rows: [what: string, row: typeof outside, said: Said, end: DeliveryEnd, bill: Bill][] = [
      [
        'whole, with usage',
        thinks,
        { content: text, finish: 'stop', usage: used },
        'complete',
        { ...used, ...notCached },
      ],
      ['whole, without usage', outside, { content: text, finish: 'stop' }, 'complete', bound],
      ['whole, without usage, may think', thinks, { content: text }, 'complete', whole],
      ['given up after some words', outside, { content: text }, 'given_up', bound],
      ['given up after some words, may think', thinks, { content: text }, 'given_up', whole],
      ['given up before any word, may think', thinks, {}, 'given_up', whole],
      [
        'given up after a report of its beginning',
        thinks,
        { content: text, usage: early },
        'given_up',
        { ...whole, prompt_tokens: 9, ...notCached },
      ],
      [
        'whole, with usage of the prompt alone',
        outside,
        { content: text, finish: 'stop', usage: told },
        'complete',
        { ...read, completion_tokens: boundTokens(text) },
      ],
      [
        'whole, with usage of the prompt alone, may think',
        thinks,
        { content: text, finish: 'stop', usage: told },
        'complete',
        { ...read, completion_tokens: max_tokens },
      ],
      [
        'given up after usage of the prompt',
        outside,
        { content: text, usage: told },
        'given_up',
        { ...read, completion_tokens: boundTokens(text) },
      ],
      [
        'broken after usage of the prompt',
        thinks,
        { content: text, usage: told },
        'broken',
        { ...read, completion_tokens: 4 },
      ],
      [
        'given up after the last report',
        thinks,
        { content: text, finish: 'stop', usage: used },
        'given_up',
        { ...used, ...notCached },
      ],
    ];
    for (const [what, row, said, end, bill] of rows) {
      test(what, () => {
        const delivered = { completion: completion(said), end };
        assert.deepEqual(chargeableUsage(chat, max_tokens, row, delivered), bill);
      });
    }

    test('given up before any word: the prompt alone', () => {
      const delivered = { completion: completion({}), end: 'given_up' } as const;
      const bill = chargeableUsage(chat, max_tokens, outside, delivered);
      assert.deepEqual(bill, { prompt_tokens, completion_tokens: 0 });
    });

    test('broken off by the service: a count of what was delivered', () => {
      const delivered = { completion: completion({ content: text }), end: 'broken' } as const;
      const own = chargeableUsage(chat, max_tokens, model, delivered);
      assert.deepEqual(chargeableUsage(chat, max_tokens, thinks, delivered), own);
    });

    test('the bound of what was delivered never passes max_tokens', () => {
      const long = {
        completion: completion({ content: text.repeat(1_000) }),
        end: 'given_up',
      } as const;
      const bill = chargeableUsage(chat, max_tokens, outside, long);
      assert.deepEqual(bill, whole);
    });
  });
});
