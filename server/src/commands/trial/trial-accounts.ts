import { trialAccounts } from '../../core/account/trial.ts';
import { find } from '../../db/accounts/accounts.ts';
import type { Connection } from '../../lib/sql/sql.ts';

/** The trial accounts that exist and are not suspended. */
export async function openTrialAccounts(db: Connection): Promise<string[]> {
  const open: string[] = [];
  for (const email of Object.values(trialAccounts)) {
    if ((await find(db, email))?.status === 'active') open.push(email);
  }
  return open;
}
