import { hostname } from 'node:os';
import type { Logger } from 'pino';
import manifest from '../../../package.json' with { type: 'json' };
import { beatMs } from '../../db/alone.ts';
import * as processes from '../../db/processes.ts';
import { schemaNumber } from '../../db/schema.ts';
import { LogThrottle } from '../../lib/log-throttle.ts';
import { newId } from '../../lib/id.ts';
import { repeat, type Repetition } from '../../lib/repeat.ts';
import { isUnavailable, type Connection } from '../../lib/sql/sql.ts';
import { codeOf } from '../../lib/unknown.ts';

/** Tells other processes that this one lives, and notices a migration beneath it. */

const againMs = 2_000;
/** May not write: a role that only reads, on which no migration depends. */
const mayNotWrite = '42501';

export interface VersionWatch {
  /** The database's newest migration, if this version cannot work with it; otherwise null. */
  moved(): number | null;
  stop(): Promise<void>;
}

interface WatchDeps {
  db: Connection;
  log: Pick<Logger, 'info' | 'warn' | 'error'>;
  kind: 'serve' | 'worker' | 'command';
  everyMs?: number;
}

/** Resolves after the first sign of life, or its failure. */
export async function watchVersion(deps: WatchDeps): Promise<VersionWatch> {
  const watch = new SchemaWatch(deps);
  await watch.begin();
  return watch;
}

class SchemaWatch implements VersionWatch {
  readonly #deps: WatchDeps;
  readonly #throttle = new LogThrottle();
  readonly #own: processes.OwnProcess;
  #moved: number | null = null;
  #newest = schemaNumber;
  #looks: Repetition | undefined;

  constructor(deps: WatchDeps) {
    this.#deps = deps;
    const { pid } = process;
    const { version } = manifest;
    const host = hostname().slice(0, 255);
    this.#own = { id: newId(), kind: deps.kind, host, pid, schema: schemaNumber, version };
  }

  moved(): number | null {
    return this.#moved;
  }

  async stop(): Promise<void> {
    await this.#looks?.stop();
    // A process that cannot take its row away counts as ended when the row is old enough.
    await processes.leave(this.#deps.db, this.#own.id).catch(() => {});
  }

  begin(): Promise<void> {
    this.#looks = repeat(() => this.#look());
    return this.#looks.first;
  }

  async #look(): Promise<number> {
    try {
      const { db } = this.#deps;
      this.#note(await processes.findNewestMigration(db));
      if (this.#moved === null) await processes.beat(db, this.#own);
      return this.#deps.everyMs ?? beatMs;
    } catch (err) {
      const expected = isUnavailable(err) || codeOf(err) === mayNotWrite;
      if (!expected && this.#throttle.due('look') !== null)
        this.#deps.log.warn({ err }, 'could not tell other processes of this version');
      return againMs;
    }
  }

  #note({ newest, floor }: { newest: number; floor: number }): void {
    const facts = { database_migration: newest, own_migration: schemaNumber, lowest: floor };
    if (newest > this.#newest && floor <= schemaNumber) this.#deps.log.info(facts, besideSentence);
    this.#newest = newest;
    const moved = floor > schemaNumber || newest < schemaNumber ? newest : null;
    if (moved === this.#moved) return;
    this.#moved = moved;
    if (moved === null) this.#deps.log.warn(facts, 'the database is at this version again');
    else this.#deps.log.error(facts, movedSentence);
  }
}

const movedSentence =
  'another version has migrated this database: this process takes no calls and no work; stop it';
const besideSentence =
  'a newer version has migrated this database; this process runs on beside it, and can be replaced';
