import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Json } from '../../lib/json.ts';
import * as usages from './usage.ts';

const { usageOfReport } = usages;
const readUsage = (report: Json) => usages.readUsage(usageOfReport(report) ?? {});
const promptUsageOf = (report: Json) => usages.promptUsageOf(usageOfReport(report) ?? {});

const [prompt_tokens, completion_tokens] = [1_000, 50];
const told = { prompt_tokens, completion_tokens };
const reasoned = (reasoning_tokens: unknown) => ({
  completion_tokens_details: { reasoning_tokens },
});

describe('reasoning', () => {
  const rows: [what: string, report: object, output: number][] = [
    ['beside the completion, as at xAI', { total_tokens: 1_550, ...reasoned(500) }, 550],
    ['less than the completion, beside it', { total_tokens: 1_080, ...reasoned(30) }, 80],
    ['that only the total shows, as at Gemini', { total_tokens: 1_550 }, 550],
    ['that is null, and in the total', { total_tokens: 1_550, ...reasoned(null) }, 550],
    ['in the completion', { total_tokens: 1_050, ...reasoned(30) }, 50],
    ['that is all of the completion', { total_tokens: 1_050, ...reasoned(50) }, 50],
    ['in the completion, with an odd total', { total_tokens: 1_200, ...reasoned(30) }, 50],
    ['none, with an odd total', { total_tokens: 1_200, ...reasoned(0) }, 50],
    ['above the completion, without a total', reasoned(500), 500],
    ['above the completion, in no sum', { total_tokens: 1_050, ...reasoned(500) }, 500],
    ['unknown, with a total below the sum', { total_tokens: 900 }, 50],
    ['unknown, with a total that is none', { total_tokens: 'some' }, 50],
    [
      'unknown, and the rest of the total may be cached',
      { total_tokens: 1_550, cache_read_input_tokens: 500 },
      50,
    ],
    [
      'unknown, and nothing was cached',
      { total_tokens: 1_550, prompt_tokens_details: { cached_tokens: 0 } },
      550,
    ],
    [
      'beside the completion, and a cache',
      {
        total_tokens: 1_550,
        ...reasoned(500),
        prompt_tokens_details: { cached_tokens: 600 },
      },
      550,
    ],
  ];
  for (const [what, report, output] of rows)
    test(`${what}: ${output} tokens`, () => {
      assert.equal(readUsage({ ...told, ...report })!.completion_tokens, output);
    });
});

describe('a prompt of 100 tokens', () => {
  const anthropic = (read: unknown, written?: unknown) => ({
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
  });
  const openai = (cached_tokens: number) => ({ prompt_tokens_details: { cached_tokens } });
  const rows: [what: string, report: object, counts: [number, number, number]][] = [
    ['includes what fits into it', anthropic(60, 30), [100, 60, 30]],
    ['includes what is just as large', anthropic(100, 0), [100, 100, 0]],
    ['leaves out a larger part that was read', anthropic(800, 50), [950, 800, 50]],
    ['leaves out a larger part that was written', anthropic(0, 800), [900, 0, 800]],
    ['leaves out a larger part, and nothing was written', anthropic(800), [900, 800, 0]],
    ['has at most itself in the cache, as OpenAI counts', openai(5_000), [100, 100, 0]],
    [
      'leaves out what is larger than itself in the details, and in the total',
      { ...openai(5_000), total_tokens: 5_150 },
      [5_100, 5_000, 0],
    ],
    ['includes what is just as large in the details', openai(100), [100, 100, 0]],
    ['includes what is rounded up in the details', openai(112), [100, 100, 0]],
    [
      'includes what was written if the total does not have it beside',
      { prompt_tokens_details: { cached_tokens: 120, cache_write_tokens: 500 } },
      [100, 100, 0],
    ],
    [
      'has at most itself in the cache, as DeepSeek counts',
      { prompt_cache_hit_tokens: 800 },
      [100, 100, 0],
    ],
    [
      'leaves out a larger part whoever else counts it',
      { ...openai(0), ...anthropic(800) },
      [900, 800, 0],
    ],
  ];
  for (const [what, report, counts] of rows)
    test(what, () => {
      const usage = readUsage({ prompt_tokens: 100, completion_tokens, ...report })!;
      const { prompt_tokens, cached_tokens, cache_write_tokens } = usage;
      assert.deepEqual([prompt_tokens, cached_tokens, cache_write_tokens], counts);
      assert.equal(usage.completion_tokens, completion_tokens);
    });
});

