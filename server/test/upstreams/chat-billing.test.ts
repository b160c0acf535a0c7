import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { inShort, isLong } from '../kit/long.ts';
import {
  openBench,
  plain,
  type Bench,
  type Framing,
  type PlayOptions,
} from './chat-billing-kit.ts';
import type { Message, Row, Scene, SentStream } from './chat-rule.ts';
import { chunkOf, replyOf, sayings } from './fakes/openai-chat.ts';

/**
 * Chat through the whole service and the openai adapter: every call is charged by the published
 * rule to the micro-USD, whatever its upstream reports, however it ends and whenever its caller
 * leaves. The rule is worked out in chat-rule.ts; figures here are worked out by hand. The short
 * form plays what can come at each chunk and in each form at the ones that differ.
 */

type Json = Record<string, any>;

/** 149 tokens are reserved for this prompt, and 5 counted: 3 for the message, and 7 bytes. */
const harbour: Message[] = [{ word: 'harbour', pictures: 0 }];
/** 149 and 100 tokens at the row `stop`, rounded up. */
const reserved = 247n;
/** 5 and 5 tokens: the texts have 17 bytes. */
const counted = 12n;

let bench: Bench;
before(async () => void (bench = await openBench()));
after(async () => {
  await bench.proven();
  await bench.close();
});

const done = (...events: SentStream['events']): SentStream => ({ events, end: 'done' });
function sceneOf(answer: Scene['answer'], more: Partial<Scene> = {}): Scene {
  return {
    row: 'stop',
    messages: harbour,
    max_tokens: 100,
    include_usage: true,
    streamed: !('body' in answer),
    answer,
    leaves: null,
    ...more,
  };
}

async function assertCharged(scene: Scene, charge: bigint, options?: PlayOptions): Promise<void> {
  const { row } = await bench.play(scene, options);
  assert.equal(row.charged_usd_micro, charge);
}

const role = chunkOf({ role: 'assistant', content: '' });
const words = sayings.map((content) => chunkOf({ content }));
const stop = chunkOf({}, {}, 'stop');
const usageChunk = (usage: unknown) => chunkOf({}, { choices: [], usage });
const tokens = (prompt_tokens: unknown, completion_tokens: unknown, more: Json = {}) => ({
  prompt_tokens,
  completion_tokens,
  ...more,
});

