import { find } from '../db/accounts.ts';
import type { Connection } from '../lib/sql.ts';

/** What a trial makes for itself. Its people sign in with a password that lies in its folder. */
export const trialAccounts = {
  demo: 'demo@farebox.local',
  operator: 'operator@farebox.local',
} as const;

/** Those of them that are here and not suspended. */
export async function openTrialAccounts(db: Connection): Promise<string[]> {
  const open: string[] = [];
  for (const email of Object.values(trialAccounts)) {
    if ((await find(db, email))?.status === 'active') open.push(email);
  }
  return open;
}
