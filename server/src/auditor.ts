import type { Logger } from 'pino';
import * as verdicts from './db/verdicts.ts';
import { auditAlone } from './ledger/audit.ts';
import type { Metrics } from './lib/metrics.ts';
import type { Database } from './lib/sql.ts';
import { rollUpDays } from './operations/roll-up.ts';

const auditMs = 15 * 60_000;
/** After a turn that another process had, so that each has a verdict of its own before long. */
const auditAgainMs = 60_000;

/**
 * Looks through the books while the service runs. The first time a moment after the start, so that
 * a broken book does not wait to be noticed.
 */
export function auditNowAndThen(db: Database, metrics: Metrics, log: Logger, firstMs: number) {
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let again: NodeJS.Timeout | undefined;
  const look = () => {
    running = auditOnline(db, metrics, log, stopping.signal).then((looked) => {
      if (looked || stopping.signal.aborted) return;
      again = setTimeout(look, auditAgainMs);
      again.unref();
    });
  };
  const first = setTimeout(look, firstMs);
  const timer = setInterval(look, auditMs);
  first.unref();
  timer.unref();
  return {
    /** Breaks off one that is under way; it can take minutes. */
    stop(): Promise<void> {
      clearTimeout(first);
      clearTimeout(again);
      clearInterval(timer);
      stopping.abort();
      return running;
    },
  };
}

/** False where it did not look, since another process does. */
async function auditOnline(
  db: Database,
  metrics: Metrics,
  log: Logger,
  stopping: AbortSignal,
): Promise<boolean> {
  try {
    const startedAt = performance.now();
    const report = await auditAlone(db, stopping);
    if (report === null) return false;
    const { ok, violations } = report;
    metrics.booksOk.set(ok ? 1 : 0);
    metrics.booksChecked.setToCurrentTime();
    if (!ok) log.error({ violations }, 'the books do not balance');
    await verdicts.keep(db, report, performance.now() - startedAt);
    // So that the operator's overview finds the days that are over summed up.
    await rollUpDays(db);
  } catch (err) {
    if (!stopping.aborted) log.warn({ err }, 'the audit could not run');
  }
  return true;
}
