import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readUsage } from './usage.ts';

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

  test('in a total without a prompt is not known', () => {
    const report = { completion_tokens, total_tokens: 1_550 };
    assert.equal(readUsage(report)!.completion_tokens, 50);
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
