import type { RestoredWhy } from '../core/restored.ts';
import * as addresses from '../db/deposits/addresses.ts';
import * as installation from '../db/installation.ts';
import { afterRelease, readUnfinished, type UnfinishedWork } from '../db/requests/unfinished.ts';
import { within, type Database } from '../lib/sql/sql.ts';
import { releaseOpen } from './requests/release.ts';

export interface ResumeResult {
  /**
   * True if the database was on hold (nothing starts or is sent), or is a copy that no service has
   * checked yet.
   */
  held: boolean;
  why: RestoredWhy | null;
  held_since: Date | null;
  /** The open work before this call. */
  found: UnfinishedWork;
  /** The open work that the database will continue with. */
  unfinished: UnfinishedWork;
}

/**
 * Lets a restored copy continue as a database of its own. With `release`, its open requests are
 * released first. With `look` this function only reports.
 */
export function resumeAfterRestore(
  db: Database,
  options: { look: boolean; release: boolean },
): Promise<ResumeResult> {
  return db.tx(async (tx) => {
    const row = await installation.find(tx);
    const why = row && (row.held_why ?? (row.is_original ? null : 'copy'));
    const found = await readUnfinished(tx);
    const isReleased = options.release && why !== null;
    const left = isReleased ? afterRelease(found) : found;
    const held_since = row?.held_since ?? null;
    const result = { held: why !== null, why, held_since, found, unfinished: left };
    if (options.look || why === null) return result;
    const timeline = await installation.knownTimeline(db);
    if (isReleased) await releaseOpen(within(db, tx));
    await addresses.leaveOut(tx);
    await installation.resume(tx, timeline);
    return result;
  });
}
