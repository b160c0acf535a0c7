import type { Source } from '../core/account/source.ts';
import { sql, type Connection } from '../lib/sql/sql.ts';

/** Finds a single booking: by its reference, or the charge of a request. */

export interface ReferencedBooking {
  id: string;
  account_id: string;
  kind: 'deposit' | 'adjustment';
  source: Source | null;
  /** Negative for money taken away. */
  amount: bigint;
  reason: string | null;
  /** For a refund: its request. */
  refunded_id: string | null;
  /** For a bonus: when what is unspent goes back. */
  expires_at: Date | null;
  created_at: Date;
}

/**
 * The deposit or correction with this reference, or null. `given`: as it was typed, because earlier
 * versions stored it so.
 */
export async function findReference(
  db: Connection,
  reference: string,
  given = reference,
): Promise<ReferencedBooking | null> {
  const [row] = await db.run<ReferencedBooking>(sql`
    select id, t.account_id, kind, source, reason, refunded_id, b.expires_at, created_at,
      case when credit_account_id = t.account_id then amount_usd_micro
        else -amount_usd_micro end as amount
    from transfers t left join bonuses b on b.transfer_id = t.id
    where reference in (${reference}, ${given.trim()})
    order by reference = ${reference} desc limit 1`);
  return row ?? null;
}

/** A request's charge, and the sum of its refunds. */
export interface Charge {
  account_id: string;
  /** 0 if it was not charged, or not yet. */
  charged: bigint;
  refunded: bigint;
}

/** Null if there is no such request. */
export async function findCharge(db: Connection, requestId: string): Promise<Charge | null> {
  const [row] = await db.run<Charge>(sql`
    select r.account_id, coalesce(c.amount_usd_micro, 0) as charged,
      (select coalesce(sum(amount_usd_micro), 0)::bigint from transfers
        where refunded_id = ${requestId}) as refunded
    from transfers r left join transfers c on c.pending_id = r.id and c.kind = 'charge'
    where r.id = ${requestId} and r.kind = 'reserve'`);
  return row ?? null;
}
