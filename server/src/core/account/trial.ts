/**
 * Accounts that a trial creates. Their people share a password, which is kept in the data folder.
 */
export const trialAccounts = {
  demo: 'demo@farebox.local',
  operator: 'operator@farebox.local',
} as const;
