import { alone, audit, type AuditReport } from '../ledger/audit.ts';
import { accountsOf, mendCounters, type MendedCounter } from '../ledger/mend.ts';
import { runLongTransaction } from '../lib/sql/long-transaction.ts';
import type { Database } from '../lib/sql/sql.ts';
import { commandLine, logAction } from './operator-action.ts';

export type { MendedCounter };

export interface MendResult {
  /** The books as they are now. */
  report: AuditReport;
  mended: MendedCounter[];
}

/**
 * Audits the books, and if only counters are wrong, computes these again and audits once more. All
 * changes are one transaction, with a row of the operator's log for each account. Other audits
 * wait.
 */
export async function mend(db: Database): Promise<MendResult> {
  return (await alone(db, () => mendAlone(db), { waits: true }))!;
}

async function mendAlone(db: Database): Promise<MendResult> {
  const report = await audit(db);
  if (!report.mendable) return { report, mended: [] };
  const accountIds = await accountsOf(db, report);
  const changes = await runLongTransaction(db, 'isolation level read committed', async (tx) => {
    const mended = await mendCounters(tx, accountIds);
    for (const [account_id, own] of Map.groupBy(mended, (each) => each.account_id)) {
      const counters = own.map(
        ({ key_id, counter, was, is }) =>
          `${counter} of ${key_id === null ? 'the account' : `key ${key_id}`}: ${was} → ${is}`,
      );
      logAction(tx, commandLine, { action: 'books.mend', account_id, details: { counters } });
    }
    return mended;
  });
  return { report: await audit(db), mended: changes };
}
