import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { promptIn } from '../../../test/kit/chat-apis.ts';
import { asked, eventsOf, marked } from '../../../test/kit/read-replies.ts';
import { completionsReader } from '../apis/completions/read-reply.ts';
import { readReply, ReplyBroken } from '../apis/read-reply.ts';
import {
  chargeableUsage,
  type TokenBill,
  type ChatDelivery,
  type DeliveryEnd,
} from './chat-bill.ts';
import { gatherReply } from './reply.ts';
import { boundPromptTokens, boundTokens } from './tokens.ts';

const saying = (content: unknown) => ({
  prompt: promptIn({ messages: [{ role: 'user', content }] }),
  stream: true,
});
const chat = saying('How many legs has a cat?');
const model = {
  context_tokens: 8_000,
  image_tokens: 4_096,
  on_disconnect: 'stop',
  hidden_tokens: false,
} as const;
const max_tokens = 1_000;
/** 13 bytes: four tokens at four bytes each. */
const text = 'Four, I think';

interface ReplyCase {
  content?: string;
  finish?: string | null;
  usage?: unknown;
  error?: unknown;
  calls?: unknown[];
  /** The caller stopped reading. */
  left?: true;
}

function chunksOf({ content, finish = null, usage, error, calls }: ReplyCase): object[] {
  const delta = { role: 'assistant', content, ...(calls && { tool_calls: calls }) };
  const spoken = { choices: [{ index: 0, delta, finish_reason: null }] };
  const counts = usage === undefined ? [] : [{ choices: [], usage }];
  const ended =
    finish === null ? [] : [{ choices: [{ index: 0, delta: {}, finish_reason: finish }] }];
  const broken = error === undefined ? [] : [{ error }];
  return ended.length > 0 ? [spoken, ...counts, ...ended, ...broken] : [...counts, spoken];
}

/** The delivery of a reply of which these chunks came. One that says that it failed is broken. */
async function delivered(chunks: object[], end: DeliveryEnd): Promise<ChatDelivery> {
  const reply = gatherReply();
  const cut = new Error('nothing more is read');
  async function* bytes() {
    yield Buffer.from(eventsOf(chunks));
    if (end !== 'complete') throw cut;
    yield Buffer.from(marked);
  }
  try {
    for await (const event of readReply(bytes(), completionsReader, asked)) reply.add(event);
  } catch (error) {
    if (error instanceof ReplyBroken) return { reply, end: 'broken' };
    if (error !== cut) throw error;
  }
  return { reply, end };
}

type ExpectedUsage = { prompt_tokens: number | 'counted'; completion_tokens: number } | null;
const used = { prompt_tokens: 9, completion_tokens: 5 };
const notCached = { cached_tokens: 0, cache_write_tokens: 0 };
const counted = (completion_tokens: number): ExpectedUsage => ({
  prompt_tokens: 'counted',
  completion_tokens,
});
const call = { id: 'c', type: 'function', function: { name: 'add', arguments: '{"a":12}' } };

