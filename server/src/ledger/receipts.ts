import type { Source } from '../core/account/source.ts';
import { rowsOf } from '../lib/sql/rows-of.ts';
import { sql, type Connection, type Transaction } from '../lib/sql/sql.ts';

/** Receipts for deposits that were paid, and how each was paid. */

export interface ReceiptRow {
  number: bigint;
  transfer_id: string;
  seller: string;
  buyer: string;
  network: string | null;
  created_at: Date;
  amount_usd_micro: bigint;
  source: Source;
  reference: string | null;
  paid_at: Date;
  chain: string | null;
  token: string | null;
  tx_hash: string | null;
}

export async function find(
  db: Connection,
  accountId: string,
  transferId: string,
): Promise<ReceiptRow | null> {
  const [row] = await db.run<ReceiptRow>(sql`
    select r.number, r.transfer_id, r.seller, r.buyer, r.network, r.created_at, t.amount_usd_micro,
      t.source, t.reference, t.created_at as paid_at, c.chain, c.token, c.tx_hash
    from receipts r join transfers t on t.id = r.transfer_id
      left join chain_deposits c on c.transfer_id = r.transfer_id
    where r.transfer_id = ${transferId} and r.account_id = ${accountId}`);
  return row ?? null;
}

export async function numbersOf(
  db: Connection,
  transferIds: readonly string[],
): Promise<Map<string, bigint>> {
  const rows = await db.run<{ transfer_id: string; number: bigint }>(sql`
    select transfer_id, number from receipts where transfer_id = any(${transferIds}::uuid[])`);
  return new Map(rows.map(({ transfer_id, number }) => [transfer_id, number]));
}

/** A token of a chain, and the title by which people know it. */
export interface Network {
  chain: string;
  token: string;
  title: string;
}

/** Any number will do, as long as every version of the service uses the same one. */
const numberLock = 770_219_013;

/**
 * Numbers the paid deposits among these transfers of an account, the oldest first; a deposit that
 * has a number keeps it. Transactions that do this wait for each other, so numbers have no gaps.
 */
export function insertMissing(
  tx: Transaction,
  account_id: string,
  transferIds: readonly string[],
  texts: { seller: string; buyer: string; networks: Network[] },
): void {
  const { seller, buyer, networks } = texts;
  // A separate statement, so that the next one sees what was committed while this one waited.
  tx.send(sql`select pg_advisory_xact_lock(${numberLock})`);
  tx.send(sql`
    insert into receipts (number, transfer_id, account_id, seller, buyer, network)
    select (select coalesce(max(number), 0) from receipts) + row_number() over (order by t.seq),
      t.id, t.account_id, ${seller}, ${buyer}, coalesce(n.title, c.chain || ', ' || c.token)
    from transfers t left join chain_deposits c on c.transfer_id = t.id
      left join ${rowsOf(networks, { chain: 'text', token: 'text', title: 'text' })} n
        on n.chain = c.chain and n.token = c.token
    where t.id = any(${transferIds}::uuid[]) and t.account_id = ${account_id}
      and t.kind = 'deposit' and t.source in ('paid', 'chain')
      and not exists (select from receipts r where r.transfer_id = t.id)`);
}
