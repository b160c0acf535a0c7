import type { Conversation } from '../chat/conversation.ts';
import { callersName } from './writing.ts';

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
export function effortOfBudget(budget: number): 'low' | 'medium' | 'high' {
  if (budget <= effortBudgets.low) return 'low';
  return budget <= effortBudgets.medium ? 'medium' : 'high';
}

/** The effort in a call of an OpenAI API. Names in `ignored` what it says less. */
export function sentEffort(conversation: Conversation, ignored: Set<string>): string | null {
  const { settings, api } = conversation;
  const effort = effortOf(conversation);
  if (settings.effort !== null && settings.effort !== effort)
    ignored.add(callersName(api, 'effort'));
  return effort;
}

/** Whether no effort stands for the thinking that is asked for, as it can in Messages. */
export function isUnsaid({ settings: { thinking }, api }: Conversation): boolean {
  return thinking !== null && (api !== 'messages' || thinking.type === 'disabled');
}