const cases: [what: string, said: ReplyCase, failed: boolean, bill: ExpectedUsage][] = [
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
    'a usage of the completion and the total has the prompt',
    { content: text, finish: 'stop', usage: { completion_tokens: 5, total_tokens: 905 } },
    false,
    { prompt_tokens: 900, completion_tokens: 5 },
  ],
  [
    'a usage of a total alone has the completion counted, and the prompt is the rest',
    { content: text, finish: 'stop', usage: { total_tokens: 904 } },
    false,
    { prompt_tokens: 900, completion_tokens: 4 },
  ],
  [
    'a caller who left after a total alone pays no less',
    { content: text, usage: { total_tokens: 5 }, left: true },
    false,
    counted(4),
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
    test(what, async () => {
      const end = failed ? 'broken' : said.left ? 'abandoned' : 'complete';
      const got = chargeableUsage(chat, max_tokens, model, await delivered(chunksOf(said), end));
      if (typeof bill?.prompt_tokens !== 'string')
        return assert.deepEqual(got, bill && { ...bill, ...notCached });
      const most = boundPromptTokens(chat.prompt, model);
      assert.ok(got!.prompt_tokens > 0 && got!.prompt_tokens < most);
      assert.equal(got!.completion_tokens, bill.completion_tokens);
    });
  }

  test('leaving before the usage does not make pictures cheap', async () => {
    const image_url = { url: 'https://example.com/a.png' };
    const pictures = saying(Array.from({ length: 3 }, () => ({ type: 'image_url', image_url })));
    const seen = { ...model, context_tokens: 100_000 };
    const billOf = async (end: DeliveryEnd, stream = true) => {
      const delivery = await delivered(chunksOf({ content: text }), end);
      return chargeableUsage({ ...pictures, stream }, max_tokens, seen, delivery)!.prompt_tokens;
    };
    const left = await billOf('abandoned');
    assert.ok(left >= 3 * 4_096, String(left));
    assert.ok(left <= boundPromptTokens(pictures.prompt, { context_tokens: 100_000 }));
    for (const whole of [await billOf('complete'), await billOf('abandoned', false)])
      assert.ok(whole < 3 * 100, String(whole));
  });

  test('uploaded sound costs its size, not its name', async () => {
    const data = `file_${'0'.repeat(32)}`;
    const said = saying([{ type: 'input_audio', input_audio: { data, format: 'wav' } }]);
    const files = { [data]: { size: 3 * 2 ** 20 } };
    const seen = { ...model, context_tokens: 1_000_000 };
    const promptOf = async (row: Parameters<typeof chargeableUsage>[2], end: DeliveryEnd) =>
      chargeableUsage(
        { ...said, prompt: { ...said.prompt, files } },
        max_tokens,
        row,
        await delivered(chunksOf({ content: text }), end),
      )!.prompt_tokens;
    assert.ok((await promptOf({ ...seen, on_disconnect: 'finish' }, 'complete')) > 2 ** 17);
    assert.ok((await promptOf(seen, 'abandoned')) > 2 ** 17);
    assert.equal(await promptOf(seen, 'complete'), 3 + 2 ** 10);
  });

  test('an answer without choices is no reply, and free', async () => {
    for (const choices of [undefined, null, [], 'x', [null]]) {
      const delivery = await delivered([{ choices }], 'complete');
      assert.equal(chargeableUsage(chat, max_tokens, model, delivery), null);
    }
  });

  describe('of an outside service', () => {
    const outside = { ...model, on_disconnect: 'finish', hidden_tokens: false as boolean } as const;
    const thinks: typeof outside = { ...outside, hidden_tokens: true };
    const prompt_tokens = boundPromptTokens(chat.prompt, model);
    const bound = { prompt_tokens, completion_tokens: boundTokens(text) };
    const whole = { prompt_tokens, completion_tokens: max_tokens };
    const early = { prompt_tokens: 9, completion_tokens: 1 };
    const told = {
      prompt_tokens: 9_000,
      prompt_tokens_details: { cached_tokens: 8_000, cache_write_tokens: 500 },
    };
    const read = { prompt_tokens: 9_000, cached_tokens: 8_000, cache_write_tokens: 500 };
    const rows: [
      what: string,
      row: typeof outside,
      said: ReplyCase,
      end: DeliveryEnd,
      bill: TokenBill,
    ][] = [
      [
        'whole, with usage',
        thinks,
        { content: text, finish: 'stop', usage: used },
        'complete',
        { ...used, ...notCached },
      ],
      ['whole, without usage', outside, { content: text, finish: 'stop' }, 'complete', bound],
      ['whole, without usage, may think', thinks, { content: text }, 'complete', whole],
      ['given up after some words', outside, { content: text }, 'abandoned', bound],
      ['given up after some words, may think', thinks, { content: text }, 'abandoned', whole],
      ['given up before any word, may think', thinks, {}, 'abandoned', whole],
      [
        'given up after a report of its beginning',
        thinks,
        { content: text, usage: early },
        'abandoned',
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
        'abandoned',
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
        'abandoned',
        { ...used, ...notCached },
      ],
    ];
    for (const [what, row, said, end, bill] of rows) {
      test(what, async () => {
        const delivery = await delivered(chunksOf(said), end);
        assert.deepEqual(chargeableUsage(chat, max_tokens, row, delivery), bill);
      });
    }

    test('given up before any word: the prompt alone', async () => {
      const delivery = await delivered([], 'abandoned');
      const bill = chargeableUsage(chat, max_tokens, outside, delivery);
      assert.deepEqual(bill, { prompt_tokens, completion_tokens: 0 });
    });

    test('broken off by the service: a count of what was delivered', async () => {
      const delivery = await delivered(chunksOf({ content: text }), 'broken');
      const own = chargeableUsage(chat, max_tokens, model, delivery);
      assert.deepEqual(chargeableUsage(chat, max_tokens, thinks, delivery), own);
    });

    test('the bound of what was delivered never passes max_tokens', async () => {
      const long = await delivered(chunksOf({ content: text.repeat(1_000) }), 'abandoned');
      assert.deepEqual(chargeableUsage(chat, max_tokens, outside, long), whole);
    });

    test('a reply that is too large to read: all reserved tokens', async () => {
      const large = await delivered(chunksOf({ content: text }), 'oversized');
      assert.deepEqual(chargeableUsage(chat, max_tokens, outside, large), whole);
    });
  });
});
