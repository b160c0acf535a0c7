import { spendBonuses } from '../../core/account/bonus.ts';
import {
  dueAccounts,
  liveBonuses,
  shownBonuses,
  writeBonuses,
  type LiveBonus,
} from '../../ledger/bonuses.ts';
import { openBooks, writeBooks, type Books } from '../../ledger/ledger.ts';
import { newId } from '../../lib/id.ts';
import type { Connection, Database, Transaction } from '../../lib/sql/sql.ts';

/**
 * Ends bonuses whose time is over: one transfer per bonus takes its unspent part back. Reserved
 * money counts as spent and stays with the account. Returns the number of accounts with an ended
 * bonus, at most `limit`.
 */
export async function expireBonuses(db: Database, limit: number): Promise<number> {
  const accounts = await dueAccounts(db, limit);
  for (const account_id of accounts) await db.tx((tx) => expire(tx, account_id));
  return accounts.length;
}

async function expire(tx: Transaction, account_id: string): Promise<void> {
  const books = await openBooks(tx, [account_id]);
  // Another process may have ended the bonuses before the balance was locked here.
  const live = spentSince(books, account_id, await liveBonuses(tx, account_id));
  if (!live.some(({ is_due }) => is_due)) return;
  const reserved = books.funds(account_id).reserved_usd_micro;
  // guard: reserved-bonus-stays
  const isReserved = reserved > 0n;
  const unspent = isReserved ? spendBonuses(live, reserved) : live;
  const ended = live.map(({ transfer_id, left, is_due }, i) => {
    if (!is_due) return { transfer_id, left, ended_by: null };
    const ended_by = newId();
    books.expire(ended_by, account_id, unspent[i]!.left);
    return { transfer_id, left: 0n, ended_by };
  });
  writeBooks(tx, books);
  writeBonuses(tx, ended, books.taken(account_id));
}

/** The unspent part of each bonus with an end; the bonus that ends first comes first. */
export async function readUnspentBonuses(
  db: Connection,
  accountId: string,
): Promise<{ left_usd_micro: bigint; expires_at: string }[]> {
  const bonuses = await shownBonuses(db, accountId);
  return spendBonuses(bonuses, bonuses[0]?.spent ?? 0n)
    .filter(({ left }) => left > 0n)
    .map(({ left, expires_at }) => {
      return { left_usd_micro: left, expires_at: expires_at.toISOString() };
    });
}

/** Takes an account's spending off its live bonuses, so that a new bonus does not pay for it. */
export async function countSpending(
  tx: Transaction,
  books: Books,
  account_id: string,
): Promise<void> {
  const live = spentSince(books, account_id, await liveBonuses(tx, account_id));
  const rows = live.map(({ transfer_id, left }) => ({ transfer_id, left, ended_by: null }));
  writeBonuses(tx, rows, books.taken(account_id));
}

function spentSince(books: Books, account_id: string, live: LiveBonus[]): LiveBonus[] {
  const counted = live[0]?.counted ?? 0n;
  return spendBonuses(live, books.taken(account_id) - counted);
}
