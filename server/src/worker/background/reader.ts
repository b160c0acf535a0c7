import type { Registry } from 'prom-client';
import type { Logger } from 'pino';
import { whyUnused, type UnusedWhy } from '../../core/standby.ts';
import { schemaNumber } from '../../db/schema.ts';
import { readStandbyState, readPosition, type Position } from '../../db/standby.ts';
import { throttleLog } from '../../lib/log-throttle.ts';
import { addOwn, addOwnBy } from '../../lib/metrics.ts';
import { repeat } from '../../lib/repeat.ts';
import { isReadOnly } from '../../lib/sql/faults.ts';
import type { Connection } from '../../lib/sql/sql.ts';
import { openStandby, type Standby, type StandbyUse } from '../../lib/sql/standby.ts';
import { withTimeout } from '../../lib/with-timeout.ts';

/** The standby that answers reads which may be some seconds old, and whether it may. */

const everyMs = 1_000;
const lookMs = 2_000;
const statementTimeoutMs = 15_000;

export interface WatchedStandby extends StandbyUse {
  close(): Promise<void>;
}

interface WatchOptions {
  url: string;
  /** Connections of this process. */
  max: number;
  lagMaxMs: number;
  primary: Connection;
  log: Pick<Logger, 'info' | 'warn'>;
  registry: Registry;
}

/** Looks each second at how far the standby is behind. Before the first look it answers nothing. */
export function watchStandby({
  url: connection,
  max,
  lagMaxMs,
  primary,
  log,
  registry,
}: WatchOptions): WatchedStandby {
  const options = { connection, applicationName: 'farebox reads', statementTimeoutMs };
  const standby = openStandby({ ...options, max });
  // Apart from the others, so that many long sums do not look like a server that is away.
  const eye = openProbe(connection);
  let why: UnusedWhy | 'away' | 'unknown' | null = 'unknown';
  let lag = NaN;
  let newest: Position | null = null;
  const note = (now: UnusedWhy | 'away' | null, facts: object) => {
    if (now === why) return;
    why = now;
    if (now === null) log.info(facts, 'the standby answers reads');
    else log.warn({ why, ...facts }, 'the standby is not used: the primary answers all reads');
    // Their reads would wait for the time limit before the primary answers them.
    if (now === 'away') standby.hangUp();
  };
  const looks = repeat(async () => {
    // A primary that is away or busy is told elsewhere.
    const position = await withTimeout(readPosition(primary), lookMs).catch(() => null);
    if (position === null && newest === null) return everyMs;
    newest = position ?? { ...newest!, lsn: null, at: null };
    try {
      const look = await withTimeout(readStandbyState(eye, newest), lookMs);
      lag = look.lag_seconds ?? Infinity;
      const limits = { needs: schemaNumber, lagMax: lagMaxMs / 1000, isUsed: why === null };
      note(whyUnused(look, limits), { lag_seconds: look.lag_seconds });
    } catch (err) {
      lag = NaN;
      note('away', { err });
      eye.hangUp();
    }
    return everyMs;
  });
  const tellFailure = throttleLog((told) =>
    log.warn(told, 'a read failed on the standby and was repeated on the primary'),
  );
  const isUsed = () => why === null;
  addReaderGauges(registry, { standby, isUsed, lag: () => lag });
  return {
    standby,
    isUsed,
    onFailure(error) {
      // Sums store those of past days first, which only the primary can.
      if (!isReadOnly(error)) tellFailure(error);
    },
    async close() {
      eye.hangUp();
      await looks.stop();
      standby.hangUp();
      await Promise.all([standby.close(), eye.close()]);
    },
  };
}

/** A connection for looks at a standby. */
export function openProbe(connection: string): Standby {
  return openStandby({
    connection,
    max: 1,
    applicationName: 'farebox looks at its standby',
    statementTimeoutMs: lookMs,
  });
}

function addReaderGauges(
  registry: Registry,
  { standby, isUsed, lag }: { standby: Standby; isUsed: () => boolean; lag: () => number },
): void {
  addOwn(registry, {
    name: 'farebox_reader_lag_seconds',
    help: 'By how much the standby for reads is behind the primary; NaN while it is away.',
    read: lag,
  });
  addOwn(registry, {
    name: 'farebox_reader_used',
    help: '1 while the standby answers reads, 0 while the primary answers all.',
    read: () => Number(isUsed()),
  });
  addOwnBy(registry, {
    name: 'farebox_reader_connections',
    help: 'Connections of this process to the standby: busy, idle, and calls that wait for one.',
    label: 'state',
    read: () => {
      const { total, idle, waiting } = standby.stats();
      return { busy: total - idle, idle, waiting };
    },
  });
}
