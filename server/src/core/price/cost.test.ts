import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CacheUse } from './prompt-prices.ts';
import { chatCost, costMaxUsdMicro, mediaCost, statedCost, type Costs } from './cost.ts';

const route = { cost_usd_micro: 1n as bigint | null, cost_output_usd_micro: null };

test('a cost is rounded up to whole micro-USD', () => {
  assert.equal(mediaCost(route, 2.000001), 3n);
  assert.equal(statedCost(0.0000015), 2n);
});

const own = { ...route, cost_usd_micro: 9n, cost_by_resolution: { '480p': 4n, '720p': 9n } };
const byResolution: [what: string, of: typeof route, resolution: unknown, expected: bigint][] = [
  ['the cost of what was asked', own, '480p', 8n],
  ['the dearest has its own too', own, '720p', 18n],
  ['the dearest where nothing was asked', own, undefined, 18n],
  ['the dearest where the row tells none of it', own, '4k', 18n],
  ['the dearest for what every object has', own, 'constructor', 18n],
  ['the dearest for what is no text', own, ['480p'], 18n],
  ['the one cost of a row that has one', route, '480p', 2n],
];
for (const [what, of, resolution, expected] of byResolution) {
  test(`by resolution: ${what}`, () =>
    assert.equal(mediaCost(of, 2, { input: { resolution } }), expected));
}

const perMillion = { cost_usd_micro: 2_000_000n, cost_output_usd_micro: 10_000_000n };
const chats: [what: string, of: Costs | undefined, expected: bigint | null][] = [
  ['each kind of token at its own', perMillion, 32_000n],
  ['all at the one that there is', { ...perMillion, cost_output_usd_micro: null }, 8_000n],
  ['not known where the row tells none', { ...perMillion, cost_usd_micro: null }, null],
  ['not known without a route', undefined, null],
];
for (const [what, of, expected] of chats) {
  test(`of a chat, by the million tokens: ${what}`, () =>
    assert.equal(chatCost(of, { prompt_tokens: 1_000, completion_tokens: 3_000 }), expected));
}

const cacheCosts = {
  ...perMillion,
  cost_cached_input_usd_micro: 200_000n,
  cost_cache_write_usd_micro: 2_500_000n,
};
const cacheUses: [what: string, of: Costs, use: CacheUse, expected: bigint][] = [
  [
    'each part of the prompt at its own',
    cacheCosts,
    { cached_tokens: 500, cache_write_tokens: 300 },
    31_250n,
  ],
  ['all of it as input where nothing was cached', cacheCosts, { cached_tokens: 0 }, 32_000n],
  ['the dearest where the use is unknown', cacheCosts, {}, 32_500n],
  [
    'all at the one that there is',
    perMillion,
    { cached_tokens: 500, cache_write_tokens: 300 },
    32_000n,
  ],
];
for (const [what, of, use, expected] of cacheUses) {
  test(`of a chat with a cache: ${what}`, () =>
    assert.equal(
      chatCost(of, { prompt_tokens: 1_000, completion_tokens: 3_000, ...use }),
      expected,
    ));
}

test('of media it is not known where the row tells none, or without a route', () => {
  assert.equal(mediaCost({ ...route, cost_usd_micro: null }, 2), null);
  assert.equal(mediaCost(undefined, 2), null);
});

test('a chat costs no less than one micro-USD where it costs anything', () => {
  assert.equal(chatCost(perMillion, { prompt_tokens: 0, completion_tokens: 0 }), 0n);
  const least = { ...perMillion, cost_usd_micro: 1n };
  assert.equal(chatCost(least, { prompt_tokens: 1, completion_tokens: 0 }), 1n);
});

test('what is too large to be a cost is not known, and throws nothing', () => {
  for (const quantity of [1e16, 1e30, 1e308, Infinity, NaN])
    assert.equal(mediaCost(route, quantity), null, String(quantity));
  assert.equal(mediaCost(route, 1e15), costMaxUsdMicro);
  assert.equal(chatCost(route, { prompt_tokens: 1e300, completion_tokens: 1 }), null);
  assert.equal(statedCost(1e9), null);
});

test('extras add their own costs, as often as they are asked for', () => {
  const extras = [
    {
      kind: 'per_item',
      field: 'pictures',
      free: 1,
      add_usd_micro: 9n,
      cost_usd_micro: 8n,
      label: 'p',
    },
    {
      kind: 'when',
      field: 'sound',
      equals: true,
      add_usd_micro: 9n,
      cost_usd_micro: 100n,
      label: 's',
    },
  ] as const;
  const input = { pictures: ['a', 'b', 'c'], sound: true };
  const cost = (given: Record<string, unknown>) =>
    mediaCost({ ...route, cost_usd_micro: 10n }, 2, { input: given, extras: [...extras] });
  assert.equal(cost(input), 2n * (10n + 16n + 100n));
  assert.equal(cost({ sound: false }), 20n);
});
