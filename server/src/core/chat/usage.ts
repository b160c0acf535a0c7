import { isCount, isObject, objectOf, type Json } from '../../lib/json.ts';
import type { CacheUse } from '../price/prompt-prices.ts';

/** Reads the usage that an upstream reports with a chat, as untrusted data. */

export interface Usage extends Required<CacheUse> {
  /** Null if the upstream counted only the completion. */
  prompt_tokens: number | null;
  completion_tokens: number;
}

/** More tokens than any model takes. One absurd report would spoil every sum that includes it. */
export const tokensMax = 100_000_000;

/** Whether this is a whole number of tokens, from 0 to `tokensMax`. */
export function isTokenCount(value: unknown): value is number {
  return isCount(value) && value <= tokensMax;
}

/** The prompt's part of a usage. */
export interface PromptUsage extends Required<CacheUse> {
  prompt_tokens: number;
}

/**
 * The usage in a report; zero is a valid count. Null if the prompt or the completion has an
 * unusable count. A missing `prompt_tokens` is allowed.
 */
export function readUsage(usage: Json): Usage | null {
  const prompt = promptOf(usage);
  const { completion_tokens: completion } = usage;
  if (prompt === null || !isTokenCount(completion)) return null;
  return { ...prompt, completion_tokens: withReasoning(completion, usage) };
}

/**
 * The prompt's part of a report whose completion is missing or incomplete. A prompt of zero gives
 * null, because some servers report zero until they have counted.
 */
export function promptUsageOf(usage: Json): PromptUsage | null {
  const { completion_tokens: completion = null } = usage;
  if (completion !== null && !isTokenCount(completion)) return null;
  const prompt = promptOf(usage);
  return prompt?.prompt_tokens ? { ...prompt, prompt_tokens: prompt.prompt_tokens } : null;
}

function promptOf(usage: Json): Omit<Usage, 'completion_tokens'> | null {
  const { prompt_tokens: told = null } = usage;
  if (told !== null && !isTokenCount(told)) return null;
  const beside = told === null ? null : cacheBeside(told, usage);
  const { cached, written } = beside ?? cacheCounts(usage);
  const prompt_tokens = beside === null ? told : told! + cached + written;
  if (prompt_tokens !== null && !isTokenCount(prompt_tokens)) return null;
  const cached_tokens = Math.min(prompt_tokens ?? Infinity, cached);
  const room = (prompt_tokens ?? Infinity) - cached_tokens;
  return { prompt_tokens, cached_tokens, cache_write_tokens: Math.min(room, written) };
}

/**
 * The completion with its reasoning. Some upstreams do not count reasoning as completion: xAI
 * reports it separately, Gemini shows it only in the total.
 */
function withReasoning(completion: number, usage: Json): number {
  const { prompt_tokens: prompt, total_tokens: total } = usage;
  const { reasoning_tokens: reasoning } = objectOf(usage.completion_tokens_details);
  const beside = isTokenCount(total) && isTokenCount(prompt) ? total - prompt - completion : 0;
  if (!isTokenCount(reasoning)) {
    // With a cache, the rest of the total may be a part of the prompt.
    const { cached, written } = cacheCounts(usage);
    return completion + (cached + written > 0 ? 0 : Math.max(0, beside));
  }
  return beside === reasoning ? completion + reasoning : Math.max(completion, reasoning);
}

interface CacheCounts {
  /** Tokens that were read from the cache (`cached`) and written to it (`written`). */
  cached: number;
  written: number;
}

/**
 * The cache counts to add to `prompt_tokens`; null: it includes them. Anthropic's own usage leaves
 * them out, and a count that is larger than `prompt_tokens` shows this.
 */
function cacheBeside(prompt_tokens: number, usage: Json): CacheCounts | null {
  const { cache_read_input_tokens: read, cache_creation_input_tokens: creation } = usage;
  const [cached, written] = [countOf(read), countOf(creation)];
  return Math.max(cached, written) > prompt_tokens ? { cached, written } : null;
}

/**
 * The cache counts. OpenAI and OpenRouter report them in `prompt_tokens_details`, DeepSeek and
 * servers that pass on Anthropic's own usage in fields beside the tokens.
 */
function cacheCounts(usage: Json): CacheCounts {
  const details = objectOf(usage.prompt_tokens_details);
  const { cache_read_input_tokens: read, prompt_cache_hit_tokens: hit } = usage;
  return {
    cached: countOf(details.cached_tokens, read, hit),
    written: countOf(details.cache_write_tokens, usage.cache_creation_input_tokens),
  };
}

function countOf(...reports: unknown[]): number {
  return reports.find(isTokenCount) ?? 0;
}

const ofMoney = /cost|price|usd|credit|charge|balance|byok/i;

/** Leaves out every field whose name looks like money, at any depth. */
export function withoutMoney(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMoney);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !ofMoney.test(name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutMoney(inner)]));
}
