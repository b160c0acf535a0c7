/** Decides, from values alone, whether a database is a restored copy. */

export type RestoredWhy = 'copy' | 'rewound' | 'timeline';

export interface Installation {
  id: string;
  /** Counts up while any process runs, about every 10 s. */
  beat: number;
  /** Seconds since the newest beat, by the database's clock. */
  beat_age_seconds: number;
  /** True if a service wrote this row in this database, not in one that it was copied from. */
  is_original: boolean;
  timeline: number | null;
}

/** The identity of an installation, as a process remembers it. */
export interface RememberedInstallation {
  id: string;
  beat: number;
}

/**
 * Maximum number of beats that a standby may lack after a failover. A recovery to a point in time
 * lacks more.
 */
const lostBeatsMax = 6;
/** A failover takes less than this; restoring a backup takes longer. */
const failoverSeconds = 300;

/**
 * Why the database is a restored copy; null if it is the same database. `timeline`: the server's
 * current one, or null if the server does not report it. If the timeline is new, the last beat is
 * old and the process does not remember the database, a failover and a recovery look the same. This
 * counts as a recovery.
 */
export function restoredWhy(
  row: Installation,
  remembered: RememberedInstallation | null,
  timeline: number | null,
): RestoredWhy | null {
  if (!row.is_original) return 'copy';
  if (remembered?.id === row.id)
    return remembered.beat - row.beat > lostBeatsMax ? 'rewound' : null;
  return isNew(row, timeline) && row.beat_age_seconds > failoverSeconds ? 'timeline' : null;
}

/** Whether the last writes may be missing, as on a standby that took over. */
export function mayLack(
  row: Installation,
  remembered: RememberedInstallation | null,
  timeline: number | null,
): boolean {
  const isBehind = remembered?.id === row.id && remembered.beat > row.beat;
  return isBehind || isNew(row, timeline);
}

function isNew(row: Installation, timeline: number | null): boolean {
  return timeline !== null && row.timeline !== null && timeline !== row.timeline;
}
