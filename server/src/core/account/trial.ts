/** Accounts that a trial creates. Their people sign in with a password kept in its data folder. */
export const trialAccounts = {
  demo: 'demo@farebox.local',
  operator: 'operator@farebox.local',
} as const;
