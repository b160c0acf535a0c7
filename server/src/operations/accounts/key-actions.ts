import * as keys from '../../db/accounts/keys.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { ActionResult } from '../operator-action.ts';
import { Refused } from '../refused.ts';
import { createKey, limitKey, revokeKey, rotateKey, type KeyLimits } from './key.ts';

/** An operator's actions on keys of accounts, for the operator's log. */

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

/** Changes the given limits; null removes one. Throws `Refused` for a revoked key. */
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
