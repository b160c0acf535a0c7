import * as revenue from '../../db/accounts/revenue.ts';
import * as spend from '../../db/accounts/spend.ts';
import { findUnstored, storeDay, type Period } from '../../db/accounts/usage-days.ts';
import type { Database, Transaction } from '../../lib/sql/sql.ts';
import { readWithin } from '../../lib/sql/time-limit.ts';
import { storeTransferSums } from '../../ledger/transfer-sums.ts';
import { dayMs } from '../../lib/calendar-day.ts';

/** The longest period that the pages show, and the same number of days before it. */
const keptDays = 180;
/** How long after midnight a request of the previous day may still be written. */
const lateMs = 3600 * 1000;

/** For a stretch of several days; a single day may take as long as any statement. */
const stretchMs = 5_000;

/** Stores the sums of past days that have no sums yet. Returns the number of these days. */
export function rollUpDays(db: Database, ms = stretchMs): Promise<number> {
  return storeDays(db, ms, revenue.rollUp);
}

/**
 * Stores days in stretches, each in a transaction of its own, and in shorter ones while a stretch
 * takes longer than `ms`. `store` takes the longest stretch that it may store, and returns the
 * number of days that it has stored; 0: no more can be.
 */
async function storeDays(
  db: Database,
  ms: number,
  store: (tx: Transaction, most: number) => Promise<number>,
): Promise<number> {
  let most = keptDays;
  for (let days = 0; ;) {
    const work = (tx: Transaction) => store(tx, most);
    const stored = await (most > 1 ? readWithin(db, ms, work) : db.tx(work));
    if (stored === 0) return days;
    if (stored === null) most = Math.ceil(most / 2);
    else days += stored;
  }
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
  await storeDays(db, stretchMs, async (tx, most) => {
    const { until } = await spend.lockRolledUp(tx, account_id, since);
    const end = new Date(Math.min(to.getTime(), until.getTime() + most * dayMs));
    return until < end ? spend.rollUp(tx, account_id, until, end) : 0;
  });
  return (await spend.findRolledUp(db, account_id))!.until;
}

/**
 * Stores what is over of an account's days of this period, each day in a transaction of its own, so
 * that a next call goes on where this one ran out of time. False: there was not enough time.
 */
export async function rollUpUsage(
  db: Database,
  account_id: string,
  period: Period,
  ms: number,
): Promise<boolean> {
  const end = performance.now() + ms;
  // Found where it is stored: a standby may have another clock.
  const storeNext = async (tx: Transaction) => {
    const [stretch] = await findUnstored(tx, account_id, period);
    if (stretch) await storeDay(tx, account_id, stretch);
    return stretch !== undefined;
  };
  for (;;) {
    const left = Math.ceil(end - performance.now());
    const hasStored = left > 0 ? await readWithin(db, left, storeNext) : null;
    if (hasStored !== true) return hasStored === false;
  }
}

/** Stores sums of an account's transfers for at most `ms`; a next call goes on from there. */
export async function rollUpTransfers(db: Database, account_id: string, ms: number): Promise<void> {
  const end = performance.now() + ms;
  const store = (tx: Transaction) => storeTransferSums(tx, account_id);
  while (performance.now() < end && (await db.tx(store)));
}

function midnightBefore(ms: number): Date {
  return new Date(Math.floor(ms / dayMs) * dayMs);
}
