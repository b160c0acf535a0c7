import { longTransaction } from '../lib/sql/long-transaction.ts';
import { rawSql, sql, type Connection, type Database } from '../lib/sql/sql.ts';
import { laws } from './laws.ts';

/** Proves the books. All laws see one snapshot, so a busy service can be audited. */

export interface AuditReport {
  ok: boolean;
  /** How many laws were checked, and over how many rows. */
  checked: { laws: number; accounts: number; transfers: number; requests: number; keys: number };
  violations: { law: string; says: string; found: Record<string, unknown>[] }[];
  /**
   * True if the broken laws are all of counters, so that these can be computed again. With another
   * one broken, they might count wrong rows.
   */
  mendable: boolean;
}

const shownMax = 5;
const snapshotMode = 'isolation level repeatable read read only';

/** Audits in its own transaction and snapshot. `signal` ends it. */
export function audit(db: Database, signal?: AbortSignal): Promise<AuditReport> {
  return inSnapshot(db, proveBooks, signal);
}

/** An arbitrary number, but every version of the service must use the same one. */
export const auditLock = 770_219_003;

/**
 * Like `audit`, but returns null and reads nothing if another process is auditing already. For the
 * audits that every process repeats regularly.
 */
export function auditAlone(db: Database, signal?: AbortSignal): Promise<AuditReport | null> {
  const provedAlone = async (tx: Connection) => {
    const [lock] = await tx.run<{ mine: boolean }>(
      sql`select pg_try_advisory_xact_lock(${auditLock}) as mine`,
    );
    return lock!.mine ? proveBooks(tx) : null;
  };
  return inSnapshot(db, provedAlone, signal);
}

async function inSnapshot<T>(
  db: Database,
  work: (tx: Connection) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  let pid: number | undefined;
  const known = async (tx: Connection) => {
    const [own] = await tx.run<{ pid: number }>(rawSql('select pg_backend_pid() as pid'));
    pid = own!.pid;
    return work(tx);
  };
  try {
    return await longTransaction(db, snapshotMode, known, signal);
  } finally {
    // The server would notice the closed connection only after finishing the query, minutes later,
    // so its process is ended here.
    if (signal?.aborted && pid !== undefined)
      await db.run(rawSql('select pg_terminate_backend($1)', [pid])).catch(() => {});
  }
}

/** Audits the books as this transaction sees them, including its own uncommitted changes. */
export async function proveBooks(tx: Connection): Promise<AuditReport> {
  const violations: AuditReport['violations'] = [];
  let mendable = true;
  for (const { name, says, broken, counter_of } of laws) {
    const found = await tx.run(rawSql(`select * from (${broken}) broken limit ${shownMax}`));
    if (found.length === 0) continue;
    violations.push({ law: name, says, found: found.map((row) => plain({ ...row })) });
    mendable &&= counter_of !== undefined;
  }
  const [counts] = await tx.run<Record<'accounts' | 'transfers' | 'requests' | 'keys', bigint>>(
    rawSql(`select (select count(*) from accounts) as accounts, (select count(*)
      from transfers) as transfers,
      (select count(*) from requests) as requests, (select count(*) from keys) as keys`),
  );
  const { accounts, transfers, requests, keys } = counts!;
  const checked = {
    laws: laws.length,
    accounts: Number(accounts),
    transfers: Number(transfers),
    requests: Number(requests),
    keys: Number(keys),
  };
  const ok = violations.length === 0;
  return { ok, checked, violations, mendable: !ok && mendable };
}

function plain(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'bigint' ? String(value) : value,
    ]),
  );
}
