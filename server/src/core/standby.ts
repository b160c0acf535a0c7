/** Whether a standby may answer calls whose reply may be some seconds old. */

/** The findings of a look at a database, beside a look at the primary. */
export interface StandbyState {
  /** It follows another server, as a standby does. */
  follows: boolean;
  /** It has the primary's installation. */
  is_ours: boolean;
  /** Its newest migration that is done. */
  schema: number;
  /** By how much its data are older than those of the primary; null: it does not know. */
  lag_seconds: number | null;
}

/** A standby that is further behind the primary answers no calls. */
export const lagMaxSeconds = 30;

export type UnusedWhy = 'takes_writes' | 'another_database' | 'older_schema' | 'lags';

/**
 * Why the standby may not answer; null: it may. Once it has lagged too much it has to catch up to
 * half of `lagMax` seconds, so that it does not come and go.
 * @param needs the lowest schema number that the statements of this process need
 */
export function whyUnused(
  look: StandbyState,
  { needs, lagMax, isUsed }: { needs: number; lagMax: number; isUsed: boolean },
): UnusedWhy | null {
  // A server that was promoted goes its own way.
  if (!look.follows) return 'takes_writes';
  if (!look.is_ours) return 'another_database';
  if (look.schema < needs) return 'older_schema';
  const lag = look.lag_seconds ?? Infinity;
  return lag <= (isUsed ? lagMax : lagMax / 2) ? null : 'lags';
}
