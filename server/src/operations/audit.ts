import * as audits from '../db/audit-results.ts';
import * as operatorEvents from '../db/operator-events.ts';
import { alone, audit, inSnapshot, proveNews, type AuditReport } from '../ledger/audit.ts';
import { changedSince, newestHead, readHead, seal, type Head } from '../ledger/seals.ts';
import { CommandFailed } from './refusal.ts';
import { keepProgress } from '../ledger/parts.ts';
import type { Connection, Database } from '../lib/sql/sql.ts';

/** One audit of the books, which one process at a time makes for all. */

export interface AuditOptions {
  /** All history is proved again within so many days. */
  days: number;
  /** Wait for another process that audits, instead of returning null. */
  waits?: boolean;
  signal?: AbortSignal | undefined;
}

export interface Audit {
  report: AuditReport;
  /** The head of the seals that this audit made. */
  sealed: Head | null;
  /** There was more that is new than one audit proves. */
  isBehind: boolean;
  /** The newest seals are of a time that has not come yet: the database's clock went back. */
  isAhead: boolean;
  /** All history was proved since then; null: not yet. */
  whole_at: Date | null;
}

/**
 * Proves what is new and a part of what is old, and keeps the result. When a day is over, or more
 * is new than one audit reads, seals what is new, unless a law is broken. All of it is one
 * transaction. Null: another process audits.
 */
export function auditNews(db: Database, options: AuditOptions): Promise<Audit | null> {
  const work = () =>
    inSnapshot(
      db,
      'read write',
      async (tx) => {
        const startedAt = performance.now();
        const before = (await audits.findNewest(tx))?.violations ?? [];
        const suspects = before.map(({ law }) => law);
        const { report, round } = await proveNews(tx, options.days, suspects);
        const spans = round.news.spans.filter(({ after_seq, upto_seq }) => upto_seq > after_seq);
        const mayBeSealed = report.ok && round.wantsSeal && spans.length > 0;
        const sealed = mayBeSealed ? await seal(tx, { ...round, spans }) : null;
        await keepProgress(tx, round.progress);
        const { isBehind, isAhead } = round;
        const { whole_at } = round.progress;
        const tookMs = performance.now() - startedAt;
        const result = { ...report, whole_at, is_behind: isBehind };
        await keep(tx, result, { before: suspects, tookMs });
        if (sealed && round.isDayOver) await tellOf(tx, sealed);
        return { report, sealed, isBehind, isAhead, whole_at };
      },
      options.signal,
    );
  return alone(db, work, options);
}

/** Says in the log what an audit found and sealed. */
export function logAudit(
  log: Record<'error' | 'info' | 'warn', (fields: object, message: string) => void>,
  { report, sealed, isAhead }: Audit,
): void {
  if (!report.ok) log.error({ violations: report.violations }, 'the books do not balance');
  if (sealed) log.info(sealed, 'the books are sealed');
  if (isAhead) log.warn({}, "the newest seals are of the future: the database's clock went back");
}

/** Proves everything, after any other audit has ended. Changes nothing. */
export async function auditAll(db: Database): Promise<AuditReport> {
  return (await alone(db, () => audit(db), { waits: true }))!;
}

/** Stores the result. Writes an event if a law is broken that was not broken before. */
async function keep(
  tx: Connection,
  report: Parameters<typeof audits.keep>[1],
  { before, tookMs }: { before: string[]; tookMs: number },
): Promise<void> {
  await audits.keep(tx, report, tookMs);
  const laws = report.violations.map(({ law }) => law);
  if (laws.every((law) => before.includes(law))) return;
  const named = laws.slice(0, namedMax);
  const event = { type: 'books.broken', account_id: null, data: { laws: named } } as const;
  await operatorEvents.addMany(tx, [event]);
}

const namedMax = 20;

/** The head leaves the database, so that nobody who changes the database can change it as well. */
async function tellOf(tx: Connection, { head, day, seals, transfers }: Head): Promise<void> {
  const data = { head, day, seals, transfers };
  await operatorEvents.addMany(tx, [{ type: 'books.sealed', account_id: null, data }]);
}

/** The newest head. Throws `CommandFailed` if there is none. */
export async function findHead(db: Database): Promise<Head> {
  const head = await newestHead(db);
  if (head !== null) return head;
  throw new CommandFailed(
    'There are no seals yet. The service makes the first when the day (UTC) is over.',
  );
}

export interface Comparison {
  /** False: this database has another head of this number, or none. */
  head_is_known: boolean;
  number: bigint;
  /** Number of the newest head; 0: there is none. */
  newest: bigint;
  violations: Record<string, unknown>[];
}

/** Finds changes of history below a head. Throws `CommandFailed` if the text is not a head. */
export async function compareWith(db: Database, text: string): Promise<Comparison> {
  const head = readHead(text);
  if (head === null)
    throw new CommandFailed(`"${text}" is not a head, as farebox audit --head prints it.`);
  return inSnapshot(db, 'read only', async (tx) => {
    const newest = await newestHead(tx);
    const { isKnown, found } = await changedSince(tx, head);
    const { number } = head;
    return { head_is_known: isKnown, number, newest: newest?.number ?? 0n, violations: found };
  });
}
