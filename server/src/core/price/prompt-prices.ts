/**
 * The price of prompt tokens. Upstreams that keep prompts in a cache bill tokens that are read from
 * it at a lower price. Some bill tokens that are written to it at a higher price.
 */

import { isCount } from '../../lib/json.ts';
import type { PriceRules } from '../catalog/catalog.ts';

/** In micro-USD per 1M tokens. */
export interface PromptPrices {
  input: bigint;
  cached_input: bigint;
  cache_write: bigint;
}

/** How many of the prompt's tokens were read from the cache, and written to it. */
export interface CacheUse {
  cached_tokens?: number;
  cache_write_tokens?: number;
}

export type PromptRules = Pick<
  PriceRules,
  'input_usd_micro' | 'cached_input_usd_micro' | 'cache_write_usd_micro'
>;

export function promptPrices(rules: PromptRules): PromptPrices {
  const input = rules.input_usd_micro ?? 0n;
  const { cached_input_usd_micro = input, cache_write_usd_micro = input } = rules;
  return { input, cached_input: cached_input_usd_micro, cache_write: cache_write_usd_micro };
}

export function hasCachePrices(rules: PromptRules): boolean {
  return rules.cached_input_usd_micro !== undefined || rules.cache_write_usd_micro !== undefined;
}

/** The price that is reserved, because the use of the cache is only known afterwards. */
export function highestPrice({ input, cached_input, cache_write }: PromptPrices): bigint {
  return [cached_input, cache_write].reduce((most, each) => (each > most ? each : most), input);
}

/**
 * The prompt's price in micro-USD times one million. Counts of the cache are not trusted: together
 * they are at most the prompt.
 */
export function promptAmount(
  prices: PromptPrices,
  prompt_tokens: number,
  { cached_tokens, cache_write_tokens }: CacheUse,
): bigint {
  const cached = Math.min(prompt_tokens, isCount(cached_tokens) ? cached_tokens : 0);
  const room = prompt_tokens - cached;
  const written = Math.min(room, isCount(cache_write_tokens) ? cache_write_tokens : 0);
  return (
    prices.input * BigInt(room - written) +
    prices.cached_input * BigInt(cached) +
    prices.cache_write * BigInt(written)
  );
}
