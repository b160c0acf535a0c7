/** Whether a database is a restored copy, judged from values alone. */

export type RestoredWhy = 'copy' | 'rewound' | 'timeline';

export interface Installation {
  id: string;
  beat: number;
  /** Since the newest beat, by the database's clock. */
  beat_age_seconds: number;
  /** This very row was written by a service, in this database. */
  is_original: boolean;
  timeline: number | null;
}

/** The identity of an installation that a process remembers. */
export interface RememberedInstallation {
  id: string;
  beat: number;
}

/** A standby that took over may lack the newest beats; a recovery to a point in time lacks more. */
const lostBeatsMax = 6;
/** A failover is over by then; restoring a backup takes longer. */
const failoverSeconds = 300;

/**
 * Null: it is the same database. `timeline` is the current one, or null if the server does not
 * report it. After a long pause on a new timeline, with no process that remembers, a failover and a
 * recovery look the same: that counts as a copy.
 */
export function restoredWhy(
  row: Installation,
  remembered: RememberedInstallation | null,
  timeline: number | null,
): RestoredWhy | null {
  if (!row.is_original) return 'copy';
  if (remembered?.id === row.id)
    return remembered.beat - row.beat > lostBeatsMax ? 'rewound' : null;
  const isNew = timeline !== null && row.timeline !== null && timeline !== row.timeline;
  return isNew && row.beat_age_seconds > failoverSeconds ? 'timeline' : null;
}
