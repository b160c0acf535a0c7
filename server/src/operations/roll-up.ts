import { rollUp } from '../db/revenue.ts';
import type { Database } from '../lib/sql.ts';

/** Sums up the days that are over and were not yet; how many. */
export function rollUpDays(db: Database): Promise<number> {
  return db.tx(rollUp);
}
