import * as accounts from '../../db/accounts/accounts.ts';
import * as keys from '../../db/accounts/keys.ts';
import * as operatorLog from '../../db/operator-log.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { managingKey, runAction, type ActionResult } from '../operator-action.ts';
import { Refused } from '../refused.ts';
import { createKey, limitKey, revokeKey, rotateKey, tooManyADay, type KeyLimits } from './key.ts';

/** Changes of accounts' keys by operators or by keys of scope `keys`, with details for the log. */

type KeyName = Pick<keys.KeyRow, 'id' | 'account_id' | 'name'>;
type Secret = { key: string; key_id: string };

/** Creates a key whose limits the account's people can neither raise nor remove. */
export async function addKey(
  db: Database,
  wanted: { account_id: string; name: string } & KeyLimits,
): Promise<ActionResult<Secret>> {
  const { account_id, name: target, ...limits } = wanted;
  const answer = await createKey(db, { ...wanted, is_fixed: true });
  const details = { key_id: answer.key_id, ...told(limits) };
  return { answer, account_id, target, details };
}

/** Changes the given limits; null removes a limit. Throws `Refused` for a revoked key. */
export async function changeLimits(
  db: Database,
  key: keys.KeyRow,
  wanted: keys.Limits,
): Promise<ActionResult<void>> {
  if ((await limitKey(db, key.id, wanted)) !== 'changed')
    throw new Refused('This key is revoked, so its limits cannot be changed.', {
      reason: 'key_revoked',
    });
  const { monthly_limit_usd_micro, rpm, open_jobs } = key;
  const before = told({ monthly_limit_usd_micro, rpm, open_jobs });
  return { ...of(key), answer: undefined, details: { key_id: key.id, ...told(wanted), before } };
}

/** Replaces the secret of a key, as `rotateKey` does. */
export async function renewSecret(
  db: Database,
  key: KeyName & { last4: string },
  overlap_hours: number,
): Promise<ActionResult<{ key: string; previous_until: Date | null }>> {
  const { id: key_id, last4 } = key;
  const answer = await rotateKey(db, { key_id, last4, overlap_hours });
  return { ...of(key), answer, details: { key_id, overlap_hours } };
}

/** Revokes a key for good, from the next call on. */
export async function endKey(db: Database, key: KeyName): Promise<ActionResult<void>> {
  await revokeKey(db, key.id);
  return { ...of(key), answer: undefined, details: { key_id: key.id } };
}

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
      const seconds = await operatorLog.secondsUntilOlder(inside, { account_id, action, count });
      // guard: keys-changed-a-day
      if (seconds > 0) throw tooManyADay(`change keys ${count} times by API`, count, seconds);
    }
    const { details, ...result } = await work(inside);
    return { ...result, account_id, details: { by_key_id, ...details } };
  });
}

function of({ account_id, name: target }: KeyName): { account_id: string; target: string } {
  return { account_id, target };
}

/** Limits for the log: amounts as texts. */
function told({ monthly_limit_usd_micro: monthly, ...limits }: keys.Limits) {
  return {
    ...(monthly !== undefined && { monthly_limit_usd_micro: monthly?.toString() ?? null }),
    ...limits,
  };
}
