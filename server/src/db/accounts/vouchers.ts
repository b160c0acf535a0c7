import { lastId } from '../../lib/id.ts';
import { rowsOf } from '../../lib/sql/rows-of.ts';
import { sql, type Connection } from '../../lib/sql/sql.ts';

/** Codes worth money. Redeeming one is booked in the ledger. */
export interface VoucherRow {
  id: string;
  last4: string;
  amount_usd_micro: bigint;
  note: string | null;
  /**
   * Address of the operator who made it; null: the command line, or a person who no longer exists.
   */
  created_by: string | null;
  created_at: Date;
  expires_at: Date | null;
  voided_at: Date | null;
  redeemed_at: Date | null;
  /** Account id and name. */
  redeemed_by: string | null;
  redeemed_by_name: string | null;
  status: 'open' | 'redeemed' | 'void' | 'expired';
}

export interface NewVoucher {
  id: string;
  code_hash: Buffer;
  last4: string;
}

/** Inserts vouchers with the same amount, expiry and note. */
export async function insertMany(
  db: Connection,
  vouchers: NewVoucher[],
  all: {
    amount_usd_micro: bigint;
    expires_at: Date | null;
    note: string | null;
    created_by: string | null;
  },
): Promise<void> {
  await db.run(sql`
    insert into vouchers (id, code_hash, last4, amount_usd_micro, note, created_by, expires_at)
    select id, code_hash, last4, ${all.amount_usd_micro}::bigint, ${all.note}::text,
      ${all.created_by}::uuid, ${all.expires_at}::timestamptz
    from ${rowsOf(vouchers, { id: 'uuid', code_hash: 'bytea', last4: 'text' })} as d`);
}

/** Newest first, in pages: pass the last id of the previous page. */
export function list(
  db: Connection,
  page: { limit: number; before?: string | undefined },
): Promise<VoucherRow[]> {
  return db.run<VoucherRow>(sql`
    select v.id, v.last4, v.amount_usd_micro, v.note, p.email as created_by, v.created_at,
      v.expires_at, v.voided_at, v.redeemed_at, v.redeemed_by,
      coalesce(a.name, a.email) as redeemed_by_name,
      case when v.redeemed_at is not null then 'redeemed' when v.voided_at is not null then 'void'
        when v.expires_at <= now() then 'expired' else 'open' end as status
    from (
      select * from vouchers
      where id < ${page.before ?? lastId}::uuid
      order by id desc limit ${page.limit}
    ) v left join people p on p.id = v.created_by left join accounts a on a.id = v.redeemed_by
    order by v.id desc`);
}

/** The worth of all vouchers that may still be redeemed, in micro-USD. */
export async function openWorth(db: Connection): Promise<bigint> {
  const [row] = await db.run<{ worth: bigint }>(sql`
    select coalesce(sum(amount_usd_micro), 0)::bigint as worth
    from vouchers
    where redeemed_at is null and voided_at is null
      and (expires_at is null or expires_at > now())`);
  return row!.worth;
}

export interface RedeemedVoucher {
  id: string;
  amount_usd_micro: bigint;
}

/**
 * Redeems a voucher for this account; null if it is unknown, used, void or expired. If two calls
 * redeem it at once, the second waits here for the first one's transaction.
 */
export async function take(
  db: Connection,
  codeHash: Buffer,
  accountId: string,
): Promise<RedeemedVoucher | null> {
  const [row] = await db.run<RedeemedVoucher>(sql`
    update vouchers set redeemed_at = now(), redeemed_by = ${accountId}
    where code_hash = ${codeHash} and redeemed_at is null and voided_at is null
      and (expires_at is null or expires_at > now())
    returning id, amount_usd_micro`);
  return row ?? null;
}

export interface KnownVoucher extends RedeemedVoucher {
  expires_at: Date | null;
  voided_at: Date | null;
  redeemed_by: string | null;
}

export async function find(db: Connection, codeHash: Buffer): Promise<KnownVoucher | null> {
  const [row] = await db.run<KnownVoucher>(sql`
    select id, amount_usd_micro, expires_at, voided_at, redeemed_by from vouchers
    where code_hash = ${codeHash}`);
  return row ?? null;
}

/** Voids an open voucher. `voided`: whether this call did it. Null: the voucher is unknown. */
export async function cancel(
  db: Connection,
  id: string,
): Promise<{ voided: boolean; redeemed_at: Date | null } | null> {
  const [voided] = await db.run(sql`
    update vouchers set voided_at = now()
    where id = ${id} and redeemed_at is null and voided_at is null returning id`);
  const [row] = await db.run<{ redeemed_at: Date | null }>(sql`
    select redeemed_at from vouchers where id = ${id}`);
  return row ? { voided: voided !== undefined, ...row } : null;
}
