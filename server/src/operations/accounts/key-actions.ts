import * as accounts from '../../db/accounts/accounts.ts';
import * as operatorLog from '../../db/operator-log.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { managingKey, runAction, type ActionResult } from '../operator-action.ts';
import { tooManyADay } from './key-rules.ts';

/** The log keeps its rows for good, so a leaked key must not write rows without end. */
export const changedADayMax = 10_000;

/**
 * Runs a change that a key of scope `keys` makes to keys. The same transaction writes a row of the
 * operator's log: after a leak, the row says what to undo. Throws `rate_limited`.
 */
export function runManaged<Answer>(
  db: Database,
  by: { account_id: string; key_id: string },
  action: 'key.create' | 'key.change' | 'key.revoke',
  work: (db: Database) => Promise<ActionResult<Answer>>,
): Promise<Answer> {
  const { account_id, key_id: by_key_id } = by;
  return runAction(db, managingKey, action, async (inside) => {
    await accounts.lock(inside, account_id);
    if (action === 'key.change') {
      const count = changedADayMax;
      const seconds = await operatorLog.countSecondsUntilOlder(inside, {
        account_id,
        action,
        count,
      });
      // guard: keys-changed-a-day
      if (seconds > 0) throw tooManyADay(`change keys ${count} times by API`, count, seconds);
    }
    const { details, ...result } = await work(inside);
    return { ...result, account_id, details: { by_key_id, ...details } };
  });
}
