import * as revenue from '../../db/accounts/revenue.ts';
import * as spend from '../../db/accounts/spend.ts';
import type { Database } from '../../lib/sql/sql.ts';

const dayMs = 24 * 3600 * 1000;
/** The longest period that is shown. */
const keptDays = 90;
/** How long after midnight a request of the day before may still be written. */
const lateMs = 3600 * 1000;

/** Sums up past days that were not summed up yet. Returns how many. */
export function rollUpDays(db: Database): Promise<number> {
  return db.tx(revenue.rollUp);
}

/**
 * Keeps the sums of an account's past days, so that they are read instead of all its requests: a
 * past day without open requests never changes. Returns the first midnight (UTC) from which on
 * nothing is kept.
 */
export async function rollUpSpend(db: Database, account_id: string, now: number): Promise<Date> {
  const to = midnightBefore(now - lateMs);
  const since = new Date(midnightBefore(now).getTime() - (keptDays - 1) * dayMs);
  const known = await spend.rolledUp(db, account_id);
  if (known && known.until >= to) return known.until;
  return db.tx(async (tx) => {
    const { until } = await spend.lockRolledUp(tx, account_id, since);
    if (until < to) await spend.rollUp(tx, account_id, until, to);
    return (await spend.rolledUp(tx, account_id))!.until;
  });
}

function midnightBefore(ms: number): Date {
  return new Date(Math.floor(ms / dayMs) * dayMs);
}
