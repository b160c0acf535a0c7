import type { DepositKey, Family } from '../../core/deposit/address.ts';
import * as addresses from '../../db/deposits/addresses.ts';
import { newId } from '../../lib/id.ts';
import type { Database } from '../../lib/sql/sql.ts';
import type { ActionResult } from '../operator-action.ts';
import { Refusal } from '../refusal.ts';

/**
 * Derives a family's new addresses from the configured key. Each account gets a new address when it
 * next asks. Earlier addresses are still read and still belong to their accounts. Throws `Refusal`.
 */
export function rotateDepositKey(
  db: Database,
  { family, xpub }: Pick<DepositKey, 'family' | 'xpub'>,
): Promise<ActionResult<{ family: Family; retired_addresses: number }>> {
  return db.tx(async (tx) => {
    const stored = await addresses.findCurrentKey(tx, family);
    if (!stored)
      throw new Refusal(
        `No address of the family ${family} was issued yet, so there is no key to replace. The first address uses the configured key.`,
        { reason: 'deposit_key_unused' },
      );
    if (stored.xpub === xpub || !(await addresses.lockKey(tx, stored.id)))
      throw new Refusal(`The configured key of ${family} is already the current one.`, {
        reason: 'deposit_key_same',
      });
    await addresses.replaceKey(tx, { id: newId(), family, xpub });
    const retired_addresses = await addresses.retireCurrent(tx, family, null);
    return {
      answer: { family, retired_addresses },
      target: family,
      details: { addresses: retired_addresses },
    };
  });
}
