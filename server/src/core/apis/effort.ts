import type { Conversation } from '../chat/conversation.ts';
import { effortOfBudget } from '../chat/reasoning-effort.ts';

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