describe('a count above 100 million is none', () => {
  const most = 100_000_000;
  const more = most + 1;
  const rows: [what: string, report: object, counts: number[] | null][] = [
    ['the largest count', { completion_tokens: most }, [1_000, most, 0]],
    ['of the completion', { completion_tokens: more }, null],
    ['of the prompt', { prompt_tokens: more }, null],
    ['in the total', { total_tokens: more }, [1_000, 50, 0]],
    ['of the reasoning', reasoned(more), [1_000, 50, 0]],
    ['read from the cache', { prompt_tokens_details: { cached_tokens: more } }, [1_000, 50, 0]],
    ['read from the cache beside the prompt', { cache_read_input_tokens: more }, [1_000, 50, 0]],
    ['that is a sum', { cache_read_input_tokens: most }, null],
  ];
  for (const [what, report, counts] of rows)
    test(what, () => {
      const usage = readUsage({ ...told, ...report });
      const { prompt_tokens: prompt, completion_tokens: output, cached_tokens: read } = usage ?? {};
      assert.deepEqual(usage && [prompt, output, read], counts);
    });
});

describe('a report in the names of another service', () => {
  const counted = { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 };
  const ofPrompt = (details: object) => ({ ...counted, prompt_tokens_details: details });
  const cached = ofPrompt({ cached_tokens: 900 });
  const written = ofPrompt({ cached_tokens: 0, cache_write_tokens: 900 });
  const read = ofPrompt({ cached_tokens: 600, cache_write_tokens: 300 });
  const basis = { prompt_tokens: 1_000, completion_tokens: 10 };
  const rows: [what: string, report: object, usage: object | null][] = [
    ['of OpenAI', { ...counted, prompt_tokens_details: { cached_tokens: 900 } }, cached],
    ['of Moonshot', { ...counted, cached_tokens: 900 }, cached],
    ['of Mistral', { ...counted, num_cached_tokens: 900, prompt_token_details: null }, cached],
    ['of DeepSeek', { ...counted, prompt_cache_hit_tokens: 900 }, cached],
    [
      'of DeepSeek, with a 0',
      { ...cached, prompt_tokens_details: { cached_tokens: 0 }, prompt_cache_hit_tokens: 900 },
      cached,
    ],
    [
      'of LiteLLM',
      { ...counted, prompt_tokens_details: { cached_tokens: 0, cache_creation_tokens: 900 } },
      {
        ...written,
        prompt_tokens_details: { ...written.prompt_tokens_details, cache_creation_tokens: 900 },
      },
    ],
    [
      'of LiteLLM, also beside the tokens',
      { ...counted, cache_creation_input_tokens: 900, cache_read_input_tokens: 0 },
      written,
    ],
    [
      'of Responses',
      { input_tokens: 1_000, output_tokens: 10, input_tokens_details: { cached_tokens: 900 } },
      cached,
    ],
    [
      'of Messages',
      {
        input_tokens: 100,
        output_tokens: 10,
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: 300,
      },
      read,
    ],
    [
      'of Messages, with a small cache',
      { input_tokens: 900, output_tokens: 10, cache_read_input_tokens: 100 },
      ofPrompt({ cached_tokens: 100 }),
    ],
    [
      'of Bedrock',
      {
        inputTokens: 100,
        outputTokens: 10,
        totalTokens: 1_010,
        cacheReadInputTokens: 600,
        cacheWriteInputTokens: 300,
      },
      read,
    ],
    [
      'of Gemini',
      {
        promptTokenCount: 1_000,
        candidatesTokenCount: 10,
        totalTokenCount: 1_010,
        cachedContentTokenCount: 900,
      },
      cached,
    ],
    [
      'of Gemini, with thoughts',
      {
        promptTokenCount: 1_000,
        candidatesTokenCount: 4,
        thoughtsTokenCount: 6,
        totalTokenCount: 1_010,
      },
      { ...counted, ...reasoned(6) },
    ],
    [
      'of Gemini, with thoughts alone',
      { prompt_token_count: 1_000, thoughts_token_count: 10 },
      { ...counted, ...reasoned(10) },
    ],
    ['of Ollama', { prompt_eval_count: 1_000, eval_count: 10 }, counted],
    [
      'of a gateway, with all names',
      {
        prompt_tokens: 1_000,
        completion_tokens: 10,
        input_tokens: 0,
        output_tokens: 0,
        input_tokens_details: null,
      },
      counted,
    ],
    [
      'with reasoning beside the tokens',
      { ...basis, reasoning_tokens: 4 },
      { ...counted, ...reasoned(4) },
    ],
    ['with counts as texts', { prompt_tokens: '1000', completion_tokens: '10' }, counted],
    [
      'with a cost and other details',
      { ...basis, cost: 0.1, queue_time: 2 },
      { ...counted, cost: 0.1, queue_time: 2 },
    ],
    ['with a cost alone', { cost: 0.1 }, { cost: 0.1 }],
    [
      'without a completion',
      { prompt_tokens: 1_000, cached_tokens: 900 },
      { prompt_tokens: 1_000, prompt_tokens_details: { cached_tokens: 900 } },
    ],
    ['without a prompt', { completion_tokens: 10 }, { completion_tokens: 10 }],
    [
      'whose prompt is the rest of the total',
      { completion_tokens: 10, total_tokens: 1_010 },
      counted,
    ],
    ['whose completion is the rest', { prompt_tokens: 1_000, total_tokens: 1_010 }, counted],
    ['of a total alone', { total_tokens: 1_010 }, { total_tokens: 1_010 }],
    [
      'of a total below its part',
      { completion_tokens: 10, total_tokens: 9 },
      { completion_tokens: 10 },
    ],
    [
      'of zero',
      { prompt_tokens: 0, completion_tokens: 0 },
      { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    ],
    ['without counts', { queue_time: 2 }, null],
    ['with counts that are none', { prompt_tokens: -1, completion_tokens: 10 }, null],
  ];
  for (const [what, report, usage] of rows)
    test(what, () => assert.deepEqual(usageOfReport({ ...report }), usage));

  test('means the same as before', () => {
    const names = [
      'prompt_tokens',
      'input_tokens',
      'completion_tokens',
      'outputTokens',
      'total_tokens',
      'cached_tokens',
      'cache_read_input_tokens',
      'cache_creation_input_tokens',
      'thoughtsTokenCount',
      'reasoning_tokens',
    ];
    const count = fc.oneof(fc.nat(20), fc.constantFrom(null, undefined, -1, 'x', '7', 100_000_000));
    const details = fc.record(
      { cached_tokens: count, cache_write_tokens: count, reasoning_tokens: count },
      { requiredKeys: [] },
    );
    const fields = Object.fromEntries(names.map((name) => [name, count]));
    const report = fc.record(
      { ...fields, prompt_tokens_details: details, completion_tokens_details: details },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(report, (told) => {
        const usage = usageOfReport(told);
        assert.deepEqual(usage && readUsage(usage), readUsage(told));
        if (readUsage(told) === null)
          assert.deepEqual(usage && promptUsageOf(usage), promptUsageOf(told));
        if (usage) assert.deepEqual(usageOfReport(usage), usage);
      }),
      { numRuns: 2_000 },
    );
  });
});
