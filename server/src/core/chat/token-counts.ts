import type { Json } from '../../lib/json.ts';
import { countsIn } from './counts.ts';
import { tokensMax } from './usage.ts';

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
