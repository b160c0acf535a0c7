import { sql, type Connection } from '../lib/sql.ts';
import type { TransferKind } from './ledger.ts';

export interface StatementRow {
  id: string;
  seq: bigint;
  kind: TransferKind;
  amount_usd_micro: bigint;
  /** Of a correction either; a reserve and a charge take, a deposit and a release give. */
  direction: 'in' | 'out';
  available_after_usd_micro: bigint;
  /** Of a reserve, charge or release. */
  request_id: string | null;
  reference: string | null;
  reason: string | null;
  created_at: Date;
}

/** One account's movements, newest first; pass the last `seq` of the page before. */
export function statement(
  db: Connection,
  accountId: string,
  page: { limit: number; before?: bigint | undefined },
): Promise<StatementRow[]> {
  return db.run<StatementRow>(sql`
    select id, seq, kind, amount_usd_micro,
      case when kind = 'release' or credit_account_id = account_id then 'in' else 'out'
        end as direction, available_after_usd_micro,
      case when kind = 'reserve' then id else pending_id end as request_id, reference, reason,
        created_at
    from transfers
    where account_id = ${accountId}
      and seq < coalesce(${page.before ?? null}::bigint, 9223372036854775807)
    order by seq desc limit ${page.limit}`);
}

/** The movements of one request: its reserve, and what settled it. */
export function movementsOf(db: Connection, requestId: string): Promise<StatementRow[]> {
  return db.run<StatementRow>(sql`
    select id, seq, kind, amount_usd_micro,
      case when kind = 'release' or credit_account_id = account_id then 'in' else 'out'
        end as direction, available_after_usd_micro,
      coalesce(pending_id, id) as request_id, reference, reason, created_at
    from transfers where id = ${requestId} or pending_id = ${requestId} order by seq`);
}

interface Referenced {
  id: string;
  account_id: string;
  kind: TransferKind;
  /** Negative where it went out. */
  amount: bigint;
  reason: string | null;
  created_at: Date;
}

/** What was booked under an outside reference. */
export async function findReference(db: Connection, reference: string): Promise<Referenced | null> {
  const [row] = await db.run<Referenced>(sql`
    select id, account_id, kind, reason, created_at,
      case when credit_account_id = account_id then amount_usd_micro
        else -amount_usd_micro end as amount
    from transfers where reference = ${reference}`);
  return row ?? null;
}

/** Of all accounts together. */
interface Holdings {
  /** What customers may spend: the operator owes it. */
  available_usd_micro: bigint;
  reserved_usd_micro: bigint;
}

export async function holdings(db: Connection): Promise<Holdings> {
  const [row] = await db.run<Holdings>(sql`
    select coalesce(sum(credits_posted - debits_posted - debits_pending), 0)::bigint
        as available_usd_micro,
      coalesce(sum(debits_pending), 0)::bigint as reserved_usd_micro from balances`);
  return row!;
}
