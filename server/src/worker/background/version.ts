import { hostname } from 'node:os';
import type { Logger } from 'pino';
import manifest from '../../../package.json' with { type: 'json' };
import { beatMs } from '../../db/other-processes.ts';
import * as processes from '../../db/processes.ts';
import { schemaNumber } from '../../db/schema.ts';
import { throttleLog } from '../../lib/log-throttle.ts';
import { newId } from '../../lib/id.ts';
import { repeat } from '../../lib/repeat.ts';
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
export async function watchVersion({ db, log, kind, everyMs }: WatchDeps): Promise<VersionWatch> {
  const host = hostname().slice(0, 255);
  const { pid } = process;
  const { version } = manifest;
  const own = { id: newId(), kind, host, pid, schema: schemaNumber, version };
  const tellFailed = throttleLog((told) =>
    log.warn(told, 'could not tell other processes of this version'),
  );
  let before = schemaNumber;
  let moved: number | null = null;
  const note = ({ newest, floor }: { newest: number; floor: number }) => {
    const facts = { database_migration: newest, own_migration: schemaNumber, lowest: floor };
    if (newest > before && floor <= schemaNumber) log.info(facts, besideSentence);
    before = newest;
    const now = floor > schemaNumber || newest < schemaNumber ? newest : null;
    if (now === moved) return;
    moved = now;
    if (now === null) log.warn(facts, 'the database is at this version again');
    else log.error(facts, movedSentence);
  };
  const looks = repeat(async () => {
    try {
      note(await processes.findNewestMigration(db));
      if (moved === null) await processes.beat(db, own);
      return everyMs ?? beatMs;
    } catch (err) {
      if (!isUnavailable(err) && codeOf(err) !== mayNotWrite) tellFailed(err);
      return againMs;
    }
  });
  await looks.first;
  return {
    moved: () => moved,
    async stop() {
      await looks.stop();
      // A process that cannot take its row away counts as ended when the row is old enough.
      await processes.leave(db, own.id).catch(() => {});
    },
  };
}

const movedSentence =
  'another version has migrated this database: this process takes no calls and no work; stop it';
const besideSentence =
  'a newer version has migrated this database; this process runs on beside it, and can be replaced';
