import { sql, type Connection } from '../lib/sql.ts';

/** What a proof says, as the ledger's audit gives it. */
interface Report {
  ok: boolean;
  checked: Record<string, number>;
  violations: { law: string; says: string; found: Record<string, unknown>[] }[];
}

/** The newest proof of the books, by whichever process. */
export interface Verdict extends Report {
  took_ms: number;
  created_at: Date;
}

export async function keep(db: Connection, report: Report, took_ms: number): Promise<void> {
  const { ok, checked, violations } = report;
  await db.run(sql`
    insert into verdicts (ok, checked, violations, took_ms)
    values (${ok}, ${JSON.stringify(checked)}::json, ${JSON.stringify(violations)}::json,
      ${Math.round(took_ms)})
    on conflict (singleton) do update set ok = excluded.ok, checked = excluded.checked,
      violations = excluded.violations, took_ms = excluded.took_ms, created_at = now()`);
}

/** Null: none was made since the service began, or since the database crashed. */
export async function newest(db: Connection): Promise<Verdict | null> {
  const [row] = await db.run<Verdict>(
    sql`select ok, checked, violations, took_ms, created_at from verdicts`,
  );
  return row ?? null;
}
