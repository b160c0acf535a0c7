import { sql, type Connection } from '../lib/sql/sql.ts';

/** The result of an audit. */
interface Report {
  ok: boolean;
  checked: Record<string, number>;
  violations: { law: string; says: string; found: Record<string, unknown>[] }[];
  /** All history was proved since then; null: not yet. */
  whole_at: Date | null;
  /** More was new than one audit proves. */
  is_behind: boolean;
}

/** The newest audit of the books, by any process. */
export interface AuditVerdict extends Report {
  took_ms: number;
  /** When it ended. */
  created_at: Date;
  /** Below 0: the database's clock ran ahead when it ended. */
  age_ms: number;
}

const leastIntervalMs = 15 * 60_000;

/** Milliseconds from the end of one audit to the next: audits take 2 % of the time at most. */
export function intervalMs(tookMs: number, isBehind = false): number {
  return Math.max(isBehind ? 0 : leastIntervalMs, 50 * tookMs);
}

export async function keep(db: Connection, report: Report, took_ms: number): Promise<void> {
  const { ok, checked, violations, whole_at, is_behind } = report;
  await db.run(sql`
    insert into audit_results (ok, checked, violations, took_ms, whole_at, is_behind, created_at)
    values (${ok}, ${JSON.stringify(checked)}::json, ${JSON.stringify(violations)}::json,
      ${Math.round(took_ms)}, ${whole_at}, ${is_behind}, clock_timestamp())
    on conflict (singleton) do update set ok = excluded.ok, checked = excluded.checked,
      violations = excluded.violations, took_ms = excluded.took_ms,
      whole_at = excluded.whole_at, is_behind = excluded.is_behind,
      created_at = excluded.created_at`);
}

/** The newest audit; null if none has ended since the database was made. */
export async function findNewest(db: Connection): Promise<AuditVerdict | null> {
  const [row] = await db.run<AuditVerdict>(sql`
    select ok, checked, violations, took_ms, whole_at, is_behind, created_at,
      extract(epoch from now() - created_at)::float8 * 1000 as age_ms from audit_results`);
  return row ?? null;
}
