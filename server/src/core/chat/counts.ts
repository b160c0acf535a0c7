import { isCount, objectOf, type Json } from '../../lib/json.ts';
import { isTokenCount, type Usage } from './usage.ts';

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
