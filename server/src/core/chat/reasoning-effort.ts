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
