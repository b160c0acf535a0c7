import * as revenue from '../../db/accounts/revenue.ts';
import * as spend from '../../db/accounts/spend.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { dayMs } from '../../lib/day.ts';

/** The longest period that the pages show, and the same number of days before it. */
const keptDays = 180;
/** How long after midnight a request of the previous day may still be written. */
const lateMs = 3600 * 1000;

/** Stores the sums of past days that have no sums yet. Returns the number of these days. */
export function rollUpDays(db: Database): Promise<number> {
  return db.tx(revenue.rollUp);
}

/**
 * Stores the sums of an account's past days, so that pages need not read all its requests. A past
 * day without open requests never changes. Returns the midnight (UTC) up to which sums are stored.
 */
export async function rollUpSpend(db: Database, account_id: string, now: number): Promise<Date> {
  const to = midnightBefore(now - lateMs);
  const since = new Date(midnightBefore(now).getTime() - (keptDays - 1) * dayMs);
  const known = await spend.findRolledUp(db, account_id);
  if (known && known.until >= to) return known.until;
  return db.tx(async (tx) => {
    const { until } = await spend.lockRolledUp(tx, account_id, since);
    if (until < to) await spend.rollUp(tx, account_id, until, to);
    return (await spend.findRolledUp(tx, account_id))!.until;
  });
}

function midnightBefore(ms: number): Date {
  return new Date(Math.floor(ms / dayMs) * dayMs);
}
