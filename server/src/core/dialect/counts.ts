import { isCount, objectOf, type Json } from '../../lib/json.ts';
import { usageOf, type Usage } from '../chat/completion.ts';

/** The charged usage of a reply. */
interface Counts extends Usage {
  prompt_tokens: number;
  /** Part of the completion. Null if the model's server does not count it. */
  reasoning_tokens: number | null;
  cost_usd_micro: unknown;
}

const nothing: Usage = {
  prompt_tokens: 0,
  completion_tokens: 0,
  cached_tokens: 0,
  cache_write_tokens: 0,
};

/** A count is 0 if there is none. */
export function countsOf(completion: Json): Counts {
  const { completion_tokens_details, cost_usd_micro } = objectOf(completion.usage);
  const { reasoning_tokens } = objectOf(completion_tokens_details);
  const { prompt_tokens, ...counts } = usageOf(completion) ?? nothing;
  return {
    ...counts,
    prompt_tokens: prompt_tokens ?? 0,
    reasoning_tokens: isCount(reasoning_tokens) ? reasoning_tokens : null,
    cost_usd_micro,
  };
}
