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
}

/** What was booked under an outside reference. */
export async function findReference(db: Connection, reference: string): Promise<Referenced | null> {
  const [row] = await db.run<Referenced>(sql`
    select id, account_id, kind, reason,
      case when credit_account_id = account_id then amount_usd_micro
        else -amount_usd_micro end as amount
    from transfers where reference = ${reference}`);
  return row ?? null;
}

/** An account whose money has moved: its balance now, and which requests moved it. */
export interface Moved {
  account_id: string;
  last_seq: bigint;
  available_usd_micro: bigint;
  reserved_usd_micro: bigint;
  request_ids: string[];
}

/**
 * Accounts with movements after those counted here, of each the requests behind the first `limit`
 * of them.
 */
export function movedSince(
  db: Connection,
  known: { account_id: string; seq: bigint }[],
  limit: number,
): Promise<Moved[]> {
  return db.run<Moved>(sql`
    select b.account_id, b.last_seq,
      b.credits_posted - b.debits_posted - b.debits_pending as available_usd_micro,
      b.debits_pending as reserved_usd_micro,
      array(select coalesce(t.pending_id, t.id) from transfers t
        where t.account_id = b.account_id and t.seq > d.seq
        order by t.seq limit ${limit}::int) as request_ids
    from unnest(${known.map(({ account_id }) => account_id)}::uuid[],
      ${known.map(({ seq }) => seq)}::bigint[]) as d (account_id, seq)
    join balances b on b.account_id = d.account_id and b.last_seq > d.seq`);
}
