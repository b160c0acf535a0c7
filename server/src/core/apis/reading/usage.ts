import type { Json } from '../../../lib/json.ts';
import { usageOfReport } from '../../chat/usage.ts';

const kept = new Set([
  'prompt_tokens',
  'completion_tokens',
  'total_tokens',
  'prompt_tokens_details',
  'completion_tokens_details',
  'cost',
  'cost_details',
  'is_byok',
]);

/** The report of another API than chat completions, without the fields that only that API has. */
export function foreignUsage(report: Json): Json | null {
  const usage = usageOfReport(report);
  if (usage === null) return null;
  return Object.fromEntries(Object.entries(usage).filter(([name]) => kept.has(name)));
}
