import { sql, type Connection } from '../lib/sql/sql.ts';

/** The result of an audit. */
interface Report {
  ok: boolean;
  checked: Record<string, number>;
  violations: { law: string; says: string; found: Record<string, unknown>[] }[];
}

/** The newest audit of the books, by any process. */
export interface AuditVerdict extends Report {
  took_ms: number;
  created_at: Date;
  age_ms: number;
}

const leastIntervalMs = 15 * 60_000;

/** Milliseconds from the end of one audit to the next: audits take 2 % of the time at most. */
export function intervalMs(tookMs: number): number {
  return Math.max(leastIntervalMs, 50 * tookMs);
}

export async function keep(db: Connection, report: Report, took_ms: number): Promise<void> {
  const { ok, checked, violations } = report;
  await db.run(sql`
    insert into audit_results (ok, checked, violations, took_ms)
    values (${ok}, ${JSON.stringify(checked)}::json, ${JSON.stringify(violations)}::json,
      ${Math.round(took_ms)})
    on conflict (singleton) do update set ok = excluded.ok, checked = excluded.checked,
      violations = excluded.violations, took_ms = excluded.took_ms, created_at = now()`);
}

/** The newest audit; null if no audit has ended since the database was made or last crashed. */
export async function newest(db: Connection): Promise<Verdict | null> {
  const [row] = await db.run<Verdict>(
    sql`select ok, checked, violations, took_ms, created_at,
      extract(epoch from now() - created_at)::float8 * 1000 as age_ms from audit_results`,
  );
  return row ?? null;
}
