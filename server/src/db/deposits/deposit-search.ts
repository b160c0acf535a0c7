import type { HeldWhy, IgnoredWhy } from '../../core/deposit/deposit.ts';
import { rawSql, sql, type Connection } from '../../lib/sql/sql.ts';

/** The deposits of all accounts, as operators see them. */

export interface FoundDepositRow {
  id: string;
  chain: string;
  tx_hash: string;
  log_position: number | null;
  block_height: bigint;
  block_at: Date;
  token: string;
  from_address: string;
  to_address: string;
  amount_usd_micro: bigint;
  account_id: string | null;
  account_email: string | null;
  account_name: string | null;
  state: 'held' | 'credited' | 'ignored';
  why: HeldWhy | IgnoredWhy | null;
  transfer_id: string | null;
  created_at: Date;
  credited_at: Date | null;
}

/** Null: any. */
export interface DepositFilter {
  state: string | null;
  why: string | null;
  chain: string | null;
  account_id: string | null;
  tx_hash: string | null;
  below_id: string | null;
  limit: number;
}

/** Deposits in final blocks, newest first. */
export function search(db: Connection, filter: DepositFilter): Promise<FoundDepositRow[]> {
  const { state, why, chain, account_id, tx_hash, below_id, limit } = filter;
  const values: unknown[] = [];
  const conditions: string[] = [];
  const add = (column: string, value: string | null, sign = '=') => {
    if (value !== null) conditions.push(`d.${column} ${sign} $${values.push(value)}`);
  };
  // Written out, not bound as a parameter, so that the index of held deposits can be used.
  if (state === 'held') conditions.push(`d.state = 'held'`);
  else add('state', state);
  add('why', why);
  add('chain', chain);
  add('account_id', account_id);
  // The index of transactions begins with the chain.
  if (tx_hash !== null) conditions.push('d.chain in (select name from chains)');
  add('tx_hash', tx_hash);
  add('id', below_id, '<');
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;
  return db.run<FoundDepositRow>(
    rawSql(
      `select d.id, d.chain, d.tx_hash, d.log_position, d.block_height, d.block_at, d.token,
        d.from_address, d.to_address, d.amount_usd_micro, d.account_id, a.email as account_email,
        a.name as account_name, d.state, d.why, d.transfer_id, d.created_at, d.credited_at
      from chain_deposits d left join accounts a on a.id = d.account_id
      ${where} order by d.id desc limit $${values.push(limit)}`,
      values,
    ),
  );
}

/** A deposit unconfirmed for longer waits for an operator; a second endpoint needs only seconds. */
const unconfirmedSeconds = 900;

export interface HeldCount {
  chain: string;
  why: HeldWhy;
  count: number;
  /** The number of these deposits that wait for an operator. */
  waiting: number;
  /** When the oldest waiting deposit was found; null: none waits. */
  since: Date | null;
}

/** Held deposits by chain and reason. Unconfirmed ones do not wait for an operator at first. */
export function countHeld(db: Connection): Promise<HeldCount[]> {
  return db.run<HeldCount>(sql`
    select chain, why, count(*)::int as count, count(*) filter (where waits)::int as waiting,
      min(created_at) filter (where waits) as since
    from (
      select chain, why, created_at, why <> 'unconfirmed'
        or created_at < now() - ${unconfirmedSeconds} * interval '1 s' as waits
      from chain_deposits where state = 'held'
    ) as held
    group by chain, why order by chain, why`);
}
