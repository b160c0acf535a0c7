import { randomBytes } from 'node:crypto';
import { hashKey, keyHint, newKey } from '../../core/account/key.ts';
import * as keyChanges from '../../db/accounts/key-changes.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { Refusal } from '../refusal.ts';

/** A week, for teams that deploy once a week. */
export const overlapMaxHours = 168;

/**
 * Gives a key a new secret, returned here and never again. The old secret works until the overlap
 * ends; id, limits and spending stay. `last4` names the secret to replace, so that only one of two
 * simultaneous rotations happens. Throws `Refusal`.
 */
export function rotateKey(
  db: Database,
  wanted: { key_id: string; last4: string; overlap_hours: number },
): Promise<{ key: string; previous_until: Date | null }> {
  const { key_id, last4, overlap_hours } = wanted;
  if (!Number.isInteger(overlap_hours) || overlap_hours < 0 || overlap_hours > overlapMaxHours) {
    throw new Refusal(`The overlap must be a whole number of hours from 0 to ${overlapMaxHours}.`, {
      reason: 'overlap_invalid',
      maximum: overlapMaxHours,
    });
  }
  return db.tx(async (tx) => {
    const now = await keyChanges.lock(tx, key_id);
    if (!now || now.revoked)
      throw new Refusal('This key is revoked. Make another one.', { reason: 'key_revoked' });
    if (now.is_studio)
      throw new Refusal('The studio key cannot be rotated: nobody has its secret.', {
        reason: 'studio_key_secret',
      });
    if (now.expired)
      throw new Refusal('This key has expired. Give it a later expiry first.', {
        reason: 'key_expired',
      });
    // guard: one-rotation
    if (now.last4 !== last4) {
      throw new Refusal(
        'This key was rotated in the meantime, so nothing was changed. Reload it.',
        { reason: 'key_rotated' },
      );
    }
    const key = newKey(randomBytes);
    const next = { hash: hashKey(key), ...keyHint(key), overlap_hours };
    return { key, ...(await keyChanges.rotate(tx, key_id, next)) };
  });
}

/**
 * Ends the overlap of the last rotation now, so the previous secret stops working. Throws
 * `Refusal`.
 */
export async function endOverlap(db: Database, key_id: string): Promise<void> {
  if (!(await keyChanges.dropPrevious(db, key_id)))
    throw new Refusal('This key has no earlier secret that still works.', {
      reason: 'overlap_over',
    });
}
