import { arrayLiteral } from '../lib/sql/sql-array.ts';
import { rawSql, type Connection, type Transaction } from '../lib/sql/sql.ts';
import { depositSums, type MovementFilter, type SourceSum } from './statement.ts';
import { ofRareKinds } from './transfers.ts';

/**
 * Sums of an account's movements. Full blocks of consecutive numbers never change, so they are
 * stored once, and a sum reads the transfers of two blocks at most.
 */

/** Transfers in a block. */
const size = 1_024;
/** Blocks that one statement stores. */
const storedMax = 256;

/**
 * Stores the sums of the account's next full blocks. True: there may be more.
 */
export async function storeTransferSums(tx: Transaction, account_id: string): Promise<boolean> {
  // Numbers have no gaps, so each change is the step from the balance before.
  const rows = await tx.run<{ block: bigint }>(
    rawSql(
      `with next as (
        select last_seq / ${size} as full,
          coalesce((select max(block) + 1 from transfer_sums where account_id = $1), 0) as first
        from balances where account_id = $1
      )
      insert into transfer_sums (account_id, block, kind, movements, in_usd_micro, out_usd_micro,
        amount_usd_micro, earliest, latest)
      select $1::uuid, (seq - 1) / ${size}, kind, count(*), sum(greatest(change, 0)),
        sum(greatest(-change, 0)), sum(amount_usd_micro), min(created_at), max(created_at)
      from next n cross join lateral (
        select seq, kind, amount_usd_micro, created_at, available_after_usd_micro
          - coalesce(lag(available_after_usd_micro) over (order by seq), 0) as change
        from transfers
        where account_id = $1 and seq >= n.first * ${size}
          and seq <= least(n.first + ${storedMax}, n.full) * ${size}
      ) t
      where t.seq > n.first * ${size}
      group by 2, 3
      on conflict do nothing
      returning block`,
      [account_id],
    ),
  );
  return new Set(rows.map(({ block }) => block)).size === storedMax;
}

export interface MovementTotals {
  movements: number;
  /** Totals added to the available balance and taken from it. Neither is negative. */
  in_usd_micro: bigint;
  out_usd_micro: bigint;
  /** The total of the charges: what was paid. */
  charged_usd_micro: bigint;
  by_source: SourceSum[];
}

/** Totals of all movements that match the filter. */
export async function movementTotals(
  db: Connection,
  filter: MovementFilter,
): Promise<MovementTotals> {
  const { account_id, kinds, from_seq, below_seq, from, to } = filter;
  const hasDeposits = kinds.length === 0 || kinds.includes('deposit');
  const [[row], by_source] = await Promise.all([
    db.run<Omit<MovementTotals, 'by_source'>>(
      rawSql(
        `with ${ofRareKinds(kinds) ? rareMovements(ofRareKinds(kinds)) : allMovements}
        select coalesce(sum(movements), 0)::int as movements,
          coalesce(sum(gave), 0)::bigint as in_usd_micro,
          coalesce(sum(took), 0)::bigint as out_usd_micro,
          coalesce(sum(amount) filter (where kind = 'charge'), 0)::bigint as charged_usd_micro
        from movements where $4::boolean or kind = any($5::text[])`,
        [account_id, from_seq, below_seq, kinds.length === 0, arrayLiteral(kinds), from, to],
      ),
    ),
    hasDeposits ? depositSums(db, filter) : [],
  ]);
  return { ...row!, by_source };
}

const isInTime = `created_at >= coalesce($6::timestamptz, '-infinity')
  and created_at < coalesce($7::timestamptz, 'infinity')`;

/** Rare kinds are found by an index of their own, without the movements between them. */
function rareMovements(ofRare: string): string {
  return `movements as (
    select kind, 1 as movements, amount_usd_micro as amount,
      case when credit_account_id = account_id then amount_usd_micro else 0 end as gave,
      case when credit_account_id = account_id then 0 else amount_usd_micro end as took
    from transfers
    where account_id = $1 and seq >= $2 and seq < $3 ${ofRare} and ${isInTime})`;
}

/** A range of numbers, read with the number before it, from whose balance its first step is. */
const steps = (from: string, below: string) => `
  select r.kind, 1 as movements, r.amount_usd_micro, greatest(change, 0), greatest(-change, 0)
  from ends e cross join lateral (
    select seq, kind, amount_usd_micro, created_at, available_after_usd_micro
      - coalesce(lag(available_after_usd_micro) over (order by seq), 0) as change
    from transfers where account_id = $1 and seq >= ${from} - 1 and seq < ${below}
  ) r
  where r.seq >= ${from} and ${isInTime}`;

/**
 * The stored blocks that lie within the numbers and the times, and the movements before and behind
 * them. Times rise with the numbers, but for the difference of two clocks.
 */
const allMovements = `
  inside as (
    select block * ${size} + 1 as first, (block + 1) * ${size} as last, s.*
    from transfer_sums s
    where account_id = $1 and block * ${size} >= $2::bigint - 1
      and (block + 1) * ${size} < $3::bigint
  ), bounds as (
    select coalesce(max(last) filter (where earliest < $6::timestamptz), 0) as low,
      coalesce(min(first) filter (where latest >= $7::timestamptz), $3) as high
    from inside
  ), used as (
    select i.* from inside i cross join bounds b where i.first > b.low and i.last < b.high
  ), ends as (
    select coalesce(min(first), $3) as first, coalesce(max(last) + 1, $3) as next from used
  ), movements (kind, movements, amount, gave, took) as (
    select kind, movements, amount_usd_micro, in_usd_micro, out_usd_micro from used
    union all ${steps('$2', 'e.first')}
    union all ${steps('e.next', '$3')}
  )`;