describe('what the upstream reports', () => {
  const table: Record<string, { usage: unknown; charge: bigint }> = {
    'true figures': { usage: tokens(9, 4), charge: 11n },
    'zero, which is a figure': { usage: tokens(0, 0), charge: 0n },
    'no completion': { usage: tokens(9, 0), charge: 4n },
    'more than was reserved': { usage: tokens(5_000, 90_000), charge: reserved },
    'more than any model writes': { usage: tokens(9, 100_000_001), charge: counted },
    'more than any model reads': { usage: tokens(100_000_001, 4), charge: counted },
    'the most that a model may write': { usage: tokens(9, 100_000_000), charge: reserved },
    'more reasoning than any model writes': {
      usage: tokens(9, 4, { completion_tokens_details: { reasoning_tokens: 100_000_001 } }),
      charge: 11n,
    },
    'more than a number holds': { usage: tokens(9, 1e300), charge: counted },
    'just what was reserved': { usage: tokens(149, 100), charge: reserved },
    'one token less': { usage: tokens(149, 99), charge: 245n },
    nothing: { usage: undefined, charge: counted },
    null: { usage: null, charge: counted },
    'below zero': { usage: tokens(9, -4), charge: counted },
    'a prompt below zero': { usage: tokens(-9, 4), charge: counted },
    'a fraction': { usage: tokens(9, 4.5), charge: counted },
    texts: { usage: tokens('9', '4'), charge: 11n },
    // 8 tokens, and 5 for the bytes.
    'a total only': { usage: { total_tokens: 13 }, charge: 13n },
    // 9 tokens, and 5 for the bytes.
    'a prompt only': { usage: { prompt_tokens: 9 }, charge: 13n },
    'a prompt, and null': { usage: tokens(9, null), charge: 13n },
    'a prompt of zero only': { usage: { prompt_tokens: 0 }, charge: counted },
    'no prompt': { usage: { completion_tokens: 4 }, charge: 10n },
    'a prompt of null': { usage: tokens(null, 4), charge: 10n },
    'its kinds of tokens too': {
      usage: tokens(9, 4, {
        prompt_tokens_details: { cached_tokens: 8 },
        completion_tokens_details: { reasoning_tokens: 3 },
      }),
      charge: 11n,
    },
    // 9 and 24 tokens.
    'reasoning beside the completion': {
      usage: tokens(9, 4, {
        total_tokens: 33,
        completion_tokens_details: { reasoning_tokens: 20 },
      }),
      charge: 50n,
    },
    'reasoning in the total alone': { usage: tokens(9, 4, { total_tokens: 33 }), charge: 50n },
    // 9 and 20 tokens.
    'more reasoning than completion': {
      usage: tokens(9, 4, { completion_tokens_details: { reasoning_tokens: 20 } }),
      charge: 42n,
    },
  };
  for (const [what, { usage, charge }] of Object.entries(table)) {
    test(`${what}: streamed on a chunk of its own, on the last, and in a whole reply`, async () => {
      const own = usage === undefined ? [] : [usageChunk(usage)];
      await assertCharged(sceneOf(done(role, ...words, stop, ...own)), charge);
      const whole = { status: 200, body: replyOf({ usage }) };
      await assertCharged(sceneOf(whole), charge);
      if (!isLong && what !== 'true figures') return;
      const last = chunkOf({}, { usage }, 'stop');
      await assertCharged(sceneOf(done(role, ...words, last), { include_usage: false }), charge);
      await assertCharged(sceneOf(whole, { streamed: true }), charge);
    });
  }

  test('growing counts on every chunk: the last ones are charged', async () => {
    const growing = words.map((chunk, i) => ({ ...chunk, usage: tokens(9, i) }));
    const last = chunkOf({}, { usage: tokens(9, 4) }, 'stop');
    await assertCharged(sceneOf(done(...growing, last)), 11n);
  });

  test("counts in Groq's field, and in llama.cpp's timings", async () => {
    const groq = chunkOf({}, { x_groq: { id: 'r', usage: tokens(9, 4) } }, 'stop');
    await assertCharged(sceneOf(done(...words, groq)), 11n);
    const timings = { cache_n: 2, prompt_n: 7, predicted_n: 4 };
    await assertCharged(sceneOf(done(...words, chunkOf({}, { timings }, 'stop'))), 11n);
  });

  test('the kinds of its tokens are shown; no more than their sum is charged', async () => {
    const details = {
      prompt_tokens_details: { cached_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 3 },
    };
    const usage = tokens(9, 4, { total_tokens: 99, ...details });
    const { text } = await bench.play(sceneOf({ status: 200, body: replyOf({ usage }) }));
    assert.deepEqual(JSON.parse(text).usage, {
      ...tokens(9, 4, { total_tokens: 13, ...details }),
      cost_usd_micro: '11',
    });
  });

  test('reasoning that is reported beside the completion is shown as part of it', async () => {
    const details = { completion_tokens_details: { reasoning_tokens: 20 } };
    const usage = tokens(9, 4, { total_tokens: 33, ...details });
    const { text } = await bench.play(sceneOf({ status: 200, body: replyOf({ usage }) }));
    assert.deepEqual(JSON.parse(text).usage, {
      ...tokens(9, 24, { total_tokens: 33, ...details }),
      cost_usd_micro: '50',
    });
  });

  const told: [what: string, more: Json, cost: bigint][] = [
    // 9 and 4 tokens at the row's own cost.
    ['nothing', {}, 7n],
    [
      'its cost, as OpenRouter does',
      { cost: 0.004321, cost_details: { a: 1 }, is_byok: false },
      4_321n,
    ],
    ['less than a micro-USD', { cost: 0.0000001 }, 1n],
    ['that it was free, which the row denies', { cost: 0 }, 7n],
    [
      "its fee, and the provider's bill of the operator's own key",
      { cost: 0.0001, is_byok: true, cost_details: { upstream_inference_cost: 0.02 } },
      20_100n,
    ],
    ['more than any call costs', { cost: 10_000 }, 7n],
    ['a cost that is none', { cost: -1 }, 7n],
    ['its cost under other names', { estimated_cost: 0.5, cost_in_usd_ticks: 37_756_000 }, 7n],
  ];
  for (const [what, more, cost] of told) {
    test(`it reports ${what} of the cost, which only the operator sees`, async () => {
      const usage = tokens(9, 4, more);
      const scenes = [
        sceneOf(done(role, ...words, stop, usageChunk(usage))),
        sceneOf({ status: 200, body: replyOf({ usage }) }),
      ];
      for (const scene of scenes) {
        const { row } = await bench.play(scene);
        assert.deepEqual([row.charged_usd_micro, row.cost_usd_micro], [11n, cost]);
        const card = await bench.service.call('GET', `/v1/requests/${row.id}`, {
          key: bench.account.key,
        });
        // The usage on the card has the charge, but not the operator's cost.
        assert.doesNotMatch(card.text, /"cost(?!_usd_micro":"11")|[":]4321\b|\.004321|estimated/);
      }
    });
  }
});

describe('how it ends', () => {
  const error = { message: 'HIDDEN at 127.0.0.1', code: 502 };
  const inBand: Record<string, Json | string> = {
    'an error': { error },
    'an error beside an empty choice': { ...chunkOf({ content: '' }, { error }, 'error') },
    'an error in the choice': { choices: [{ index: 0, delta: {}, finish_reason: 'error', error }] },
    'a flat error': { object: 'error', message: 'HIDDEN', code: 500 },
    'an error that is a text': { error: 'HIDDEN' },
    'an error beside its usage': { error, choices: [], usage: tokens(9, 4) },
    'what is no chunk': '{"choices":[{"del',
  };
  const begun = [role, ...words, stop];
  for (const row of inShort(1, ['stop', 'finish'] as Row[])) {
    test(`${row}: the upstream dies before each chunk`, async () => {
      for (let at = 0; at <= begun.length; at++)
        await bench.play(sceneOf({ events: begun.slice(0, at), end: 'dies' }, { row }));
    });

    test(`${row}: it sends an error in place of each chunk`, async () => {
      // Before the first word, after words, and after the end.
      const places = isLong ? [...begun.keys(), begun.length] : [0, 3, begun.length];
      for (const fault of Object.values(inBand))
        for (const at of places)
          await bench.play(
            sceneOf(done(...begun.slice(0, at), fault, ...begun.slice(at)), { row }),
          );
    });
  }

  test('a fault after two words: the prompt and the words are counted', async () => {
    // 5 for the prompt, and 7 bytes.
    const charge = 6n;
    await assertCharged(sceneOf({ events: begun.slice(0, 3), end: 'dies' }), charge);
    await assertCharged(sceneOf(done(...begun.slice(0, 3), { error })), charge);
    await assertCharged(sceneOf({ events: begun.slice(0, 3), end: 'quiet' }), charge);
  });

  test('a fault behind a usage without counts is no end of the reply', async () => {
    const usage = { prompt_tokens: 1_000_000_000, completion_tokens: true };
    const events = [...begun.slice(0, 3), usageChunk(usage), inBand['what is no chunk']!];
    const { verdict } = await bench.play(sceneOf(done(...events), { row: 'finish' }));
    assert.ok(verdict.broken);
  });

  test('usage that was reported by then counts, also beside the error', async () => {
    const grown = chunkOf({ content: 'Hel' }, { usage: tokens(9, 4) });
    for (const events of [
      [grown, { error }],
      [...words, inBand['an error beside its usage']!],
    ])
      await assertCharged(sceneOf(done(...events)), 11n);
    await assertCharged(sceneOf({ events: [grown], end: 'dies' }), 11n);
  });

  const ends: Record<string, { answer: Scene['answer']; charge: bigint; status?: number }> = {
    'without [DONE]': {
      answer: { events: [...begun, usageChunk(tokens(9, 4))], end: 'quiet' },
      charge: 11n,
    },
    'without [DONE] and usage': { answer: { events: begun, end: 'quiet' }, charge: counted },
    'without a reason': { answer: done(role, ...words), charge: counted },
    'in error, with nothing written': {
      answer: done(role, chunkOf({}, {}, 'error'), usageChunk(tokens(9, 4, { cost: 0.003 }))),
      charge: 0n,
      status: 502,
    },
    'in error, with no completion': {
      answer: done(role, chunkOf({}, {}, 'error'), usageChunk(tokens(9, 0))),
      charge: 0n,
      status: 502,
    },
    'in error, after words': { answer: done(...words, chunkOf({}, {}, 'error')), charge: counted },
    'with nothing written, and a reason': { answer: done(role, stop), charge: 2n },
    'with a role only': { answer: done(role), charge: 0n, status: 502 },
    'with usage only': { answer: done(usageChunk(tokens(9, 0))), charge: 0n, status: 502 },
    empty: { answer: { events: [], end: 'quiet' }, charge: 0n, status: 502 },
    'with [DONE] only': { answer: done(), charge: 0n, status: 502 },
  };
  for (const [what, { answer, charge, status = 200 }] of Object.entries(ends)) {
    test(`${what}: ${charge} micro-USD`, async () => {
      for (const include_usage of [true, false]) {
        const { row, status: seen } = await bench.play(sceneOf(answer, { include_usage }));
        assert.deepEqual([row.charged_usd_micro, seen], [charge, status]);
      }
    });
  }

  const loading = {
    error: { message: 'Loading model HIDDEN', code: 503, type: 'unavailable_error' },
  };
  const quota = {
    error: { message: 'HIDDEN', type: 'insufficient_quota', code: 'insufficient_quota' },
  };
  const spent = { error: { message: 'Insufficient credits HIDDEN', code: 402 } };
  const refusals: [what: string, status: number, body: Json, seen: number][] = [
    ['503: it is loading', 503, loading, 503],
    ['200 with loading in it', 200, loading, 503],
    ['402: the operator is out of credit', 402, spent, 503],
    ['200 with 402 in it', 200, spent, 503],
    ['429: the operator is out of quota', 429, quota, 503],
    ['200 with the quota in it', 200, quota, 503],
    ['500', 500, { error }, 502],
    ['200 with an error in it', 200, { error: { message: 'HIDDEN' } }, 502],
    ['200 with nothing in it', 200, {}, 502],
  ];
  for (const [what, status, body, seen] of refusals) {
    test(`${what}: ${seen} for the caller, streamed or not, and free`, async () => {
      for (const streamed of [true, false]) {
        const played = await bench.play(sceneOf({ status, body }, { streamed }));
        assert.equal(played.status, seen);
        assert.equal(played.row.charged_usd_micro, 0n);
        if (status === 200) await bench.play(sceneOf(done(body)));
      }
    });
  }

  test('a whole reply with an error: free without words, else charged', async () => {
    const body = replyOf({ error });
    await assertCharged(sceneOf({ status: 200, body: replyOf({ error }, { content: '' }) }), 0n);
    for (const streamed of [true, false]) {
      await assertCharged(sceneOf({ status: 200, body }, { streamed }), 11n);
      await assertCharged(
        sceneOf({ status: 200, body: { ...body, usage: undefined } }, { streamed }),
        counted,
      );
    }
    const usage = tokens(9, 0, { cost: 0.003 });
    await assertCharged(sceneOf({ status: 200, body: replyOf({ error, usage }) }), 4n);
  });
});

describe('a caller who leaves', () => {
  const growing = Array.from({ length: 10 }, (_, i) =>
    chunkOf({ content: `word ${i} ` }, { usage: tokens(9, i + 1) }),
  );
  const bare = growing.map(({ usage: _usage, ...chunk }) => chunk);
  const last = usageChunk(tokens(9, 40, { cost: 0.0001 }));
  const streams = { growing: [role, ...growing, stop, last], bare: [role, ...bare, stop, last] };
  for (const row of ['stop', 'finish'] as Row[]) {
    for (const include_usage of [true, false]) {
      for (const [name, events] of Object.entries(streams)) {
        test(`${row}, usage ${include_usage ? '' : 'not '}asked for, ${name}: after each of 10 chunks`, async () => {
          const charges: bigint[] = [];
          for (let leaves = 0; leaves <= 10; leaves += isLong ? 1 : 4) {
            const scene = sceneOf(done(...events), { row, include_usage, leaves });
            charges.push((await bench.play(scene)).row.charged_usd_micro!);
          }
          // 9 and 40 tokens at the row `finish`.
          if (row === 'finish') assert.deepEqual([...new Set(charges)], [6n]);
          else
            assert.deepEqual(
              charges,
              charges.toSorted((a, b) => Number(a - b)),
            );
        });
      }
    }
  }

  test('of a prompt with pictures, early: it pays for them as reserved', async () => {
    const messages = [{ word: 'harbour', pictures: 2 }];
    const scene = sceneOf(done(role, ...bare, stop), { messages, leaves: 1 });
    // 5 + 2 × 4096 tokens, and 7 bytes.
    await assertCharged(scene, 3_037n);
    await assertCharged({ ...scene, leaves: null }, 100n);
  });

  test('read on, and the upstream breaks off later: the reply does not count as complete', async () => {
    const messages = [{ word: 'harbour', pictures: 1 }];
    const some = [role, ...bare.slice(0, 4)];
    const answers: SentStream[] = [
      { events: some, end: 'dies' },
      { events: some, end: 'quiet' },
      done(...some, { error: { message: 'HIDDEN' } }, stop, last),
      done(...some, '{"cho'),
    ];
    for (const answer of answers) {
      const key = `left-${answers.indexOf(answer)}`;
      const scene = sceneOf(answer, { row: 'finish', messages, leaves: 2, streamed: true });
      const { row } = await bench.play(scene, { key });
      const again = await bench.repeat(scene, key);
      assert.match(again.text, /submit_failed/, 'its repeat tells so as well');
      assert.equal(again.charged, 0n);
      assert.ok(row.charged_usd_micro! > 200n);
    }
  });

  test('a call that is not streamed is stopped and free, read on, or kept under its key', async () => {
    const whole = { status: 200, body: replyOf({ usage: tokens(9, 4) }) };
    await assertCharged(sceneOf(whole, { leaves: 0 }), 0n);
    await assertCharged(sceneOf(whole, { leaves: 0, row: 'finish' }), 1n);
    const kept = sceneOf(whole, { leaves: 0 });
    await assertCharged(kept, 11n, { key: 'left-whole' });
    const again = await bench.repeat(kept, 'left-whole');
    assert.deepEqual([again.status, again.charged], [200, 0n]);
    assert.match(again.text, /Hello|Hel/);
  });

  describe('whose upstream reports 0 until it has counted', () => {
    const zero = { usage: tokens(0, 0, { cost: 0 }) };
    const early: Record<string, SentStream['events']> = {
      'on its first chunk': [{ ...role, ...zero }, ...words, stop],
      'on a chunk of its own before': [usageChunk(zero.usage), role, ...words, stop],
      'on every chunk': [role, ...words, stop].map((chunk) => ({ ...chunk, ...zero })),
      'beside the prompt': [{ ...role, usage: tokens(9, 0) }, ...words, stop],
    };
    const figures = usageChunk(tokens(9, 4));
    for (const [where, events] of Object.entries(early)) {
      test(`${where}: the delivered text is counted, and true counts are used`, async () => {
        // 5 for the prompt, or the reported count, and the bytes of the words so far.
        const isTold = events === early['beside the prompt'];
        const prompt = isTold ? 9 : 5;
        const sizes = words.map((_, i) => Buffer.byteLength(sayings.slice(0, i + 1).join('')));
        for (const [i, bytes] of sizes.entries()) {
          const exact = 370_000 * prompt + 1_910_000 * Math.ceil(bytes / 4);
          const scene = sceneOf(done(...events, figures), { leaves: i + 1 });
          await assertCharged(scene, BigInt(Math.ceil(exact / 1e6)));
        }
        const atEnd = { leaves: words.length };
        const all = isTold ? 13n : counted;
        await assertCharged(sceneOf(done(...events, figures), atEnd), all);
        await assertCharged(sceneOf(done(...events, figures)), 11n);
        await assertCharged(sceneOf(done(...events, figures), { leaves: 2, row: 'finish' }), 1n);
        await assertCharged(sceneOf({ events, end: 'dies' }), all);
      });
    }

    test('and never any counts: counted by text, unless it reported 0 at the end', async () => {
      const [first, own, every, prompt] = Object.values(early) as SentStream['events'][];
      for (const events of [first!, own!]) await assertCharged(sceneOf(done(...events)), counted);
      await assertCharged(sceneOf(done(...prompt!)), 13n);
      await assertCharged(sceneOf(done(...every!)), 0n);
      await assertCharged(sceneOf(done(...every!.slice(0, -1), stop)), counted);
      await assertCharged(sceneOf(done(...first!, usageChunk(tokens(0, 0)))), 0n);
      const atOnce = chunkOf({ content: 'Hello' }, zero, 'stop');
      await assertCharged(sceneOf(done(atOnce)), 0n);
    });
  });
});

describe('the text of a stream, and how its bytes are cut', () => {
  const call = (piece: Json) => chunkOf({ tool_calls: [{ index: 0, ...piece }] });
  const table: Record<string, { chunks: Json[]; bytes: number }> = {
    'arguments of a tool in fragments': {
      chunks: [
        call({ id: 'call_1', type: 'function', function: { name: 'look', arguments: '' } }),
        call({ function: { name: 'look', arguments: '{"pla' } }),
        call({ function: { arguments: 'ce":"ö"}' } }),
      ],
      bytes: 18,
    },
    'two tools': {
      chunks: [
        call({ id: 'a', function: { name: 'look', arguments: '{"":1}' } }),
        chunkOf({
          tool_calls: [{ index: 1, id: 'b', function: { name: 'go', arguments: '{"":2}' } }],
        }),
      ],
      bytes: 18,
    },
    reasoning: {
      chunks: [chunkOf({ reasoning: 'Let me see. ' }), chunkOf({ content: 'Yes' })],
      bytes: 15,
    },
    'reasoning under both of its names': {
      chunks: [
        chunkOf({ reasoning: 'Hm. ', reasoning_content: 'Hm. ' }),
        chunkOf({ content: 'Yes' }),
      ],
      bytes: 7,
    },
    'reasoning in details only': {
      chunks: [
        chunkOf({
          reasoning_details: [
            { type: 'reasoning.text', text: 'Let me ', index: 0 },
            { type: 'reasoning.summary', summary: 'see. ', index: 1 },
            { type: 'reasoning.encrypted', data: 'QUJD', index: 2 },
          ],
        }),
        chunkOf({ content: 'Yes' }),
      ],
      bytes: 15,
    },
    'a refusal': { chunks: [chunkOf({ refusal: 'I will not.' })], bytes: 11 },
    'parts of a text': {
      chunks: [chunkOf({ content: [{ type: 'text', text: 'Yes.' }] })],
      bytes: 4,
    },
    'what Mistral thinks among the parts': {
      chunks: [
        chunkOf({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm. ' }] }] }),
        chunkOf({ content: [{ type: 'text', text: 'Yes.' }] }),
      ],
      bytes: 8,
    },
    'characters of many bytes': { chunks: [chunkOf({ content: '🦆ö✓中' })], bytes: 12 },
  };
  const framings: Framing[] = [
    { lineEnd: '\r\n', comments: true, cut: 3 },
    { ...plain, cut: 1 },
    ...(isLong ? [plain, { ...plain, lineEnd: '\r\n' as const, cut: 1 }] : []),
  ];
  test('a text in parts reaches the caller as a text', async () => {
    const thinking = [{ type: 'text', text: 'Hm. ' }];
    const content = [
      { type: 'thinking', thinking },
      { type: 'text', text: 'Yes.' },
    ];
    const body = replyOf({}, { content });
    const { text } = await bench.play(sceneOf({ status: 200, body }));
    const { message } = JSON.parse(text).choices[0];
    assert.deepEqual([message.reasoning_content, message.content], ['Hm. ', 'Yes.']);
  });

  for (const [what, { chunks, bytes }] of Object.entries(table)) {
    test(`${what}: ${bytes} bytes are counted, however they are cut`, async () => {
      const charge =
        (370_000n * 5n + 1_910_000n * BigInt(Math.ceil(bytes / 4)) + 999_999n) / 1_000_000n;
      for (const framing of framings)
        await assertCharged(sceneOf(done(role, ...chunks, stop)), charge, { framing });
      await assertCharged(sceneOf({ events: [role, ...chunks], end: 'dies' }), charge);
      const leaves = chunks.length;
      await assertCharged(sceneOf(done(role, ...chunks, stop), { leaves }), charge);
    });
  }
});

describe('the same Idempotency-Key again', () => {
  const usual = [role, ...words, stop, usageChunk(tokens(9, 4))];
  const scenes: Record<string, Scene> = {
    'a stream': sceneOf(done(...usual)),
    'a stream without usage': sceneOf(done(...usual.slice(0, -1))),
    'a stream that broke off': sceneOf({ events: usual.slice(0, 3), end: 'dies' }),
    'a stream that was left': sceneOf(done(...usual), { leaves: 3 }),
    'a stream that was left, and read on': sceneOf(done(...usual), { leaves: 3, row: 'finish' }),
    'a whole reply': sceneOf({ status: 200, body: replyOf({ usage: tokens(9, 4) }) }),
  };
  for (const [what, scene] of Object.entries(scenes)) {
    test(`${what}: is charged once, and the repeat not at all`, async () => {
      const { row } = await bench.play(scene, { key: what.replaceAll(' ', '-') });
      assert.ok(row.charged_usd_micro! > 0n);
      for (let i = 0; i < 3; i++) {
        const again = await bench.repeat(scene, what.replaceAll(' ', '-'));
        assert.deepEqual([again.status, again.charged], [200, 0n]);
        assert.match(again.text, /Hello|Hel/);
      }
    });
  }

  test('a call that failed frees its key: the next one is charged', async () => {
    const key = 'failed';
    await assertCharged(sceneOf({ events: [role], end: 'dies' }), 0n, { key });
    await assertCharged(sceneOf({ events: [role], end: 'dies' }), 0n, { key });
    const again = await bench.play(sceneOf(done(...usual)), { key });
    assert.equal(again.row.charged_usd_micro, 11n);
  });
});
