import { test } from 'node:test';
import assert from 'node:assert/strict';
import { tokensIn, usageOfTokens } from './chat-bill.ts';

const both = { prompt_tokens: 100, completion_tokens: 10 };
const most = 100_000_000;

const cases: [what: string, usage: Record<string, unknown>, stored: number[]][] = [
  ['without details', both, [100, 10, 0, 0]],
  [
    'with both details',
    {
      ...both,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 7 },
    },
    [100, 10, 60, 7],
  ],
  [
    'with parts larger than the whole',
    {
      ...both,
      prompt_tokens_details: { cached_tokens: 101 },
      completion_tokens_details: { reasoning_tokens: 11 },
    },
    [100, 10, 100, 10],
  ],
  [
    'with details of the wrong type',
    { ...both, prompt_tokens_details: [], completion_tokens_details: { reasoning_tokens: '7' } },
    [100, 10, 0, 0],
  ],
  [
    'larger than any model has',
    { prompt_tokens: 2 ** 40, completion_tokens: 2 ** 50 },
    [most, most, 0, 0],
  ],
];
for (const [what, usage, stored] of cases)
  test(`a usage ${what} is stored as ${stored.join(', ')}`, () => {
    assert.deepEqual(Object.values(tokensIn(usage)), stored);
  });

test('the usage of a deleted reply has the stored tokens, and details only if there are any', () => {
  const tokens = { input_tokens: 100, output_tokens: 10, cached_tokens: 0, reasoning_tokens: 0 };
  const plain = { ...both, total_tokens: 110, cost_usd_micro: '5' };
  assert.deepEqual(usageOfTokens(tokens, 5n), plain);
  assert.deepEqual(usageOfTokens({ ...tokens, cached_tokens: 60, reasoning_tokens: 7 }, 5n), {
    ...plain,
    prompt_tokens_details: { cached_tokens: 60 },
    completion_tokens_details: { reasoning_tokens: 7 },
  });
});
