import { find } from '../../db/accounts/accounts.ts';
import type { Connection } from '../../lib/sql/sql.ts';

/** Accounts that a trial creates. Their people sign in with a password kept in its data folder. */
export const trialAccounts = {
  demo: 'demo@farebox.local',
  operator: 'operator@farebox.local',
} as const;

/** The trial accounts that exist and are not suspended. */
export async function openTrialAccounts(db: Connection): Promise<string[]> {
  const open: string[] = [];
  for (const email of Object.values(trialAccounts)) {
    if ((await find(db, email))?.status === 'active') open.push(email);
  }
  return open;
}
