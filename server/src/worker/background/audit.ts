import type { Logger } from 'pino';
import * as auditResults from '../../db/audit-results.ts';
import type { Metrics } from '../../lib/metrics.ts';
import { repeat } from '../../lib/repeat.ts';
import type { Database } from '../../lib/sql/sql.ts';
import { rollUpDays } from '../../operations/accounts/roll-up.ts';
import { auditNews, logAudit } from '../../operations/audit.ts';

/** How often each process checks whether an audit is due. */
const checkMs = 60_000;

interface AuditDeps {
  db: Database;
  metrics: Metrics;
  log: Logger;
  /** All history is proved again within so many days. */
  days: number;
}

interface AuditOptions extends AuditDeps {
  /** Time to the first audit. */
  firstMs: number;
  /** False while the database's schema is of another version. */
  isCurrent: () => boolean;
}

/**
 * Audits the books while the service runs. The process that first finds an audit due does it for
 * all processes; if that process ends, another takes over.
 */
export function watchBooks({ firstMs, isCurrent, ...deps }: AuditOptions) {
  const stopping = new AbortController();
  // The laws of another version would find faults where there are none.
  const audits = repeat(
    async () => (isCurrent() ? auditWhenDue(deps, stopping.signal) : checkMs),
    firstMs,
  );
  return {
    /** Aborts a running audit, which can take minutes. */
    stop(): Promise<void> {
      stopping.abort();
      return audits.stop();
    },
  };
}

/**
 * Audits if the newest audit is old enough, and publishes its result. Returns the milliseconds
 * until the next check.
 */
export async function auditWhenDue(
  { db, metrics, log, days }: AuditDeps,
  stopping: AbortSignal,
): Promise<number> {
  const startedAt = performance.now();
  try {
    const newest = await auditResults.findNewest(db);
    if (newest !== null) show(metrics, newest);
    const waitMs = newest && auditResults.intervalMs(newest.took_ms, newest.is_behind);
    // Below 0: the database's clock ran ahead when it was made, so its age says nothing.
    const isFresh = newest !== null && newest.age_ms >= 0 && newest.age_ms < waitMs!;
    if (isFresh) return Math.min(checkMs, waitMs!);
    const made = await auditNews(db, { days, signal: stopping });
    if (made === null) return checkMs;
    logAudit(log, made);
    const result = (await auditResults.findNewest(db))!;
    show(metrics, result);
    // So that the operator's overview is fast.
    await rollUpDays(db).catch((err: unknown) => log.warn({ err }, 'past days were not summed up'));
    return made.isBehind ? auditResults.intervalMs(result.took_ms, true) : checkMs;
  } catch (err) {
    if (!stopping.aborted) log.warn({ err }, 'the audit could not run');
    // An audit that fails late has cost as much as a complete one, so the pause is the same.
    return auditResults.intervalMs(performance.now() - startedAt);
  }
}

function show(metrics: Metrics, result: auditResults.AuditVerdict): void {
  const { ok, took_ms, created_at, whole_at } = result;
  metrics.booksOk.set(ok ? 1 : 0);
  metrics.booksChecked.set(created_at.getTime() / 1000);
  metrics.booksSeconds.set(took_ms / 1000);
  metrics.booksWhole.set((whole_at?.getTime() ?? 0) / 1000);
}
