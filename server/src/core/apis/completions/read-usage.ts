import { isCount, isObject, type Json } from '../../../lib/json.ts';
import { isReport } from '../../chat/usage.ts';

/** The usage report in a chunk or reply, wherever it stands; null if there is none. */
export function reportIn(piece: Json, choice: Json, message: Json): Json | null {
  const { usage, x_groq, usageMetadata, usage_metadata, timings } = piece;
  const { prompt_eval_count, eval_count } = piece;
  const ollama = eval_count !== undefined && { prompt_eval_count, eval_count };
  const groq = isObject(x_groq) && x_groq.usage;
  const own = [usage, choice.usage, message.usage, groq, usageMetadata, usage_metadata, ollama];
  const report = own.find(isReport) ?? null;
  const timed = isObject(timings) ? usageOfTimings(timings) : null;
  // llama.cpp reports cached tokens in its timings, not in its usage.
  if (report === null || timed === null || isObject(report.prompt_tokens_details))
    return report ?? timed;
  return { ...report, prompt_tokens_details: timed.prompt_tokens_details };
}

function usageOfTimings({ cache_n: cached = 0, prompt_n: read, predicted_n: written }: Json) {
  if (!isCount(cached) || !isCount(read) || !isCount(written)) return null;
  return {
    prompt_tokens: cached + read,
    completion_tokens: written,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
