import { isCount, objectOf, type Json } from '../../lib/json.ts';

/** The charged usage of a reply. A count is 0 if the model's server gave none. */
export interface Counts {
  prompt: number;
  /** Read from a cache; part of the prompt. */
  cached: number;
  /** Written to a cache; another part of the prompt. */
  cache_written: number;
  completion: number;
  /** Part of the completion. Null if the server does not count it. */
  reasoning: number | null;
  total: number;
  cost_usd_micro: unknown;
}

export function countsOf({ usage }: Json): Counts {
  const said = objectOf(usage);
  const read = objectOf(said.prompt_tokens_details);
  const { reasoning_tokens: reasoning } = objectOf(said.completion_tokens_details);
  const prompt = countOf(said.prompt_tokens);
  const cached = Math.min(prompt, countOf(read.cached_tokens));
  return {
    prompt,
    cached,
    cache_written: Math.min(prompt - cached, countOf(read.cache_write_tokens)),
    completion: countOf(said.completion_tokens),
    reasoning: isCount(reasoning) ? reasoning : null,
    total: countOf(said.total_tokens),
    cost_usd_micro: said.cost_usd_micro,
  };
}

function countOf(value: unknown): number {
  return isCount(value) ? value : 0;
}
