import { rowsOf } from '../lib/sql/rows-of.ts';
import { sql, type Connection, type Transaction } from '../lib/sql/sql.ts';

/**
 * Bonus deposits with an end, and how much of them is left. The rows of an account are read and
 * written only while its balance is locked.
 */

export interface LiveBonus {
  transfer_id: string;
  left: bigint;
  /**
   * All that had been taken from the account when `left` was stored. It is the same for all bonuses
   * of an account that have not ended.
   */
  counted: bigint;
  is_due: boolean;
}

/**
 * An account's bonuses that have not been ended yet, by their time of expiry. The account's balance
 * must be locked.
 */
export function liveBonuses(tx: Connection, accountId: string): Promise<LiveBonus[]> {
  return tx.run<LiveBonus>(sql`
    select transfer_id, left_usd_micro as left, counted_usd_micro as counted,
      expires_at <= now() as is_due
    from bonuses where account_id = ${accountId} and ended_by is null
    order by expires_at, transfer_id`);
}

/**
 * An account's bonuses that have not been ended yet, by their time of expiry, without locks.
 * `spent`: what was taken from the account since `left` was stored; the same for all its bonuses.
 */
export function shownBonuses(
  db: Connection,
  accountId: string,
): Promise<{ left: bigint; spent: bigint; expires_at: Date }[]> {
  return db.run<{ left: bigint; spent: bigint; expires_at: Date }>(sql`
    select n.left_usd_micro as left, b.debits_posted - n.counted_usd_micro as spent, n.expires_at
    from bonuses n join balances b on b.account_id = n.account_id
    where n.account_id = ${accountId} and n.ended_by is null
    order by n.expires_at, n.transfer_id`);
}

export interface NewBonus {
  transfer_id: string;
  account_id: string;
  expires_at: Date;
  amount: bigint;
  /** All that was taken from the account before this bonus. */
  counted: bigint;
}

export function insertBonus(tx: Transaction, bonus: NewBonus): void {
  const { transfer_id, account_id, expires_at, amount, counted } = bonus;
  tx.send(sql`
    insert into bonuses (transfer_id, account_id, expires_at, left_usd_micro, counted_usd_micro)
    values (${transfer_id}, ${account_id}, ${expires_at}, ${amount}, ${counted})`);
}

/**
 * Stores what is left of each bonus, and the expiry that ended it, if any. `counted`: all that has
 * been taken from the account.
 */
export function writeBonuses(
  tx: Transaction,
  bonuses: { transfer_id: string; left: bigint; ended_by: string | null }[],
  counted: bigint,
): void {
  if (bonuses.length === 0) return;
  tx.send(sql`
    update bonuses b set left_usd_micro = d.left_usd_micro, ended_by = d.ended_by,
      counted_usd_micro = ${counted}::bigint
    from ${rowsOf(
      bonuses.map(({ left: left_usd_micro, ...row }) => ({ ...row, left_usd_micro })),
      { transfer_id: 'uuid', left_usd_micro: 'bigint', ended_by: 'uuid' },
    )} as d
    where b.transfer_id = d.transfer_id`);
}

/**
 * Accounts with a bonus whose end has come, the longest waiting first. `limit` counts bonuses, not
 * accounts.
 */
export async function dueAccounts(db: Connection, limit: number): Promise<string[]> {
  const rows = await db.run<{ account_id: string }>(sql`
    select account_id from bonuses where ended_by is null and expires_at <= now()
    order by expires_at limit ${limit}`);
  return [...new Set(rows.map(({ account_id }) => account_id))];
}
