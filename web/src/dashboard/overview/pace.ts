/** How fast money is spent, and how long a balance lasts at this pace. */
export interface Pace {
  /** Micro-USD a day. */
  perDay: bigint;
  /** The number of days that the pace was taken from, today included. */
  days: number;
  /** Whole days that the balance lasts. */
  lasts: number;
}

/**
 * The pace of the last seven days, or of 30 if nothing was spent in seven. An account that began to
 * spend later counts from its first day. Null if nothing was spent.
 *
 * @param days Charges of the last 30 days in micro-USD, the last one being today.
 */
export function paceOf(days: readonly bigint[], available: bigint): Pace | null {
  for (const count of [7, 30] as const) {
    const last = days.slice(-count);
    const began = days.findIndex((charged) => charged > 0n);
    const spent = last.reduce((sum, charged) => sum + charged, 0n);
    if (spent === 0n) continue;
    const span = Math.min(last.length, days.length - began);
    const left = available > 0n ? available : 0n;
    const perDay = spent / BigInt(span);
    return { perDay, days: span, lasts: Number((left * BigInt(span)) / spent) };
  }
  return null;
}
