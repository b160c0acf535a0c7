import { isCount, isObject, type Json } from '../../../lib/json.ts';
import { isReport } from '../../chat/usage.ts';

/** The usage report in a chunk or reply, wherever it stands; null if there is none. */
export function reportIn(piece: Json): Json | null {
  const { timings, prompt_eval_count, eval_count } = piece;
  const ollama: Json | null = eval_count === undefined ? null : { prompt_eval_count, eval_count };
  const report = usageWithin(piece, 3) ?? ollama;
  const timed = isObject(timings) ? usageOfTimings(timings) : null;
  // llama.cpp reports cached tokens in its timings, not in its usage.
  if (report === null || timed === null || isObject(report.prompt_tokens_details))
    return report ?? timed;
  return { ...report, prompt_tokens_details: timed.prompt_tokens_details };
}

const isOfUsage = /usage/i;

/** The first object with the name of a usage, as far inside as a message is. */
function usageWithin(value: unknown, depth: number): Json | null {
  if (typeof value !== 'object' || value === null) return null;
  const fields = value as Json;
  // Without lists of names and values, because nearly every piece is searched for nothing.
  for (const name in fields)
    if (isOfUsage.test(name) && isReport(fields[name])) return fields[name];
  if (depth === 0) return null;
  for (const name in fields) {
    const found = usageWithin(fields[name], depth - 1);
    if (found !== null) return found;
  }
  return null;
}

function usageOfTimings({ cache_n: cached = 0, prompt_n: read, predicted_n: written }: Json) {
  if (!isCount(cached) || !isCount(read) || !isCount(written)) return null;
  return {
    prompt_tokens: cached + read,
    completion_tokens: written,
    prompt_tokens_details: { cached_tokens: cached },
  };
}
