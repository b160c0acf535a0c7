import type { Source } from '../core/account/source.ts';
import { idsWritten } from '../lib/id.ts';
import { arrayLiteral } from '../lib/sql/sql-array.ts';
import { rawSql, sql, type Connection } from '../lib/sql/sql.ts';
import type { TransferKind } from './ledger.ts';

/** Transfers of all accounts, for the operator. */

export interface TransferRow {
  id: string;
  account_id: string;
  kind: TransferKind;
  amount_usd_micro: bigint;
  /** 'in': a release, or a transfer to the account; 'out': any other. */
  direction: 'in' | 'out';
  available_after_usd_micro: bigint;
  /** Set for a reserve, charge, release or refund. */
  request_id: string | null;
  /** Set for a deposit. */
  source: Source | null;
  reference: string | null;
  reason: string | null;
  created_at: Date;
}

export interface TransferFilter {
  /** Empty: every kind. */
  kinds: readonly TransferKind[];
  /** Range of times: `from` is included, `to` is not; null: unbounded. */
  from: Date | null;
  to: Date | null;
}

interface Bounds {
  /** Only transfers with a lower id, which are older. */
  below_id: string | null;
  /** Maximum number of transfers that are read, whether they match or not. */
  look: number;
}

/** Kinds with an index of their own: searching all transfers for so few rows would be slow. */
const rareKinds: ReadonlySet<TransferKind> = new Set(['deposit', 'adjustment']);

/** The condition on `kind` if all kinds are rare, otherwise empty. */
export function ofRareKinds(kinds: readonly TransferKind[]): string {
  const rare = kinds.length > 0 && kinds.every((kind) => rareKinds.has(kind));
  return rare ? `and kind in ('deposit', 'adjustment')` : '';
}

/** A page of transfers, newest first, and the id below which the next page begins. */
export async function transferPage(
  db: Connection,
  filter: TransferFilter,
  { limit, ...bounds }: Bounds & { limit: number },
): Promise<{ rows: TransferRow[]; next: string | null }> {
  const rows = await transfersBelow(db, filter, { ...bounds, limit: limit + 1 });
  if (rows.length <= limit) return { rows, next: await transfersReach(db, filter, bounds) };
  return { rows: rows.slice(0, limit), next: rows[limit - 1]!.id };
}

function transfersBelow(
  db: Connection,
  filter: TransferFilter,
  bounds: Bounds & { limit: number },
): Promise<TransferRow[]> {
  const { kinds, from, to } = filter;
  const { where, values } = stretch(filter, bounds);
  const more = [bounds.look, kinds.length === 0, arrayLiteral(kinds), from, to, bounds.limit];
  return db.run<TransferRow>(
    rawSql(
      `select t.id, t.account_id, t.kind, t.amount_usd_micro,
        case when t.kind = 'release' or t.credit_account_id = t.account_id then 'in' else 'out'
          end as direction, t.available_after_usd_micro,
        case when t.kind = 'reserve' then t.id else coalesce(t.pending_id, t.refunded_id) end
          as request_id, t.source, t.reference, t.reason, t.created_at
      from (select * from transfers where ${where} order by id desc limit $3) t
      where ($4::boolean or t.kind = any($5::text[]))
        and t.created_at >= coalesce($6::timestamptz, '-infinity')
        and t.created_at < coalesce($7::timestamptz, 'infinity')
      order by t.id desc limit $8`,
      [...values, ...more],
    ),
  );
}

/** The id of the last transfer that a search of `look` rows reads; null if there are fewer rows. */
async function transfersReach(
  db: Connection,
  filter: TransferFilter,
  bounds: Bounds,
): Promise<string | null> {
  const { where, values } = stretch(filter, bounds);
  const [row] = await db.run<{ id: string }>(
    rawSql(`select id from transfers where ${where} order by id desc offset $3 limit 1`, [
      ...values,
      bounds.look - 1,
    ]),
  );
  return row?.id ?? null;
}

/** The transfers to look at, as a condition on `id` and, for rare kinds, on `kind`. */
function stretch({ kinds, from, to }: TransferFilter, { below_id }: Bounds) {
  // No index contains `created_at`; bounds on the ids limit the search to a period.
  const { first, last } = idsWritten(from && from.getTime(), to && to.getTime());
  const below = below_id !== null && below_id < last ? below_id : last;
  const ofRare = ofRareKinds(kinds);
  return { where: `id >= $1::uuid and id < $2::uuid ${ofRare}`, values: [first, below] };
}

/** Money that came in on one chain, according to its deposits or to the ledger. */
export interface ChainSum {
  chain: string;
  /** The contract; null: the sum of the ledger, which knows no tokens. */
  token: string | null;
  deposits: number;
  amount_usd_micro: bigint;
}

/**
 * The credited deposits of each chain by token, and the deposits in the ledger that name the chain.
 * One statement, so that no deposit is in only one of the two.
 */
export function chainSums(db: Connection): Promise<ChainSum[]> {
  return db.run<ChainSum>(sql`
    select chain, token, count(*)::int as deposits,
      sum(amount_usd_micro)::bigint as amount_usd_micro
    from (
      select chain, token, amount_usd_micro from chain_deposits where state = 'credited'
      union all
      select split_part(reference, ':', 2), null, amount_usd_micro
      from transfers where kind = 'deposit' and source = 'chain'
    ) as booked
    group by chain, token order by chain, token`);
}
