import type { RestoredWhy } from '../core/restored.ts';
import * as installation from '../db/installation.ts';
import { unfinished, type Unfinished } from '../db/snapshot.ts';
import { within, type Database } from '../lib/sql.ts';
import { releaseOpen } from './release.ts';

export interface Resumed {
  /** It was held, or is a copy that no service has looked at yet. */
  held: boolean;
  why: RestoredWhy | null;
  held_since: Date | null;
  /** What it does once it goes on; after a release, what is left of that. */
  unfinished: Unfinished;
  released: number;
}

/** Lets a restored copy go on, as a database of its own. With `look` it only tells. */
export function resumeAfterRestore(
  db: Database,
  options: { look: boolean; release: boolean },
): Promise<Resumed> {
  return db.tx(async (tx) => {
    const row = await installation.find(tx);
    const why = row && (row.held_why ?? (row.is_original ? null : 'copy'));
    const told = { held: why !== null, why, held_since: row?.held_since ?? null };
    if (options.look || why === null)
      return { ...told, unfinished: await unfinished(tx), released: 0 };
    const timeline = await installation.currentTimeline(db).catch(() => null);
    const released = options.release ? await releaseOpen(within(db, tx)) : 0;
    await installation.resume(tx, timeline);
    return { ...told, unfinished: await unfinished(tx), released };
  });
}
