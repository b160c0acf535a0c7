import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import {
  mayLack,
  restoredWhy,
  type RememberedInstallation,
  type RestoredWhy,
} from '../../core/restored.ts';
import * as addresses from '../../db/deposits/addresses.ts';
import * as installation from '../../db/installation.ts';
import { readUnfinished } from '../../db/requests/unfinished.ts';
import { LogThrottle } from '../../lib/log-throttle.ts';
import { repeat, type Repetition } from '../../lib/repeat.ts';
import { isUnavailable, type Database } from '../../lib/sql/sql.ts';
import { isCount, objectOf } from '../../lib/json.ts';

/** Detects that the database is a restored copy, and that clocks differ. */

const againMs = 2_000;
/** An older check is ignored: the database may have been replaced while it was unreachable. */
const staleMs = 30_000;
/** Smaller differences between clocks do no harm. */
const skewSeconds = 5;

export interface InstallationWatch {
  /** Why nothing is started or sent; null if everything may go on. */
  held(): RestoredWhy | null;
  /** False on a restored copy, and while the last successful check is missing or too old. */
  mayWork(): boolean;
  /** By how many seconds the database's clock is ahead of this machine's; null if they agree. */
  skew(): number | null;
  stop(): void;
}

interface WatchDeps {
  db: Database;
  log: Logger;
  /** Folder of the file in which this process remembers the installation. */
  dir: string;
  everyMs: number;
}

/** Resolves after the first check has ended or failed. */
export async function watchInstallation(deps: WatchDeps): Promise<InstallationWatch> {
  const watch = new CopyWatch(deps);
  await watch.begin();
  return watch;
}

class CopyWatch implements InstallationWatch {
  readonly #deps: WatchDeps;
  readonly #path: string;
  readonly #throttle = new LogThrottle();
  #remembered: RememberedInstallation | null;
  #held: RestoredWhy | null = null;
  #skew = 0;
  #knownAt = -Infinity;
  /** False if this server does not report its timeline. */
  #tellsTimeline = true;
  #looks: Repetition | undefined;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
    this.#path = join(deps.dir, 'installation.json');
    this.#remembered = readRemembered(this.#path);
  }

  held(): RestoredWhy | null {
    return this.#held;
  }

  /** A bound function, because it is passed on without its object. */
  readonly mayWork = (): boolean =>
    this.#held === null && performance.now() - this.#knownAt < staleMs;

  skew(): number | null {
    return Math.abs(this.#skew) > skewSeconds ? this.#skew : null;
  }

  stop(): void {
    void this.#looks?.stop();
  }

  begin(): Promise<void> {
    this.#looks = repeat(() => this.#look());
    return this.#looks.first;
  }

  async #look(): Promise<number> {
    try {
      await this.#judge();
      this.#knownAt = performance.now();
      return this.#deps.everyMs;
    } catch (err) {
      if (!isUnavailable(err))
        this.#warn('look', { err }, 'could not check whether this database is a restored copy');
      return againMs;
    }
  }

  async #judge(): Promise<void> {
    const { db, everyMs } = this.#deps;
    const timeline = await this.#timeline();
    const begun = Date.now();
    const row = await installation.find(db);
    if (row === null) {
      await installation.make(db, timeline);
      return this.#judge();
    }
    this.#compareClocks(row.now_ms, begun, Date.now());
    const why = row.held_why ?? restoredWhy(row, this.#remembered, timeline);
    if (why !== null) return this.#hold(why, row.held_since === null);
    if (this.#held !== null) this.#deps.log.warn({}, 'the restored copy was resumed');
    this.#held = null;
    // guard: failover-leaves-addresses-out
    if (mayLack(row, this.#remembered, timeline)) await addresses.leaveOut(db);
    await installation.beat(db, row.id, timeline, everyMs / 1000);
    this.#remember(row);
  }

  async #hold(why: RestoredWhy, isNew: boolean): Promise<void> {
    const { db, log } = this.#deps;
    if (isNew) await installation.hold(db, why);
    if (this.#held === null) {
      this.#held = why;
      log.error({ why, ...(await readUnfinished(db)) }, restoredSentence);
    }
  }

  async #timeline(): Promise<number | null> {
    if (!this.#tellsTimeline) return null;
    try {
      return await installation.readTimeline(this.#deps.db);
    } catch (err) {
      if (isUnavailable(err)) throw err;
      this.#tellsTimeline = false;
      this.#deps.log.info({ err }, 'could not read the timeline of the database');
      return null;
    }
  }

  #compareClocks(databaseMs: number, begun: number, ended: number): void {
    this.#skew = skewOf(databaseMs, begun, ended);
    if (this.#skew === 0) return;
    const facts = { database_ahead_seconds: this.#skew };
    this.#warn('skew', facts, 'the clocks of this machine and of the database differ');
  }

  #remember({ id, beat }: RememberedInstallation): void {
    if (this.#remembered?.id === id && this.#remembered.beat === beat) return;
    this.#remembered = { id, beat };
    try {
      const part = `${this.#path}.${process.pid}.part`;
      writeFileSync(part, JSON.stringify(this.#remembered), { mode: 0o600 });
      renameSync(part, this.#path);
    } catch (err) {
      this.#warn('remember', { err }, 'could not store the identity of this database');
    }
  }

  #warn(about: string, facts: object, sentence: string): void {
    if (this.#throttle.due(about) !== null) this.#deps.log.warn(facts, sentence);
  }
}

/**
 * Seconds by which the database's clock is ahead; 0 if the clocks agree. `databaseMs` was read
 * between `begun` and `ended`, which are times of this machine.
 */
export function skewOf(databaseMs: number, begun: number, ended: number): number {
  const seconds = (databaseMs - (begun + ended) / 2) / 1000;
  // The server may have read its clock at any time between the call and its answer. Meanwhile,
  // this machine's clock may have been set back.
  const unsure = Math.abs(ended - begun) / 2000;
  return Math.abs(seconds) > skewSeconds + unsure ? Math.round(seconds * 10) / 10 : 0;
}

const restoredSentence =
  'this database is a restored copy: run "farebox resume-after-restore" to start work';

/** Null if the file is missing or unreadable; this process writes it again. */
function readRemembered(path: string): RememberedInstallation | null {
  try {
    const { id, beat } = objectOf(JSON.parse(readFileSync(path, 'utf8')));
    return typeof id === 'string' && isCount(beat) ? { id, beat } : null;
  } catch {
    return null;
  }
}
