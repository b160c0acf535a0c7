import { isCount, isObject, objectOf, type Json } from '../../lib/json.ts';
import type { Bill } from './chat-bill.ts';
import { isTokenCount, readUsage, tokensMax, type Usage } from './usage.ts';

/** The usage that this service charges and shows, with the names of chat completions. */

/**
 * Our tokens and cost (micro-USD). Other details of the upstream's usage stay, such as the kinds of
 * tokens, but no fields about money.
 */
export function usageOf(told: Json | null, bill: Bill, cost: bigint): Json {
  const said = told === null || readUsage(told) === null ? {} : objectOf(withoutMoney(told));
  const { prompt_tokens, completion_tokens, cached_tokens = 0, cache_write_tokens = 0 } = bill;
  const cacheUse = {
    ...(cached_tokens > 0 && { cached_tokens }),
    ...(cache_write_tokens > 0 && { cache_write_tokens }),
  };
  return {
    ...said,
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    ...(cached_tokens + cache_write_tokens > 0 && {
      prompt_tokens_details: { ...objectOf(said.prompt_tokens_details), ...cacheUse },
    }),
    cost_usd_micro: String(cost),
  };
}

const ofMoney = /cost|price|usd|credit|charge|balance|byok/i;

/** Leaves out every field whose name looks like money, at any depth. */
function withoutMoney(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMoney);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !ofMoney.test(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutMoney(inner)]));
}

/** Fields of a usage that the stored token counts and the charge contain already. */
const counted = new Set(['prompt_tokens', 'completion_tokens', 'total_tokens', 'cost_usd_micro']);

/** The stored output of a reply that is not kept: its usage, if that has more than the counts. */
export function detailsOf(usage: Json): Json | null {
  return Object.keys(usage).every((name) => counted.has(name)) ? null : { usage };
}

/** The charged usage of a reply, as this service wrote it. */
interface Counts extends Usage {
  prompt_tokens: number;
  /** Part of the completion. Null if the model's server does not count it. */
  reasoning_tokens: number | null;
  cost_usd_micro: unknown;
}

/** Reads a charged usage with the names of chat completions. Missing counts are 0. */
export function countsIn(usage: Json): Counts {
  const { reasoning_tokens: reasoning } = objectOf(usage.completion_tokens_details);
  const details = objectOf(usage.prompt_tokens_details);
  const prompt_tokens = countOf(usage.prompt_tokens);
  const completion_tokens = countOf(usage.completion_tokens);
  const cached_tokens = Math.min(prompt_tokens, countOf(details.cached_tokens));
  const room = prompt_tokens - cached_tokens;
  return {
    prompt_tokens,
    completion_tokens,
    cached_tokens,
    cache_write_tokens: Math.min(room, countOf(details.cache_write_tokens)),
    reasoning_tokens: isTokenCount(reasoning) ? Math.min(reasoning, completion_tokens) : null,
    cost_usd_micro: usage.cost_usd_micro,
  };
}

function countOf(value: unknown): number {
  return isCount(value) ? value : 0;
}

/** The tokens of a chat, as they are stored with its end. */
export interface TokenCounts {
  input_tokens: number;
  output_tokens: number;
  /** Parts of the input and of the output; 0 if the upstream reported none. */
  cached_tokens: number;
  reasoning_tokens: number;
}

/** The tokens in a charged usage. */
export function tokensIn(usage: Json): TokenCounts {
  const { prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens } = countsIn(usage);
  const input_tokens = Math.min(prompt_tokens, tokensMax);
  const output_tokens = Math.min(completion_tokens, tokensMax);
  return {
    input_tokens,
    output_tokens,
    cached_tokens: Math.min(cached_tokens, input_tokens),
    reasoning_tokens: Math.min(reasoning_tokens ?? 0, output_tokens),
  };
}

/** A chat's usage, rebuilt from its stored counts. `charged` is in micro-USD. */
export function usageOfTokens(tokens: TokenCounts, charged: bigint) {
  const { input_tokens, output_tokens, cached_tokens, reasoning_tokens } = tokens;
  return {
    prompt_tokens: input_tokens,
    completion_tokens: output_tokens,
    total_tokens: input_tokens + output_tokens,
    ...(cached_tokens > 0 && { prompt_tokens_details: { cached_tokens } }),
    ...(reasoning_tokens > 0 && { completion_tokens_details: { reasoning_tokens } }),
    cost_usd_micro: String(charged),
  };
}
