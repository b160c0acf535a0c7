import type { Conversation } from '../chat/conversation.ts';

const usual = new Set(['low', 'medium', 'high']);

/**
 * The effort that a call asks for; null: none. In Messages a budget for thinking stands for an
 * effort, and `xhigh` and `max` count as `high`, because few models know them.
 */
export function effortOf({ settings, api }: Conversation): string | null {
  const { effort, thinking } = settings;
  if (api !== 'messages') return effort;
  if (thinking?.type === 'disabled') return null;
  if (effort !== null) return usual.has(effort) ? effort : 'high';
  const budget = thinking?.type === 'enabled' ? thinking.budget_tokens : null;
  return budget === null ? null : effortOfBudget(budget);
}

/** The reasoning tokens that each effort allows, for services that take a budget instead. */
export const effortBudgets = {
  minimal: 1_024,
  low: 4_096,
  medium: 16_384,
  high: 32_768,
  xhigh: 49_152,
  max: 65_536,
} as const;

/** The lowest usual effort with at least this budget; `high` for all larger budgets. */
function effortOfBudget(budget: number): 'low' | 'medium' | 'high' {
  if (budget <= effortBudgets.low) return 'low';
  return budget <= effortBudgets.medium ? 'medium' : 'high';
}
