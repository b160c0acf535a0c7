import { codeOf } from '../unknown.ts';
import { rawSql, type Database, type Transaction } from './sql.ts';

const cancelled = '57014';

/**
 * Works in a transaction whose statements the server cancels after `ms`. Returns null if a
 * statement was cancelled. Each statement is planned for its own values, which pays off because
 * such a statement may take seconds.
 */
export async function readWithin<T>(
  db: Database,
  ms: number,
  read: (db: Transaction) => Promise<T>,
): Promise<T | null> {
  try {
    return await db.tx(async (tx) => {
      tx.send(rawSql(`set local statement_timeout = ${ms}`));
      tx.send(rawSql('set local plan_cache_mode = force_custom_plan'));
      return await read(tx);
    });
  } catch (error) {
    if (codeOf(error) === cancelled) return null;
    throw error;
  }
}
